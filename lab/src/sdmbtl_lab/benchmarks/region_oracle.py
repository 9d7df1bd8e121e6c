"""The Myopic Oracle of regions: greedy per step with all rows known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdmbtl_lab.matrices.region_dataset import RegionDataset, ancestors


def greedy_sources(
    dataset: RegionDataset,
    budget: int,
    *,
    seed: int = 0,
    among: Sequence[int] | None = None,
    lowest: float | None = None,
) -> list[int]:
    """The Myopic Oracle of sources: with all rows known, most gain per step, again and again.

    Whoever takes a source pays for all policies that it starts from as well, and has them. What
    would exceed the budget is left out. This is what there is to be had, not a competitor: it
    knows every row, its noise included.

    Args:
        dataset: The data set.
        budget: Environment steps in all.
        seed: Number of the seed of the data set.
        among: Numbers of the sources that may be taken; all if left out.
        lowest: The return of a target without a policy; the lowest of this seed if left out.

    Returns:
        The sources in the order in which they are taken, parents before those that start from
        them.
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
