"""Hook for families whose episodes one simulation steps together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sdmbtl.training.job import Evaluation
    from sdmbtl.training.ppo.env_slots import EnvSlots, EpisodePlan, RolloutArrays


class VectorEnv(Protocol):
    """Environments of one or several agents that are stepped together.

    A family returns one from `make_vector_env`. The trainer "ppo", evaluations, random actions and
    films then use it instead of single Gymnasium environments. All agents share one policy, and
    the return of an episode is the mean over its agents of their sums of rewards. The spaces are
    those of an agent, of which each environment has at most `max_agents`.
    """

    observation_space: spaces.Box[Any]
    action_space: spaces.Box[Any]
    max_agents: int

    def env_slots(self, plan: EpisodePlan, arrays: RolloutArrays, num_envs: int) -> EnvSlots:
        """Return slots for a training run, `max_agents` in each environment."""

    def evaluate(self, *args: Any, **how: Any) -> Evaluation:
        """Play a policy, with the arguments of `evaluate_in_gymnasium` after the family."""

    def play_random_actions(self, *args: Any, **how: Any) -> Evaluation:
        """Take random actions, with the arguments of `play_random_actions` after the family."""

    def film(
        self, policy: Any, context: Mapping[str, float], seed: int
    ) -> Iterator[tuple[NDArray[np.uint8], float]]:
        """Play an episode: after each step its (H, W, 3) picture and its return so far."""

    def close(self) -> None:
        """Free what it holds."""
