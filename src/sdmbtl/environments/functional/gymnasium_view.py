"""An environment that is pure functions, as one of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from sdmbtl.environments.functional.base import FunctionalEnvironment


@lru_cache(maxsize=32)
def _compile(functions: FunctionalEnvironment) -> tuple[Any, Any, Any]:
    """Compile reset, step and observe of an environment, once for all views of it."""
    return jax.jit(functions.reset), jax.jit(functions.step), jax.jit(functions.observe)


class GymnasiumView(gymnasium.Env[NDArray[np.float32], Any]):
    """Steps a functional environment one action at a time; `state` is as the functions have it."""

    def __init__(
        self,
        functions: FunctionalEnvironment,
        context: Mapping[str, float],
        render_mode: str | None = None,
    ) -> None:
        self.functions = functions
        # By this, wrappers and checks know how long an episode can be.
        name = type(functions).__name__
        self.spec = EnvSpec(f"sdmbtl/{name}-v0", max_episode_steps=functions.max_steps)
        self.render_mode = render_mode
        self.action_space = functions.actions
        size = functions.observation_size
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        values = [context[name] for name in functions.defaults]
        self._parameters = jnp.asarray(values, dtype=jnp.float32)
        self._reset, self._step, self._observe = _compile(functions)
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        key = jax.random.PRNGKey(int(self.np_random.integers(2**31)))
        self.state = self._reset(key, self._parameters)
        self._steps = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take one step."""
        self.state, reward, ended = self._step(self.state, action, self._parameters)
        self._steps += 1
        truncated = self._steps >= self.functions.max_steps and not bool(ended)
        return self._observation(), float(reward), bool(ended), truncated, {}

    def _observation(self) -> NDArray[np.float32]:
        return np.asarray(self._observe(self.state, self._parameters), dtype=np.float32)
