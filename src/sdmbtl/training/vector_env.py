"""Hook for families whose episodes one simulation steps together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace

if TYPE_CHECKING:
    from sdmbtl.policies import Policy
    from sdmbtl.training.job import Evaluation
    from sdmbtl.training.ppo.env_slots import EnvSlots, EpisodePlan, RolloutArrays
    from sdmbtl.training.progress import EvaluationProgress


class VectorEnv(Protocol):
    """Environments of one or several agents that are stepped together.

    A family returns one from `make_vector_env`. The trainer "ppo", evaluations, random actions and
    films then use it instead of single Gymnasium environments. All agents share one policy, and
    the return of an episode is the mean over its agents of their sums of rewards.

    Attributes:
        observation_space: Observations of an agent.
        action_space: Actions of an agent.
        max_agents: Slots for agents in each environment.
    """

    observation_space: spaces.Box
    action_space: spaces.Box
    max_agents: int

    def env_slots(self, plan: EpisodePlan, arrays: RolloutArrays, num_envs: int) -> EnvSlots:
        """Return slots for a training run, `max_agents` in each environment."""

    def evaluate(
        self,
        policy: Policy,
        space: ContextSpace,
        contexts: NDArray[np.float64],
        *,
        observe_context: bool,
        episodes: int,
        seed: int,
        max_episode_steps: int | None,
        endless_after: int,
        only: Sequence[int] | None = None,
        progress: EvaluationProgress | None = None,
    ) -> Evaluation:
        """Play a policy on contexts; see `evaluate_in_gymnasium`."""

    def play_random_actions(
        self,
        space: ContextSpace,
        contexts: NDArray[np.float64],
        *,
        episodes: int,
        most_steps: int,
        max_episode_steps: int | None,
        seed: int,
    ) -> NDArray[np.float64]:
        """Return (n, episodes) returns of random actions; see `play_random_actions`."""

    def film(
        self, policy: Any, context: Mapping[str, float], seed: int
    ) -> Iterator[tuple[NDArray[np.uint8], float]]:
        """Play an episode: after each step its (H, W, 3) picture and its return so far."""

    def close(self) -> None:
        """Free what it holds."""
