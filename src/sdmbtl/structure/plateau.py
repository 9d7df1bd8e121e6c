"""Plateau structure: a policy is good around its source and of little use far from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.structure.completed import CompletedRows
from sdmbtl.structure.predictive import FittedStructure, RowPrediction, Structure
from sdmbtl.structure.smooth_effect import SmoothEffect

#: Reaches that are tried for each dimension, in unit coordinates; the last one means none.
REACHES = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 6.4])
#: The search for the reaches starts from each of these.
STARTS = (2, 4)
SWEEPS = 2
#: Errors that differ by less, relative to the squares of the returns, are alike.
ROUNDING = 1e-12
#: Share of the policies that are worse on a target than a far policy.
FAR_SHARE = 0.2
#: Pairs that the reaches are fitted to; more of them change little.
MOST_PAIRS = 4000


class PlateauStructure(Structure):
    """J(x, y) = far(y) + (near(y) - far(y)) · exp(-sum ((x - y) / reach)^2) + quality(x).

    far(y) is what a policy from far away gets, near(y) what training on y itself would give: at
    least the best return seen there. Each side of a dimension has a reach of its own: often a
    policy of a hard context is good on all easier ones, but not the other way round.
    """

    name: ClassVar[str] = "plateau"

    def fit(self, rows: CompletedRows) -> FittedStructure:
        """Estimate both levels, the reaches and the quality of policies."""
        far = _far_level(rows.returns)
        own = SmoothEffect(rows.sources, rows.own)
        at_home = own.predict(rows.space.unit_targets)[0]
        near = np.maximum(rows.best, np.minimum(at_home, rows.ceiling))
        shape = PlateauShape.fitted(rows.space, rows.sources, rows.returns, far, near)
        some = _spread_targets(len(rows), len(rows.space))
        residuals = rows.returns[:, some] - shape.returns(rows.sources, some)
        means = residuals.mean(axis=1)
        quality = SmoothEffect(rows.sources, means)
        variance = float((residuals - means[:, None]).var())
        return PlateauFit(shape, quality, variance)


@dataclass(frozen=True)
class PlateauShape:
    """Levels and reaches.

    Attributes:
        space: The context space.
        far: (N,) return on each target of a policy from far away.
        near: (N,) return on each target of a policy trained on it.
        reaches: (2 D,) distances in unit coordinates over which a policy stays good: on targets
            above its source in each dimension, then on those below.
    """

    space: ContextSpace
    far: NDArray[np.float64]
    near: NDArray[np.float64]
    reaches: NDArray[np.float64]

    @classmethod
    def fitted(
        cls,
        space: ContextSpace,
        sources: NDArray[np.float64],
        returns: NDArray[np.float64],
        far: NDArray[np.float64],
        near: NDArray[np.float64],
    ) -> PlateauShape:
        """The shape with the reaches that fit best to the (k, N) returns of (k, D) sources."""
        some = _spread_targets(len(returns), len(space))
        squares = _sided_squares(sources, space.unit_targets[some])
        reaches = _fitted_reaches(squares, (returns - far)[:, some], (near - far)[some])
        return cls(space, far, near, reaches)

    def returns(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> NDArray[np.float64]:
        """(m, n) returns of policies trained on (m, D) sources."""
        units = self.space.unit_targets[targets]
        exponent = np.zeros((len(sources), len(units)))
        inverse = np.where(self.reaches < REACHES[-1], 1.0 / self.reaches, 0.0)
        for d, (above, below) in enumerate(inverse.reshape(2, -1).T):
            if above or below:
                difference = np.subtract.outer(sources[:, d], units[:, d])
                difference *= np.where(difference < 0, above, below)
                difference *= difference
                exponent -= difference
        returns = np.exp(exponent, out=exponent)
        returns *= (self.near - self.far)[targets]
        returns += self.far[targets]
        return returns

    def explain(self) -> str:
        """What was found, in words."""
        parts = []
        for name, above, below in zip(self.space.names, *self.reaches.reshape(2, -1), strict=True):
            sides = {"above": above, "below": below}
            limits = [f"{r:.2g} {side}" for side, r in sides.items() if r < REACHES[-1]]
            if limits:
                parts.append(f"{name} {' and '.join(limits)}")
        if not parts:
            return "policies are as good far from their source as near it"
        return f"policies are good around their source, within (of the range) {', '.join(parts)}"


class PlateauFit(FittedStructure):
    """A shape, and what policies are better or worse than it says.

    Args:
        shape: Levels and reaches.
        quality: How much better policies are, on all targets alike.
        variance: Variance of a return around what the structure says.
    """

    def __init__(self, shape: PlateauShape, quality: SmoothEffect, variance: float) -> None:
        self.shape = shape
        self.quality = quality
        self.variance = variance

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        quality, row_variance = self.quality.predict(sources)
        mean = self.shape.returns(sources, targets)
        mean += quality[:, None]
        return RowPrediction(mean, row_variance, np.full(len(sources), self.variance))

    def explain(self) -> str:
        """What was found, in words."""
        return self.shape.explain()


def _sided_squares(
    sources: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(2 D, k, n) squared differences, of targets above the source, then of those below."""
    differences = np.moveaxis(sources[:, None] - targets, 2, 0)
    return np.concatenate([np.minimum(differences, 0.0), np.maximum(differences, 0.0)]) ** 2


def _far_level(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) the return that only the worst policies stay below, by interpolation; k >= 1."""
    ordered = np.sort(returns, axis=0)
    if len(returns) < 3:
        return np.asarray(ordered[0])
    place = FAR_SHARE * (len(returns) - 1)
    low = int(place)
    return np.asarray(ordered[low] + (place - low) * (ordered[low + 1] - ordered[low]))


def _spread_targets(rows: int, targets: int) -> NDArray[np.intp]:
    """Some targets, the same ones each time, so that there are not too many pairs."""
    count = min(targets, max(MOST_PAIRS // rows, 32))
    if count == targets:
        return np.arange(targets)
    return np.sort(np.random.default_rng(0).choice(targets, size=count, replace=False))


def _fitted_reaches(
    squares: NDArray[np.float64], returns: NDArray[np.float64], heights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Least squares over the grid of reaches, one side of a dimension after another.

    Args:
        squares: (2 D, k, n) squared differences of sources and targets, side by side.
        returns: (k, n) returns above the far level.
        heights: (n,) near less far level.

    Returns:
        (2 D,) the best reaches found.
    """
    best_error, best = np.inf, np.full(len(squares), len(REACHES) - 1)
    wanted, tall = returns.ravel(), np.broadcast_to(heights, returns.shape).ravel()
    # Where there is nothing to tell reaches apart, rounding must not choose.
    slack = ROUNDING * float(wanted @ wanted)
    # Closeness on each side for each reach, (2 D, reaches, pairs).
    factors = squares.reshape(len(squares), 1, -1) * (-1.0 / REACHES[:, None] ** 2)
    np.exp(factors, out=factors)
    for start in STARTS:
        chosen = np.full(len(squares), start)
        error = np.inf
        for _ in range(SWEEPS):
            for d in range(len(squares)):
                others = tall.copy()
                for other in range(len(squares)):
                    if other != d:
                        others *= factors[other, chosen[other]]
                shapes = factors[d] * others
                # The squared errors, up to the sum of the squares of what is wanted.
                errors = np.einsum("ij,ij->i", shapes, shapes) - 2.0 * (shapes @ wanted)
                if errors.min() < errors[chosen[d]] - slack:
                    chosen[d] = int(np.argmin(errors))
                error = float(errors[chosen[d]])
        if error < best_error - slack:
            best_error, best = error, chosen
    return np.asarray(REACHES[best])
