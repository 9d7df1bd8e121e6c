"""Slopes of performance along growing distance, left and right, in each dimension.

All three estimates are linear regressions on the signed context differences
[x - y]_- and [x - y]_+ of every observed pair:

* "return": the return itself, with an intercept. GP-MBTL's slope learning.
* "relative": the return minus its target's mean, with an intercept. The paper's slope
  criterion. Biased: the target's mean is removed from the response but not from the regressors.
* "within": the target's mean removed from both sides (the fixed-effects estimator). Unbiased
  whatever the difficulty g(y) is.

All share the same few sums over pairs, so no (k N, 2 D) design matrix is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import known_name
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
        known: (D,) True where the rows have evidence of both.
    """

    names: tuple[str, ...]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    known: NDArray[np.bool_]

    @property
    def falling(self) -> NDArray[np.bool_]:
        """(D,) whether performance falls on both sides, as a distance would have it."""
        # A slope that is nothing compared with the largest is 0 up to rounding, whatever its sign.
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
    """Estimate the slopes from all observed pairs."""
    return PairSums().slopes(rows, method)


class PairSums:
    """Sums over the observed pairs (x, y), enough for each of the regressions.

    They grow row by row, so that a selector pays for new rows only; they begin again if the rows
    did not just grow. The features of a pair are the signed differences [x - y]_- and [x - y]_+.
    Rows may be partial.

    Attributes:
        rows: The rows of the sums.
        counts: (N,) number of policies that were evaluated on each target.
        target_features: (N, 2 D) sum over these policies of the features of each target.
        target_returns: (N,) sum over these policies of the returns on each target.
        products: (2 D, 2 D) sum of the products of the features.
        moments: (2 D,) sum of the products of features and returns.
        offset: Number subtracted from every return: returns far from zero (500 + small
            differences) would cost digits in the products.
    """

    rows: ObservedRows | None = None

    def slopes(self, rows: ObservedRows, method: SlopeMethod) -> Slopes:
        """Solve one of the regressions on these rows, reusing the sums of earlier ones."""
        normal, moment = self.regression(rows, method)
        return _solve(rows.space.unit_names, normal, moment, scale=float(np.trace(self.products)))

    def _add(self, difference: NDArray[np.float64], row: NDArray[np.float64]) -> None:
        """Add a (N,) row; (N, D) are the differences of its source and the targets."""
        seen = ~np.isnan(row)
        features = np.hstack([np.minimum(difference, 0.0), np.maximum(difference, 0.0)])
        returns = row - self.offset
        if not seen.all():
            features, returns = features * seen[:, None], np.where(seen, returns, 0.0)
        self.counts += seen
        self.target_features += features
        self.target_returns += returns
        self.products += features.T @ features
        self.moments += features.T @ returns

    def regression(
        self, rows: ObservedRows, method: SlopeMethod
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normal equations (2 D, 2 D) and (2 D,) of one of the regressions."""
        known_name("method", method, get_args(SlopeMethod), error=StructureError)
        if not len(rows):
            raise StructureError("Slopes need at least one observed row. Got none.")
        units = rows.space.unit_targets
        if self.rows is None or not rows.continues(self.rows):
            n, width = len(units), 2 * units.shape[1]
            self.counts, self.target_returns = np.zeros(n), np.zeros(n)
            self.target_features = np.zeros((n, width))
            self.products, self.moments = np.zeros((width, width)), np.zeros(width)
            self.offset, self.rows = float(np.nanmean(rows.returns[0])), None
        known = 0 if self.rows is None else len(self.rows)
        for source, row in zip(rows.unit_sources[known:], rows.returns[known:], strict=True):
            self._add(source - units, row)
        self.rows = rows
        seen = self.counts > 0
        counts, features = self.counts[seen], self.target_features[seen]
        moments = self.moments
        if method != "return":
            moments = moments - features.T @ (self.target_returns[seen] / counts)
        if method == "within":
            return self.products - (features / counts[:, None]).T @ features, moments
        # An intercept is the same as removing the grand mean from both sides.
        total, pairs = features.sum(axis=0), counts.sum()
        grand_sum = float(self.target_returns.sum()) if method == "return" else 0.0
        return self.products - np.outer(total, total) / pairs, moments - total * grand_sum / pairs


def _solve(
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
    d, seen = len(names), np.diagonal(normal) > floor
    # The first difference is minus the distance, so that its coefficients change sign.
    return Slopes(names, -coefficients[:d], coefficients[d:], known=seen[:d] & seen[d:])
