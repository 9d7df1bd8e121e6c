"""Selectors of regions, and the greedy oracle, on a data set of regions instead of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import Source
from sdmbtl.errors import ExhaustedError, MatrixError
from sdmbtl.selectors.base import Selector
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl_lab.matrices.region_dataset import RegionDataset, ancestors

#: A parent that was trained twice as long, or half as long, counts as this far away, in unit
#: coordinates: about half the distance between neighbours among a hundred centres.
PARENT_DISTANCE = 0.1


@dataclass(frozen=True)
class RegionSimulation:
    """Choices of a selector on one seed of a data set.

    Attributes:
        sources: Its proposals, in order.
        answers: The sources of the data set whose rows it was told.
        steps: Environment steps spent after each.
        curve: Mean best return after each.
    """

    sources: list[Source]
    answers: list[int]
    steps: list[int]
    curve: list[float]

    def reached(self, steps: int) -> float | None:
        """Mean best return of the policies that these steps pay for; None without any."""
        number = int(np.searchsorted(self.steps, steps, side="right"))
        return self.curve[number - 1] if number else None


def simulate_regions(
    selector: Selector, dataset: RegionDataset, total_steps: int, *, seed: int = 0, run: int = 0
) -> RegionSimulation:
    """Run a selector until the environment steps are spent.

    Proposals are answered with the row of the nearest source that there is; see `Answers`. So the
    result approximates what training would give: real training has the last word.

    Args:
        selector: A selector that was not asked before.
        dataset: The data set.
        total_steps: Environment steps in all.
        seed: Number of the seed of the data set.
        run: Number of the first generalist from scratch.
    """
    answers = Answers(dataset, run)
    best = np.full(len(dataset.space), -np.inf)
    found = RegionSimulation([], [], [], [])
    spent = 0
    while True:
        try:
            trial = selector.ask()
        except ExhaustedError:
            break
        spent += trial.steps or dataset.unit
        if spent > total_steps:
            break
        number = answers.next(trial.source)
        row = dataset.returns[seed, number]
        training = TrainingRun(
            steps=trial.steps or dataset.unit,
            training_return=float(dataset.source_returns[seed, number]),
            curve=dataset.curve(seed, number),
        )
        selector.record(selector.reported_trial(trial, row).updated(run=training))
        best = np.maximum(best, row)
        found.sources.append(trial.source)
        found.answers.append(number)
        found.steps.append(spent)
        found.curve.append(float(best.mean()))
    return found


class Answers:
    """The source of a data set that is nearest to a proposed one, again and again.

    The whole space is answered with the longest generalist of one run that has not more steps than
    the proposed one and all that it starts from. Anything else is answered with a specialist that
    starts from scratch, or from any policy, as the proposed one does. Of those with the nearest
    width, and among them the nearest number of steps, it is the one with the nearest centre; a
    parent that was trained for longer or shorter counts as some distance. Each is taken once,
    while there are others.

    Args:
        dataset: The data set.
        run: Number of the first generalist from scratch.

    Raises:
        MatrixError: If there is no such run.
    """

    def __init__(self, dataset: RegionDataset, run: int = 0) -> None:
        self.dataset = dataset
        self._generalists = generalist_runs(dataset)
        if not 0 <= run < len(self._generalists):
            raise MatrixError(
                f"{dataset.name} has {len(self._generalists)} generalists from scratch. "
                f"Got run={run} instead."
            )
        self._run = self._generalists[run]
        sources = dataset.sources
        self._widths = np.array([source.width for source in sources])
        self._centers = dataset.space.to_unit(np.array([source.center for source in sources]))
        self._from_parent = np.array([source.parent is not None for source in sources])
        self._parent_steps = dataset.total_steps - dataset.steps
        self._specialists = ~dataset.is_generalist
        self._free = np.ones(len(sources), dtype=np.bool_)
        self._totals: list[int] = []

    def next(self, source: Source) -> int:
        """The answer to the next proposal; its parent is the number of an earlier proposal."""
        before = 0 if source.parent is None else self._totals[source.parent]
        steps = source.steps or self.dataset.unit
        self._totals.append(before + steps)
        if self.dataset.space.is_whole(source):
            return self._generalist(before + steps)
        number = self._specialist(source, steps, before)
        self._free[number] = False
        return number

    def _generalist(self, total: int) -> int:
        """The longest generalist of the run with at most this many steps; else the shortest."""
        shorter = [n for n in self._run if self.dataset.total_steps[n] <= total]
        return (shorter or self._run[:1])[-1]

    def _specialist(self, source: Source, steps: int, before: int) -> int:
        alike = self._specialists & (self._from_parent == (source.parent is not None))
        if not alike.any():
            start = "scratch" if source.parent is None else "a policy"
            raise MatrixError(
                f"{self.dataset.name} has no specialists from {start}, so a selector that "
                "proposes them cannot be run on it."
            )
        free = alike & self._free
        numbers = np.flatnonzero(free if free.any() else alike)
        numbers = _least(numbers, np.abs(self._widths[numbers] - source.width))
        numbers = _least(numbers, np.abs(np.log2(self.dataset.steps[numbers] / steps)))
        unit = self.dataset.space.to_unit(source.vector)
        distance = np.abs(self._centers[numbers] - unit).sum(axis=1)
        if before:
            doublings = np.abs(np.log2(self._parent_steps[numbers] / before))
            distance = distance + PARENT_DISTANCE * doublings
        return int(_least(numbers, distance)[0])


def _least(numbers: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the numbers with the least value, up to rounding."""
    rounded = np.round(values, 9)
    return np.asarray(numbers[rounded == rounded.min()])


def generalist_runs(dataset: RegionDataset) -> list[list[int]]:
    """Each generalist from scratch with those that continue it, in order."""
    runs: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for number in np.flatnonzero(dataset.is_generalist).tolist():
        parent = dataset.sources[number].parent
        root[number] = number if parent is None else root[parent]
        runs.setdefault(root[number], []).append(number)
    return list(runs.values())


def greedy_sources(
    dataset: RegionDataset,
    budget: int,
    *,
    seed: int = 0,
    among: Sequence[int] | None = None,
    lowest: float | None = None,
) -> list[int]:
    """The Myopic Oracle of sources: with all rows known, most gain per step, again and again.

    A source costs the steps of all policies that it starts from as well; they are taken before it.

    Args:
        dataset: The data set.
        budget: Environment steps in all.
        seed: Number of the seed of the data set.
        among: Numbers of the sources that may be taken; all if left out.
        lowest: The return of a target without a policy; the lowest of this seed if left out.

    Returns:
        The sources in the order in which they are taken.
    """
    rows, sources = dataset.returns[seed], dataset.sources
    with_parents = rows.copy()
    for number, source in enumerate(sources):
        if source.parent is not None:
            np.maximum(with_parents[number], with_parents[source.parent], out=with_parents[number])
    best = np.full(rows.shape[1], rows.min() if lowest is None else lowest)
    allowed = np.zeros(len(sources), dtype=np.bool_)
    allowed[list(range(len(sources)) if among is None else among)] = True
    taken: list[int] = []
    left = budget
    while True:
        cost = _cost_with_parents(dataset, taken)
        usable = np.flatnonzero(allowed & (cost > 0) & (cost <= left))
        gains = np.maximum(with_parents[usable] - best, 0.0).mean(axis=1) / cost[usable]
        if not len(usable) or not gains.max() > 0:
            return taken
        number = int(usable[gains.argmax()])
        left -= int(cost[number])
        best = np.maximum(best, with_parents[number])
        needed = [*ancestors(sources, number)[::-1], number]
        taken += [source for source in needed if source not in taken]


def _cost_with_parents(dataset: RegionDataset, taken: Sequence[int]) -> NDArray[np.int64]:
    """(S,) steps of each source and of those that it starts from; 0 for what is taken."""
    cost = dataset.steps.copy()
    cost[list(taken)] = 0
    for number, source in enumerate(dataset.sources):
        if source.parent is not None and cost[number]:
            cost[number] += cost[source.parent]
    return cost
