"""Environments as Stable-Baselines3 plays them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.training.environment_errors import name_context_in_errors


class OneContextEachEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes one of several contexts at random for each episode."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        space: ContextSpace,
        contexts: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> None:
        super().__init__(env)
        self._contexts = contexts
        self._space = space
        self._generator = generator
        self._context = space.context(contexts[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode on another context."""
        number = int(self._generator.integers(len(self._contexts)))
        self._context = self._space.context(self._contexts[number])
        with name_context_in_errors(self._context):
            return self.env.reset(seed=seed, options={**(options or {}), "context": self._context})

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        with name_context_in_errors(self._context):
            return self.env.step(action)


class BlankEnv(gymnasium.Env[Any, Any]):
    """An environment that has spaces, and nothing else."""

    def __init__(
        self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]
    ) -> None:
        self.observation_space, self.action_space = observation_space, action_space
