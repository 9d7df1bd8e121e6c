"""Slopes of performance along growing distance, left and right, in each dimension.

All three estimates are linear regressions on the signed context differences
[x - y]_- and [x - y]_+ of every observed pair:

* "return": the return itself, with an intercept. GP-MBTL's slope learning.
* "relative": the return minus its target's mean, with an intercept. The paper's slope
  criterion. Biased: the target's mean is removed from the response but not from the regressors.
* "within": the target's mean removed from both sides (the fixed-effects estimator). Unbiased
  whatever the difficulty g(y) is.

They share the same few sums over pairs, so no (k N, 2 D) design matrix is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import StructureError
from sdmbtl.transfer.rows import ObservedRows

SlopeMethod = Literal["return", "relative", "within"]


@dataclass(frozen=True)
class Slopes:
    """Change of return per unit of distance; negative where performance falls.

    Attributes:
        names: Names of the D dimensions.
        left: (D,) slopes where the source lies on the target's left, x < y.
        right: (D,) slopes where the source lies on the target's right, x > y.
        known: (D,) whether the rows say anything about both.
    """

    names: tuple[str, ...]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    known: NDArray[np.bool_]

    @property
    def falling(self) -> NDArray[np.bool_]:
        """(D,) whether performance falls on both sides, as a distance would have it."""
        # A slope that is nothing beside the largest is 0 up to rounding, whatever its sign.
        floor = -1e-9 * float(np.abs([self.left, self.right]).max())
        return (self.left < floor) & (self.right < floor)

    @property
    def steepness(self) -> NDArray[np.float64]:
        """(D,) how many times steeper the steeper side is; infinite if the other is flat."""
        sizes = np.abs([self.left, self.right])
        flat, steep = sizes.min(axis=0), sizes.max(axis=0)
        ratio: NDArray[np.float64] = np.full(len(flat), np.inf)
        np.divide(steep, flat, out=ratio, where=flat > 0)
        return ratio

    def to_dict(self) -> dict[str, Any]:
        """The slopes as JSON data."""
        return {
            name: {"left": float(lo), "right": float(hi)}
            for name, lo, hi in zip(self.names, self.left, self.right, strict=True)
        }


def estimate_slopes(rows: ObservedRows, method: SlopeMethod = "within") -> Slopes:
    """Estimate the slopes from all observed pairs.

    Args:
        rows: Observed rows, at least one; "within" needs two to say anything.
        method: Which regression, see the module's description.

    Returns:
        The slopes; 0 in directions that the rows say nothing about.
    """
    return PairSums.of(rows).slopes(method)


def checked_method(method: SlopeMethod) -> SlopeMethod:
    """Check the name of a method; a misspelt one must not pass for another."""
    if method not in get_args(SlopeMethod):
        raise StructureError(
            f"The 'method' of a slope estimate must be one of {get_args(SlopeMethod)}. "
            f"Got {method!r} instead."
        )
    return method


class PairSums:
    """Sums over the observed pairs (x, y), enough for each of the regressions.

    Added row by row, so that a selector pays for the new row only.
    """

    def __init__(self, space: ContextSpace) -> None:
        n_features = 2 * space.n_dimensions
        self.space = space
        self.counts = np.zeros(len(space))
        self.feature_sums = np.zeros((len(space), n_features))
        self.return_sums = np.zeros(len(space))
        self.products = np.zeros((n_features, n_features))
        self.moments = np.zeros(n_features)
        self.offset = 0.0

    @classmethod
    def of(cls, rows: ObservedRows) -> PairSums:
        """The sums of these rows."""
        if not len(rows):
            raise StructureError("Slopes need at least one observed row. Got none.")
        sums = cls(rows.space)
        # Returns far from zero (500 + small differences) would cost digits in the products.
        sums.offset = float(np.nanmean(rows.returns[0]))
        for source, row in zip(rows.unit_sources, rows.returns, strict=True):
            sums.add(source, row)
        return sums

    def add(self, source: NDArray[np.float64], row: NDArray[np.float64]) -> None:
        """Add the row (N,) of one policy, trained at `source` (D,) in unit coordinates."""
        seen = ~np.isnan(row)
        features = signed_differences(source, self.space.unit_targets)
        returns = row - self.offset
        if not seen.all():
            features, returns = features * seen[:, None], np.where(seen, returns, 0.0)
        self.counts += seen
        self.feature_sums += features
        self.return_sums += returns
        self.products += features.T @ features
        self.moments += features.T @ returns

    def slopes(self, method: SlopeMethod) -> Slopes:
        """Solve one of the regressions."""
        normal, moment = self.regression(checked_method(method))
        return _solved(self.space.names, normal, moment, scale=float(np.trace(self.products)))

    def regression(self, method: SlopeMethod) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normal equations (2 D, 2 D) and (2 D,) of one of the regressions."""
        seen = self.counts > 0
        counts, features = self.counts[seen], self.feature_sums[seen]
        target_means = self.return_sums[seen] / counts
        moments = self.moments
        if method != "return":
            moments = moments - features.T @ target_means
        if method == "within":
            return self.products - (features / counts[:, None]).T @ features, moments
        # An intercept is the same as removing the grand mean from both sides.
        total, pairs = features.sum(axis=0), counts.sum()
        grand_sum = float(self.return_sums.sum()) if method == "return" else 0.0
        return self.products - np.outer(total, total) / pairs, moments - total * grand_sum / pairs


class RunningPairSums:
    """Pair sums of a growing list of rows; rebuilt only if the list did not just grow."""

    def __init__(self) -> None:
        self._rows: ObservedRows | None = None
        self._sums: PairSums | None = None

    def slopes(self, rows: ObservedRows, method: SlopeMethod) -> Slopes:
        """Estimate the slopes of these rows, reusing the sums of the rows seen before."""
        if self._rows is None or self._sums is None or not rows.continues(self._rows):
            self._sums = PairSums.of(rows)
        else:
            for number in range(len(self._rows), len(rows)):
                self._sums.add(rows.unit_sources[number], rows.returns[number])
        self._rows = rows
        return self._sums.slopes(method)


def signed_differences(
    source: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(N, 2 D) features [x - y]_- and [x - y]_+ of one source and all targets."""
    difference = source - targets
    return np.hstack([np.minimum(difference, 0.0), np.maximum(difference, 0.0)])


def _solved(
    names: tuple[str, ...],
    normal: NDArray[np.float64],
    moment: NDArray[np.float64],
    scale: float,
) -> Slopes:
    """Solve the normal equations; the least-norm solution where they are degenerate.

    Numbers far below `scale`, the size of the sums that were subtracted from one another, are
    what rounding left of a zero.
    """
    values, vectors = np.linalg.eigh(normal)
    floor = max(float(values[-1]) * 1e-10, scale * 1e-13)
    inverse = np.where(values > floor, 1.0 / np.where(values > floor, values, 1.0), 0.0)
    coefficients = vectors @ (inverse * (vectors.T @ moment))
    d = len(names)
    seen = np.diagonal(normal) > floor
    # [x - y]_- is minus the distance, so the left slope along growing distance changes sign.
    return Slopes(names, -coefficients[:d], coefficients[d:], known=seen[:d] & seen[d:])
