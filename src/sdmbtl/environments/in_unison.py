"""An environment of several agents as one of a single agent, to check it as all others."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.environments.family import BuiltFor
from sdmbtl.environments.parallel import ParallelEnv, spaces_of


class InUnison(gymnasium.Env[NDArray[np.float32], Any]):
    """All agents take the same action.

    What is seen is how many there are, and the mean of what they see; the reward is the sum over
    all of them. Whatever differs for an agent differs here too.

    Args:
        env: Several agents.
        built_for: What it can be used for; see `EnvironmentFamily`.
    """

    def __init__(self, env: ParallelEnv, built_for: BuiltFor) -> None:
        self._env, self.built_for = env, built_for
        self._seen, self.action_space = spaces_of(env)
        size = spaces.flatdim(self._seen) + 1
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        observations, _ = self._env.reset(seed=seed, options=options)
        return self._join(observations), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Let all agents do the same."""
        actions = dict.fromkeys(self._env.agents, action)
        observations, rewards, _, truncations, _ = self._env.step(actions)
        is_over = not self._env.agents
        was_cut_off = is_over and any(truncations.values())
        joined = self._join(observations)
        total = float(sum(rewards.values()))
        return joined, total, is_over and not was_cut_off, was_cut_off, {}

    def close(self) -> None:
        """Free what it holds."""
        self._env.close()

    def _join(self, observations: Any) -> NDArray[np.float32]:
        joined = np.zeros(self.observation_space.shape or (), np.float32)
        joined[0] = len(observations)
        if observations:
            seen: list[Any] = [spaces.flatten(self._seen, o) for o in observations.values()]
            joined[1:] = np.mean(seen, axis=0)
        return joined
