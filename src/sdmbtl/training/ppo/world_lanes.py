"""Lanes whose episodes one simulation steps together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.environments.batched_world import AgentsNow, BatchedWorld
from sdmbtl.training.ppo.host_lanes import HostLanes
from sdmbtl.training.ppo.lanes import Episodes, LaneState
from sdmbtl.training.ppo.rollout_arrays import RolloutArrays


class WorldLanes(HostLanes):
    """Episodes of a world, which begin and end together.

    Args:
        world: Steps them; it is closed with the lanes.
        episodes: Which ones are played.
        arrays: Where their steps are written.
        number: How many there are side by side.
    """

    has_empty_slots = True

    def __init__(
        self, world: BatchedWorld, episodes: Episodes, arrays: RolloutArrays, number: int
    ) -> None:
        self.arrays = arrays
        self._world, self._episodes, self._number = world, episodes, number
        self._limit = episodes.max_episode_steps
        self._episode = 0
        self._actions: list[NDArray[Any]] = []
        self._now = AgentsNow(np.zeros(0, np.int32), np.zeros((0, 0), np.float32))
        self._coordinates = np.zeros((number, 0))

    def start(self, states: Sequence[LaneState]) -> None:
        """Begin where they were, and repeat their actions so far."""
        self._episode = states[0].episode
        self._begin(0)
        for together in zip(*(state.actions for state in states), strict=True):
            self.arrays.env_action[...] = np.concatenate(together)
            self.step(0)
            self.arrays.obs[0], self.arrays.present[0] = self.arrays.obs[1], self.arrays.present[1]

    def step(self, t: int) -> None:
        """Take the actions that are in the arrays, as step t."""
        arrays, acting = self.arrays, self._now.slots
        self._actions.append(arrays.env_action.copy())
        step = self._world.step(arrays.env_action[acting])
        arrays.reward[t] = 0.0
        arrays.reward[t, acting] = step.reward
        arrays.terminated[t] = arrays.truncated[t] = False
        arrays.terminated[t, acting] = step.gone
        if step.is_over or len(self._actions) == self._limit:
            arrays.truncated[t, acting] = ~step.gone
            self._write(arrays.last_obs[t], step.now)
            self._episode += 1
            self._begin(t + 1)
        else:
            self._place(t + 1, step.now)

    def states(self) -> list[LaneState]:
        """From what they can be continued."""
        agents = self._episodes.agents
        return [
            LaneState(self._episode, [a[n * agents : (n + 1) * agents] for a in self._actions])
            for n in range(self._number)
        ]

    def close(self) -> None:
        """Close the world."""
        self._world.close()

    def _begin(self, row: int) -> None:
        """Begin the next episode of every lane."""
        episodes, self._actions = self._episodes, []
        drawn = [episodes.draw(lane, self._episode) for lane in range(self._number)]
        contexts = [episodes.family.full_context(episodes.space.context(v)) for v, _ in drawn]
        if episodes.observe_context:
            self._coordinates = np.array([episodes.space.to_unit(vector) for vector, _ in drawn])
        self._place(row, self._world.reset(contexts, [seed for _, seed in drawn]))

    def _place(self, row: int, now: AgentsNow) -> None:
        self._now = now
        self.arrays.present[row] = False
        self.arrays.present[row, now.slots] = True
        self._write(self.arrays.obs[row], now)

    def _write(self, row: NDArray[np.float32], now: AgentsNow) -> None:
        """Write what agents see into their slots of an (S, I) row."""
        size = now.obs.shape[1]
        row[now.slots, :size] = now.obs
        if self._coordinates.shape[1]:
            row[now.slots, size:] = self._coordinates[now.slots // self._episodes.agents]
