"""Lanes in this process, or spread over several."""

from __future__ import annotations

import multiprocessing
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

from sdmbtl.environments.registry import make_family
from sdmbtl.errors import SdmbtlError, TrainingError
from sdmbtl.parallel import begin_worker, starting_processes
from sdmbtl.training.ppo.lanes import Episodes, LaneState, make_lane
from sdmbtl.training.ppo.rollout_arrays import (
    RolloutArrays,
    RolloutShape,
    allocate_arrays,
    allocate_memory,
    view_memory,
)


class HostLanes(ABC):
    """Environments that are stepped together; what they do does not depend on where they are.

    Attributes:
        arrays: Where their steps are.
        has_empty_slots: Whether agents come and go, so that some slots may be empty.
    """

    arrays: RolloutArrays
    has_empty_slots: bool

    @abstractmethod
    def start(self, states: Sequence[LaneState]) -> None:
        """Begin where each of them is."""

    @abstractmethod
    def step(self, t: int) -> None:
        """Take the actions that are in the arrays, as step t."""

    @abstractmethod
    def states(self) -> list[LaneState]:
        """From what they can be continued."""

    @abstractmethod
    def close(self) -> None:
        """Close all environments."""


class LocalLanes(HostLanes):
    """In this process, one after another.

    Args:
        episodes: Which ones are played.
        arrays: Where their steps are written.
        numbers: Of the environments.
        parallel: Whether they are environments of several agents.
    """

    def __init__(
        self, episodes: Episodes, arrays: RolloutArrays, numbers: range, *, parallel: bool
    ) -> None:
        self.arrays, self.has_empty_slots = arrays, parallel
        self._lanes = [make_lane(episodes, n, arrays, parallel=parallel) for n in numbers]

    def start(self, states: Sequence[LaneState]) -> None:
        """Begin where each of them is."""
        for lane, state in zip(self._lanes, states, strict=True):
            lane.start(state)

    def step(self, t: int) -> None:
        """Take the actions that are in the arrays, as step t."""
        for lane in self._lanes:
            lane.step(t)

    def states(self) -> list[LaneState]:
        """From what they can be continued."""
        return [lane.state for lane in self._lanes]

    def close(self) -> None:
        """Close all environments."""
        for lane in self._lanes:
            lane.close()


class SpreadLanes(HostLanes):
    """In several processes, which end with this one.

    Args:
        episodes: Which ones are played; of a family that can be made by name.
        shape: Of the arrays.
        number: How many environments.
        processes: How many processes, at most one for each environment.
        parallel: Whether they are environments of several agents.
    """

    def __init__(
        self,
        episodes: Episodes,
        shape: RolloutShape,
        number: int,
        processes: int,
        *,
        parallel: bool,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        memory = allocate_memory(shape, context.RawArray)
        self.arrays, self.has_empty_slots = view_memory(shape, memory), parallel
        family = episodes.family.settings()
        portable = replace(episodes, family=None)  # type: ignore[arg-type]
        ends = [round(i * number / processes) for i in range(processes + 1)]
        self._parts = [range(*pair) for pair in pairwise(ends)]
        self._pipes: list[Connection] = []
        self._workers: list[Any] = []
        with starting_processes():
            for part in self._parts:
                here, there = context.Pipe()
                arguments = (there, family, portable, shape, memory, part, parallel)
                worker = context.Process(target=_serve, args=arguments, daemon=True)
                worker.start()
                there.close()
                self._pipes.append(here)
                self._workers.append(worker)

    def start(self, states: Sequence[LaneState]) -> None:
        """Begin where each of them is."""
        self._ask_all("start", [[states[n] for n in part] for part in self._parts])

    def step(self, t: int) -> None:
        """Take the actions that are in the arrays, as step t."""
        self._ask_all("step", [t] * len(self._parts))

    def states(self) -> list[LaneState]:
        """From what they can be continued."""
        parts = self._ask_all("states", [None] * len(self._parts))
        return [state for part in parts for state in part]

    def close(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.close()  # at which a worker closes its environments and ends
        for worker in self._workers:
            worker.join(timeout=5)
            if worker.is_alive():
                worker.terminate()
                worker.join()

    def _ask_all(self, what: str, arguments: Sequence[Any]) -> list[Any]:
        try:
            for pipe, argument in zip(self._pipes, arguments, strict=True):
                pipe.send((what, argument))
            answers = [pipe.recv() for pipe in self._pipes]
        except (EOFError, OSError) as error:
            raise TrainingError(
                "A process that steps environments died, perhaps for lack of memory. Use fewer "
                "'env_processes'."
            ) from error
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def _serve(
    pipe: Connection,
    family: dict[str, Any],
    episodes: Episodes,
    shape: RolloutShape,
    memory: dict[str, Any],
    numbers: range,
    parallel: bool,
) -> None:
    """Step some of the environments, as the other end of the pipe says, until it is closed."""
    begin_worker()
    try:
        made = make_family(family["name"], **family["options"])
        arrays = view_memory(shape, memory)
        lanes = LocalLanes(replace(episodes, family=made), arrays, numbers, parallel=parallel)
    except SdmbtlError as error:
        pipe.send(error)
        return
    methods = {"start": lanes.start, "step": lanes.step, "states": lambda _: lanes.states()}
    while True:
        try:
            what, argument = pipe.recv()
        except EOFError:
            lanes.close()
            return
        try:
            pipe.send(methods[what](argument))  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
            pipe.send(error if isinstance(error, SdmbtlError) else TrainingError(str(error)))


def open_lanes(
    episodes: Episodes, shape: RolloutShape, number: int, processes: int, *, parallel: bool
) -> HostLanes:
    """Lanes for a number of environments, in one or several processes."""
    processes = min(processes, number)
    if processes > 1:
        return SpreadLanes(episodes, shape, number, processes, parallel=parallel)
    return LocalLanes(episodes, allocate_arrays(shape), range(number), parallel=parallel)
