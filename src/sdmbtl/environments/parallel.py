"""Environments of several agents, in the form that PettingZoo calls parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import gymnasium
from gymnasium import spaces

from sdmbtl.errors import FamilyError


class ParallelEnv(Protocol):
    """All agents act at the same time; they may come and go during an episode.

    `reset` and `step` have dicts with an entry for each agent that is there. An agent is gone when
    it is no longer in `agents`, and the episode is over when nobody is. All agents share one
    policy, so they need the same spaces.
    """

    agents: Sequence[Any]

    def observation_space(self, agent: Any) -> spaces.Space[Any]:
        """What an agent sees."""
        ...

    def action_space(self, agent: Any) -> spaces.Space[Any]:
        """What an agent can do."""
        ...

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
        """Start an episode: observations and further information, by agent."""
        ...

    def step(self, actions: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], ...]:
        """Observations, rewards, terminations, truncations and information, by agent."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


def is_parallel_env(env: object) -> TypeGuard[ParallelEnv]:
    """Whether it is an environment of several agents, whoever wrote it."""
    methods = ("observation_space", "action_space", "reset", "step")
    return not isinstance(env, gymnasium.Env) and all(
        callable(getattr(env, name, None)) for name in methods
    )


def close_env(env: object) -> None:
    """Close an environment; one of several agents need not have anything to close."""
    close = getattr(env, "close", None)
    if close is not None:
        close()


def spaces_of(env: gymnasium.Env[Any, Any] | ParallelEnv) -> tuple[Any, Any]:
    """What a policy sees and does in an environment of one or several agents.

    Raises:
        FamilyError: If agents differ.
    """
    if not is_parallel_env(env):
        return env.observation_space, env.action_space
    agents = list(getattr(env, "possible_agents", ())) or list(env.reset(seed=0)[0])
    if not agents:
        raise FamilyError("An environment of several agents needs at least one at the start.")
    pairs = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    for agent, pair in zip(agents, pairs, strict=True):
        if pair != pairs[0]:
            raise FamilyError(
                "All agents share one policy, so they need the same spaces. "
                f"{agents[0]!r} has {pairs[0]}, {agent!r} has {pair}."
            )
    return pairs[0]
