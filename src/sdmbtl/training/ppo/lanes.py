"""Environments that are stepped side by side on the host, each in a lane of its own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import close_env, spaces_of
from sdmbtl.errors import FamilyError, TrainingError
from sdmbtl.policies.flattening import FlatObservations
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.ppo.rollout_arrays import RolloutArrays

#: Seeds of episodes are drawn below this.
SEEDS = 2**31


@dataclass(frozen=True)
class Episodes:
    """Which episodes are played: each follows from its lane's number and its own.

    Attributes:
        family: Makes the environments.
        space: The context space.
        contexts: (M, D) contexts, one of which each episode draws.
        seed: Of the training run.
        observe_context: Whether observations end with the context's unit coordinates.
        agents: Places for agents in each environment.
        max_episode_steps: Each is cut off after so many steps; None for no limit.
    """

    family: EnvironmentFamily
    space: ContextSpace
    contexts: NDArray[np.float64]
    seed: int
    observe_context: bool
    agents: int = 1
    max_episode_steps: int | None = None

    def draw(self, lane: int, episode: int) -> tuple[NDArray[np.float64], int]:
        """(D,) context of an episode, and the seed of its reset."""
        rng = np.random.default_rng([self.seed, lane, episode])
        return self.contexts[rng.integers(len(self.contexts))], int(rng.integers(SEEDS))


@dataclass
class LaneState:
    """From what a lane can be continued.

    Attributes:
        episode: Number of the episode that is being played.
        actions: (agents, ...) those of each step since its reset.
    """

    episode: int = 0
    actions: list[NDArray[Any]] = field(default_factory=list)


class Lane(ABC):
    """One environment, in which one episode follows another.

    Args:
        episodes: Which ones.
        number: Of the environment.
        arrays: Where its steps are written, in as many slots as it has agents.
    """

    def __init__(self, episodes: Episodes, number: int, arrays: RolloutArrays) -> None:
        self.state = LaneState()
        self._episodes, self._number, self._arrays = episodes, number, arrays
        self._first = number * episodes.agents
        self._slots = slice(self._first, self._first + episodes.agents)
        self._limit = episodes.max_episode_steps or math.inf
        self._env: Any = None
        self._spaces: tuple[Any, Any] = (None, None)
        self._context: dict[str, float] = {}
        self._coordinates = np.zeros(0)

    def start(self, state: LaneState) -> None:
        """Begin the episode of a state, and repeat its actions so far."""
        arrays, slots = self._arrays, self._slots
        self.state = LaneState(state.episode)
        self._begin_episode(0)
        for action in state.actions:
            arrays.env_action[slots] = action
            self.step(0)
            arrays.obs[0, slots], arrays.present[0, slots] = (
                arrays.obs[1, slots],
                arrays.present[1, slots],
            )

    def step(self, t: int) -> None:
        """Take the actions that are in the arrays; if the episode is over, begin the next one."""
        actions = self._arrays.env_action[self._slots].copy()
        self.state.actions.append(actions)
        try:
            is_over = self._step(t, actions)
        except Exception:
            with name_context_in_errors(self._context):
                raise
        if is_over:
            self.state = LaneState(self.state.episode + 1)
            self._begin_episode(t + 1)

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            close_env(self._env)
            self._env = None

    def _is_out_of_time(self) -> bool:
        """Whether the time limit cuts the episode off after this step."""
        return len(self.state.actions) >= self._limit

    @abstractmethod
    def _step(self, t: int, actions: NDArray[Any]) -> bool:
        """Take (agents, ...) actions as step t, and say whether the episode is over."""

    @abstractmethod
    def _place(self, row: int, observation: Any) -> None:
        """Write the first observation of an episode into a row of the arrays."""

    def _begin_episode(self, row: int) -> None:
        vector, seed = self._episodes.draw(self._number, self.state.episode)
        context = self._episodes.family.full_context(self._episodes.space.context(vector))
        with name_context_in_errors(context):
            options = self._build(context)
            if self._episodes.observe_context:
                self._coordinates = self._episodes.space.to_unit(vector)
            observation, _ = self._env.reset(seed=seed, options=options)
        self._place(row, observation)

    def _build(self, context: dict[str, float]) -> dict[str, Any] | None:
        """Have the environment of a context; returns what its reset has to be told."""
        family = self._episodes.family
        use = None if self._env is None else family.use_of(self._env)
        if use is None or use == "episode" or (use == "context" and context != self._context):
            self.close()
            self._env = family.build(dict(context), None)
            use = family.use_of(self._env)
            self._check_spaces(context)
        self._context = context
        return {"context": dict(context)} if use == "space" else None

    def _check_spaces(self, context: Mapping[str, float]) -> None:
        found = spaces_of(self._env)
        if self._spaces != (None, None) and found != self._spaces:
            raise FamilyError(
                f"All contexts of a family need the same spaces. {self._episodes.family.name!r} "
                f"has {self._spaces} and {found}, the latter for {dict(context)}."
            )
        self._spaces = found


class SingleAgentLane(Lane):
    """A Gymnasium environment."""

    def __init__(self, episodes: Episodes, number: int, arrays: RolloutArrays) -> None:
        super().__init__(episodes, number, arrays)
        self._flatten: FlatObservations | None = None
        self._is_discrete = False

    def _place(self, row: int, observation: Any) -> None:
        seen = self._arrays.obs[row, self._first]
        if len(self._coordinates):
            seen[-len(self._coordinates) :] = self._coordinates
            seen = seen[: -len(self._coordinates)]
        seen[:] = observation if self._flatten is None else self._flatten(observation)
        self._arrays.present[row, self._first] = True

    def _step(self, t: int, actions: NDArray[Any]) -> bool:
        arrays, slot = self._arrays, self._first
        # Gymnasium checks a plain number faster than one of NumPy.
        action = actions.item() if self._is_discrete else actions[0]
        observation, reward, terminated, truncated, _ = self._env.step(action)
        truncated = truncated or self._is_out_of_time()
        arrays.reward[t, slot] = reward
        arrays.terminated[t, slot] = terminated
        arrays.truncated[t, slot] = truncated and not terminated
        self._place(t + 1, observation)
        if truncated:
            arrays.last_obs[t, slot] = arrays.obs[t + 1, slot]
        return bool(terminated or truncated)

    def _check_spaces(self, context: Mapping[str, float]) -> None:
        super()._check_spaces(context)
        flat = FlatObservations(self._spaces[0])
        self._flatten = None if flat.is_plain else flat
        self._is_discrete = isinstance(self._spaces[1], spaces.Discrete)


class ParallelLane(Lane):
    """An environment of several agents, which come and go.

    An agent has a slot from its first observation to its last. The slot of one who has left is
    empty until the next one comes.
    """

    def __init__(self, episodes: Episodes, number: int, arrays: RolloutArrays) -> None:
        super().__init__(episodes, number, arrays)
        self._slot_of: dict[Any, int] = {}

    def _place(self, row: int, observation: Any) -> None:
        self._arrays.present[row, self._slots] = False
        for agent, seen in observation.items():
            self._write(self._arrays.obs[row], agent, seen)
            self._arrays.present[row, self._slot_of[agent]] = True

    def _step(self, t: int, actions: NDArray[Any]) -> bool:
        arrays = self._arrays
        acting = dict(self._slot_of)
        taken = {agent: actions[slot - self._first] for agent, slot in acting.items()}
        observations, rewards, terminations, truncations, _ = self._env.step(taken)
        remaining, out_of_time = set(self._env.agents), self._is_out_of_time()
        for agent, slot in acting.items():
            terminated = bool(terminations.get(agent, False))
            truncated = out_of_time or bool(truncations.get(agent, False))
            gone = terminated or truncated or agent not in remaining
            # One who leaves without a last observation cannot be cut off: nothing is known of
            # what would have followed.
            cut_off = gone and not terminated and agent in observations
            arrays.reward[t, slot] = rewards.get(agent, 0.0)
            arrays.terminated[t, slot] = gone and not cut_off
            arrays.truncated[t, slot] = cut_off
            if cut_off:
                self._write(arrays.last_obs[t], agent, observations[agent])
            if gone:
                remaining.discard(agent)
                del self._slot_of[agent]
        for slot in set(range(self._slots.start, self._slots.stop)) - set(acting.values()):
            arrays.reward[t, slot] = 0.0
            arrays.terminated[t, slot] = arrays.truncated[t, slot] = False
        self._place(
            t + 1, {agent: observations[agent] for agent in self._env.agents if agent in remaining}
        )
        return out_of_time or not remaining

    def _begin_episode(self, row: int) -> None:
        self._slot_of = {}
        super()._begin_episode(row)

    def _write(self, row: NDArray[np.float32], agent: Any, observation: Any) -> None:
        """Write the observation of an agent into its slot of an (S, I) row."""
        if agent not in self._slot_of:
            self._slot_of[agent] = self._find_empty_slot()
        row[self._slot_of[agent]] = np.concatenate([self._flatten(observation), self._coordinates])

    def _find_empty_slot(self) -> int:
        taken = set(self._slot_of.values())
        for slot in range(self._slots.start, self._slots.stop):
            if slot not in taken:
                return slot
        raise TrainingError(
            f"There are more agents at once than 'max_agents' = {self._episodes.agents} in the "
            f"context {self._context}. Set it higher."
        )

    def _check_spaces(self, context: Mapping[str, float]) -> None:
        super()._check_spaces(context)
        self._flatten = FlatObservations(self._spaces[0])


def make_lane(episodes: Episodes, number: int, arrays: RolloutArrays, *, parallel: bool) -> Lane:
    """The lane for environments of one agent, or of several."""
    kind = ParallelLane if parallel else SingleAgentLane
    return kind(episodes, number, arrays)
