"""Neighbouring targets, grouped."""

from __future__ import annotations

import heapq
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace


def target_cells(units: NDArray[np.float64], cells: int) -> NDArray[np.intp]:
    """Group targets into cells of about the same number, by halving the widest side.

    Args:
        units: (N, D) targets in unit coordinates.
        cells: Number of cells, or as many as there are targets.

    Returns:
        (N,) number of the cell of each target.
    """
    order = count()  # of equally large cells the oldest is halved first
    heap = [(-len(units), next(order), np.arange(len(units)))]
    while len(heap) < min(cells, len(units)):
        _, _, largest = heapq.heappop(heap)
        widest = int(np.ptp(units[largest], axis=0).argmax())
        ordered = largest[np.argsort(units[largest, widest], kind="stable")]
        for half in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]):
            heapq.heappush(heap, (-len(half), next(order), half))
    numbers = np.empty(len(units), dtype=np.intp)
    for number, (_, _, members) in enumerate(sorted(heap, key=lambda cell: int(cell[2].min()))):
        numbers[members] = number
    return numbers


@lru_cache(maxsize=8)
def space_cells(space: ContextSpace, cells: int) -> NDArray[np.intp]:
    """(N,) number of the cell of each target of a space, found once; not to be changed."""
    numbers = target_cells(space.unit_targets, cells)
    numbers.setflags(write=False)
    return numbers


def cell_centres(units: NDArray[np.float64], cells: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each cell the target that is nearest to its middle, in the order of the cells.

    Args:
        units: (N, D) targets in unit coordinates.
        cells: (N,) number of the cell of each, as `target_cells` returns it.
    """
    centres = []
    for number in range(int(cells.max()) + 1):
        members = np.flatnonzero(cells == number)
        middle = units[members].mean(axis=0)
        centres.append(members[int(np.abs(units[members] - middle).sum(axis=1).argmin())])
    return np.array(centres, dtype=np.intp)
