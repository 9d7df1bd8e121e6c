"""Environments of many contexts that one object steps, each slot with its own context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class BatchStep(NamedTuple):
    """One step in n slots.

    Attributes:
        obs: (n, I) observations after the step.
        reward: (n,) rewards.
        terminated: (n,) True where an episode ended.
        truncated: (n,) True where an episode reached its time limit.
    """

    obs: NDArray[np.floating[Any]]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class EnvBatch(Protocol):
    """Single-agent environments, stepped together; a family returns one from `make_env_batch`.

    Every slot behaves as the environment that the family builds for its context.

    Attributes:
        observation_space: Observations of each environment.
    """

    observation_space: spaces.Space[Any]

    def reset(
        self, slot: int, context: Mapping[str, float], seed: int
    ) -> NDArray[np.floating[Any]]:
        """Begin an episode on a full context in one slot; returns its (I,) observation."""

    def step(self, slots: Sequence[int], actions: NDArray[Any]) -> BatchStep:
        """Take (n, A) actions in n slots, all of which have an episode."""

    def close(self) -> None:
        """Free what it holds."""
