"""Finding a target by its values, and equal ones among very many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class GridLookup:
    """Index of the target of a grid that has certain values.

    Args:
        columns: Values of each dimension, the last one varying fastest.
    """

    def __init__(self, columns: Sequence[NDArray[np.float64]]) -> None:
        self._places = [
            {value: place for place, value in enumerate(column.tolist())} for column in columns
        ]

    def find(self, vector: NDArray[np.float64]) -> int | None:
        """Index of the target with exactly these (D,) values, None if there is none."""
        index = 0
        for places, value in zip(self._places, vector.tolist(), strict=True):
            place = places.get(value)
            if place is None:
                return None
            index = index * len(places) + place
        return index


class ListLookup:
    """Index of the target of a list that has certain values.

    Args:
        targets: (N, D) the targets.
    """

    def __init__(self, targets: NDArray[np.float64]) -> None:
        self._targets = targets
        keys = row_keys(targets)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, vector: NDArray[np.float64]) -> int | None:
        """Index of the target with exactly these (D,) values, None if there is none."""
        key = row_keys(vector[None])[0]
        start, stop = np.searchsorted(self._keys, key), np.searchsorted(self._keys, key, "right")
        for index in self._order[start:stop]:
            if np.array_equal(self._targets[index], vector):
                return int(index)
        return None


def row_keys(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """(N,) a number for each row: the same for rows that are equal, hardly ever for others."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 is 0.0
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        keys ^= column
        keys *= np.uint64(0x9E3779B97F4A7C15)  # odd: no two numbers become the same
        keys ^= keys >> np.uint64(32)
    return keys


def first_of_each(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """(N,) for each row the number of the first one that is equal to it: its own, if all differ."""
    numbers = np.arange(len(rows))
    ordered = np.sort(row_keys(rows))
    if not (ordered[1:] == ordered[:-1]).any():
        return numbers
    _, first, inverse = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.ravel()])
