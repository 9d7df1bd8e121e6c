"""Episodes of many agents that one simulation steps together as arrays, and two views of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.environments.contextual import SEEDS
from sdmbtl.environments.family import BuiltFor
from sdmbtl.errors import FamilyError


class AgentsNow(NamedTuple):
    """The agents that are there, and will act next.

    Attributes:
        slots: (k,) where each is: number of its episode times `max_agents`, plus its place there.
            An agent keeps its slot until it leaves.
        obs: (k, I) what each sees.
    """

    slots: NDArray[np.integer[Any]]
    obs: NDArray[np.float32]


class AgentsStep(NamedTuple):
    """What a step led to.

    Attributes:
        reward: (k,) of those that acted, in their order.
        gone: (k,) which of them have left for good.
        now: Who is there now. When the episodes are over, those who were cut off.
        is_over: Whether the episodes are over, all at the same time.
    """

    reward: NDArray[np.float32]
    gone: NDArray[np.bool_]
    now: AgentsNow
    is_over: bool


class BatchedWorld(ABC):
    """Several episodes, each in a context of its own, which begin and end together.

    Agents come and go, and share one policy. What happens in an episode does not depend on the
    others.

    Attributes:
        observation_space: What an agent sees: a Box with one dimension.
        action_space: What an agent can do: a Box with one dimension.
        most_episodes: How many there can be at once.
        max_agents: Agents at once in one of them.
    """

    observation_space: spaces.Box
    action_space: spaces.Box
    most_episodes: int
    max_agents: int

    @abstractmethod
    def reset(self, contexts: Sequence[Mapping[str, float]], seeds: Sequence[int]) -> AgentsNow:
        """Begin an episode for each context, with a seed for each."""

    @abstractmethod
    def step(self, actions: NDArray[np.float32]) -> AgentsStep:
        """Take (k, A) actions of those who are there."""

    def render(self, episode: int) -> NDArray[np.uint8]:
        """(H, W, 3) a picture of an episode.

        Raises:
            FamilyError: If it cannot be drawn.
        """
        raise FamilyError(f"Episode {episode} of {type(self).__name__} cannot be drawn.")

    @abstractmethod
    def close(self) -> None:
        """Free what it holds."""


class ParallelView:
    """One episode in the form that PettingZoo calls parallel: agents by name.

    Steps in which nobody is there are skipped: without agents an episode would be over. The
    context can be changed by `reset(options={"context": ...})`.

    Args:
        world: Steps the episode.
        context: The full context.

    Attributes:
        agents: Who is there.
        max_num_agents: How many there can be at once.
    """

    built_for: BuiltFor = "space"
    metadata: Mapping[str, Any] = {"name": "sdmbtl_parallel_view", "render_modes": []}

    def __init__(self, world: BatchedWorld, context: Mapping[str, float]) -> None:
        self.agents: list[str] = []
        self.max_num_agents = world.max_agents
        self._world, self._context = world, dict(context)
        self._names: dict[int, str] = {}
        self._come = 0
        self._seeds = np.random.default_rng()

    def observation_space(self, _agent: object) -> spaces.Box:
        """What an agent sees."""
        return self._world.observation_space

    def action_space(self, _agent: object) -> spaces.Box:
        """What an agent can do."""
        return self._world.action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode: observations and further information, by agent."""
        self._context.update((options or {}).get("context", {}))
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        own = seed if seed is not None else int(self._seeds.integers(SEEDS))
        now = self._world.reset([self._context], [own])
        self._names, self._come, is_over = {}, 0, False
        if not len(now.slots):
            now, is_over = self._skip()
        observations = self._observe(now)
        if is_over:
            self.agents = []
        return observations, {agent: {} for agent in observations}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Observations, rewards, terminations, truncations and information, by agent."""
        acting = list(self.agents)
        taken = np.array([actions[agent] for agent in acting], np.float32)
        step = self._world.step(taken.reshape(len(acting), -1))
        gone = dict(zip(acting, step.gone.tolist(), strict=True))
        rewards = dict(zip(acting, step.reward.tolist(), strict=True))
        self._names = {slot: name for slot, name in self._names.items() if not gone[name]}
        now, is_over = step.now, step.is_over
        if not is_over and not len(now.slots):
            now, is_over = self._skip()
        observations = self._observe(now)
        everybody = dict.fromkeys([*acting, *observations])
        truncations = {a: is_over and not gone.get(a, False) for a in everybody}
        if is_over:
            self.agents = []
        return (
            observations,
            {agent: rewards.get(agent, 0.0) for agent in everybody},
            {agent: gone.get(agent, False) for agent in everybody},
            truncations,
            {agent: {} for agent in everybody},
        )

    def close(self) -> None:
        """Free what it holds."""
        self._world.close()

    def _skip(self) -> tuple[AgentsNow, bool]:
        """Steps without anybody, until somebody comes or the episode is over."""
        nobody = np.zeros((0, *self._world.action_space.shape), np.float32)
        while True:
            step = self._world.step(nobody)
            if step.is_over or len(step.now.slots):
                return step.now, step.is_over

    def _observe(self, now: AgentsNow) -> dict[str, Any]:
        """What everybody sees; newcomers get a name that nobody had in this episode."""
        for slot in now.slots.tolist():
            if slot not in self._names:
                self._names[slot] = f"agent_{self._come}"
                self._come += 1
        self.agents = [self._names[slot] for slot in now.slots.tolist()]
        return dict(zip(self.agents, now.obs.copy(), strict=True))


class JointView(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One episode as a Gymnasium environment: one policy acts for all agents together.

    An observation has for each place 1 and what its agent sees, or zeros if there is nobody; an
    action has the actions of all places one after another. The reward is the sum over the agents.

    Args:
        world: Steps the episode.
        context: The full context; `reset(options={"context": ...})` changes it.
    """

    built_for: BuiltFor = "space"

    def __init__(self, world: BatchedWorld, context: Mapping[str, float]) -> None:
        self.world, self.context = world, dict(context)
        seen, acted, places = world.observation_space, world.action_space, world.max_agents
        low = np.tile(np.concatenate([[0.0], np.minimum(seen.low, 0.0)]), places)
        high = np.tile(np.concatenate([[1.0], np.maximum(seen.high, 0.0)]), places)
        self.observation_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))
        self.action_space = spaces.Box(np.tile(acted.low, places), np.tile(acted.high, places))
        self._now: AgentsNow | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self.context.update((options or {}).get("context", {}))
        own = seed if seed is not None else int(self.np_random.integers(SEEDS))
        self._now = self.world.reset([self.context], [own])
        return self._join(self._now), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take the actions of all places; those of empty ones do nothing."""
        if self._now is None:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        own = np.asarray(action, np.float32).reshape(self.world.max_agents, -1)
        step = self.world.step(own[self._now.slots])
        self._now = step.now
        return self._join(step.now), float(step.reward.sum()), False, step.is_over, {}

    def close(self) -> None:
        """Free what it holds."""
        self.world.close()

    def _join(self, now: AgentsNow) -> NDArray[np.float32]:
        joined = np.zeros((self.world.max_agents, 1 + now.obs.shape[1]), np.float32)
        joined[now.slots, 0] = 1.0
        joined[now.slots, 1:] = now.obs
        return joined.ravel()
