"""The linear generalization gap: a sum of one-dimensional functions of x_d and y_d.

A policy trained at x changes its return by `left_d` per unit of distance in dimension d on
targets above x (the source lies on their left), and by `right_d` on targets below it:

    J(pi_x, y) - J(pi_x, x) = sum_d  left_d * [y_d - x_d]_+  +  right_d * [x_d - y_d]_+

Since [x - y]_+ = max(x, y) - y, this equals

    -left·x - right·y + sum_d (left_d + right_d) max(x_d, y_d)

so no array with a dimension axis is ever needed, and on a grid two small tables are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace

#: Work is cut into pieces of about this many numbers, which stay in a core's cache.
PIECE = 65_536


class SeparableGap:
    """Modelled change of return from a source to every target of a space.

    Args:
        space: The context space with N targets in D dimensions.
        left: (D,) change per unit of distance for targets above the source.
        right: (D,) change per unit of distance for targets below the source. Both are
            negative where performance falls with distance.
    """

    def __init__(
        self, space: ContextSpace, left: NDArray[np.float64], right: NDArray[np.float64]
    ) -> None:
        self.space = space
        self.left = np.asarray(left, dtype=np.float64)
        self.right = np.asarray(right, dtype=np.float64)

    @classmethod
    def distance(cls, space: ContextSpace, weights: NDArray[np.float64]) -> SeparableGap:
        """The Mountain structure: the change is minus the weighted L1 distance."""
        return cls(space, -weights, -weights)

    def change(
        self, sources: NDArray[np.float64], targets: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Modelled J(pi_x, y) - J(pi_x, x).

        Args:
            sources: (M, D) sources in unit coordinates.
            targets: (n, D) targets in unit coordinates; those of the space if left out.

        Returns:
            (M, n) changes.
        """
        if targets is None:
            targets = self.space.unit_targets
        at_sources, at_targets = _dot(sources, self.left), _dot(targets, self.right)
        pairs = self._pairs(sources, targets, range(self.space.n_units))
        pairs -= at_sources[:, None]
        pairs -= at_targets
        return pairs

    def advantages(
        self,
        values: NDArray[np.float64],
        thresholds: NDArray[np.float64],
        sources: NDArray[np.float64] | None = None,
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield value(x) + change(x, y) - threshold(y) for a few sources at a time.

        Args:
            values: (M,) value of each source on itself.
            thresholds: (N,) what each target has already.
            sources: (M, D) sources in unit coordinates; the targets themselves if left out.

        Yields:
            Which m of the sources, and (m, N) advantages.
        """
        unit_targets = self.space.unit_targets
        points = unit_targets if sources is None else sources
        level = values - _dot(points, self.left)
        needed = thresholds + _dot(unit_targets, self.right)
        if (
            sources is None
            and self.space.is_grid
            and 1 < self.space.n_units == len(self.space.shape)
        ):
            return self._grid_pieces(level, needed)
        return self._pieces(points, level, needed)

    def _pieces(
        self,
        points: NDArray[np.float64],
        level: NDArray[np.float64],
        needed: NDArray[np.float64],
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield level(x) + pairs(x, y) - needed(y) for a few sources x at a time."""
        size = max(PIECE // len(needed), 1)
        dimensions = range(self.space.n_units)
        for start in range(0, len(points), size):
            where = slice(start, start + size)
            piece = self._pairs(points[where], self.space.unit_targets, dimensions)
            piece -= needed
            piece += level[where, None]
            yield where, piece

    def _grid_pieces(
        self, level: NDArray[np.float64], needed: NDArray[np.float64]
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """The same for all targets of a grid, as sums over two groups of dimensions.

        With x = (a, b) and y = (a', b') the pair sum is head[a, a'] + tail[b, b'].
        """
        shape = self.space.shape
        # The larger of the two groups is as small as can be.
        split = min(range(1, len(shape)), key=lambda s: max(prod(shape[:s]), prod(shape[s:])))
        n_head, n_tail = prod(shape[:split]), prod(shape[split:])
        units = self.space.unit_targets
        heads, tails = units[::n_tail], units[:n_tail]
        head = self._pairs(heads, heads, range(split))
        tail = self._pairs(tails, tails, range(split, len(shape)))
        needed = needed.reshape(n_head, n_tail)
        size = max(PIECE // len(units), 1)
        for a in range(n_head):
            rest = head[a][:, None] - needed
            for b in range(0, n_tail, size):
                where = slice(a * n_tail + b, a * n_tail + min(b + size, n_tail))
                of_tail = level[where, None] + tail[b : b + size]
                yield where, (rest + of_tail[:, None, :]).reshape(-1, len(units))

    def _pairs(
        self, xs: NDArray[np.float64], ys: NDArray[np.float64], dimensions: range
    ) -> NDArray[np.float64]:
        """(len(xs), len(ys)) sums over some dimensions of (left_d + right_d) max(x_d, y_d)."""
        total = np.zeros((len(xs), len(ys)))
        term = np.empty_like(total)
        for d in dimensions:
            kink = self.left[d] + self.right[d]
            # Scaled before the pairs are formed: kink max(x, y) is a max or a min of the scaled.
            larger = np.maximum if kink > 0 else np.minimum
            larger((kink * xs[:, d])[:, None], kink * ys[:, d], out=term)
            total += term
        return total


def _dot(points: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) scalar products; unlike a matrix product, each is the same whatever n is."""
    total = np.zeros(len(points))
    for d, slope in enumerate(slopes):
        total += slope * points[:, d]
    return total
