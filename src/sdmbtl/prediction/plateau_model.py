"""Plateau structure: a policy is good around its source and of little use far from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.prediction.completed_rows import CompletedRows
from sdmbtl.prediction.model import FittedModel, RowModel, RowPrediction
from sdmbtl.prediction.smooth_effect import SmoothEffect

#: Reaches that are tried in each direction, in unit coordinates; the last one means no limit.
REACHES = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 6.4])
NO_LIMIT = len(REACHES) - 1
#: The search for the reaches starts from this one.
START = 4
SWEEPS = 2
#: Errors that differ by less, relative to the squares of the returns, are alike.
ROUNDING = 1e-12
#: Share of the policies that are worse on a target than a far policy.
FAR_SHARE = 0.2
#: Pairs that the reaches are fitted to; more of them change little.
MOST_PAIRS = 2000
#: With more dimensions than these, only the dimensions are looked at: their pairs are too many.
MOST_COMBINED = 10
#: An explanation names so many directions, those with the shortest reaches.
NAMED = 4


class PlateauModel(RowModel):
    """J(x, y) = far(y) + (near(y) - far(y)) · exp(-sum ((x - y) / reach)^2) + quality(x).

    far(y) is what a policy from far away gets, near(y) what training on y itself would give: at
    least the best return seen there. The sum goes over the dimensions, and over the sum and the
    difference of any two: a longer pole with a lighter mass may be the same to a policy. Each side
    of such a direction has a reach of its own: often a policy of a hard context is good on all
    easier ones, but not the other way round.
    """

    name: ClassVar[str] = "plateau"

    def fit(self, rows: CompletedRows) -> FittedModel:
        """Estimate both levels, the reaches and the quality of policies."""
        far = _far_level(rows.returns)
        own = SmoothEffect(rows.sources, rows.own)
        at_home = own.predict(rows.space.unit_targets)[0]
        near = np.maximum(rows.best, np.minimum(at_home, rows.ceiling))
        directions = combined_directions(rows.space.n_dimensions)
        shape = PlateauShape.fitted(
            rows.space, rows.sources, rows.returns, far, near, directions, [START]
        )
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
        directions: (F, D) directions in the space, of length 1.
        reaches: (2 F,) distances in unit coordinates over which a policy stays good: on targets
            ahead of its source in each direction, then on those behind.
    """

    space: ContextSpace
    far: NDArray[np.float64]
    near: NDArray[np.float64]
    directions: NDArray[np.float64]
    reaches: NDArray[np.float64]

    @classmethod
    def fitted(
        cls,
        space: ContextSpace,
        sources: NDArray[np.float64],
        returns: NDArray[np.float64],
        far: NDArray[np.float64],
        near: NDArray[np.float64],
        directions: NDArray[np.float64],
        starts: Sequence[int],
    ) -> PlateauShape:
        """The shape with the reaches that fit best to the (k, N) returns of (k, D) sources.

        Searches start from each of `starts`, numbers of reaches, in the dimensions, and from no
        limit in the other directions.
        """
        some = _spread_targets(len(returns), len(space))
        squares = _sided_squares(sources @ directions.T, space.unit_targets[some] @ directions.T)
        is_dimension = np.tile(np.count_nonzero(directions, axis=1) == 1, 2)
        reaches = _fitted_reaches(
            squares,
            (returns - far)[:, some],
            (near - far)[some],
            [np.where(is_dimension, start, NO_LIMIT) for start in starts],
        )
        return cls(space, far, near, directions, reaches)

    def returns(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> NDArray[np.float64]:
        """(m, n) returns of policies trained on (m, D) sources."""
        units = self.space.unit_targets[targets]
        exponent = np.zeros((len(sources), len(units)))
        inverse = np.where(self.reaches < REACHES[-1], 1.0 / self.reaches, 0.0)
        for direction, (ahead, behind) in zip(
            self.directions, inverse.reshape(2, -1).T, strict=True
        ):
            if ahead or behind:
                difference = np.subtract.outer(sources @ direction, units @ direction)
                difference *= np.where(difference < 0, ahead, behind)
                difference *= difference
                exponent -= difference
        returns = np.exp(exponent, out=exponent)
        returns *= (self.near - self.far)[targets]
        returns += self.far[targets]
        return returns

    def explain(self) -> str:
        """What was found, in words."""
        reaches = self.reaches.reshape(2, -1).T
        limited = np.flatnonzero((reaches < REACHES[-1]).any(axis=1))
        if not len(limited):
            return "policies are as good far from their source as near it"
        shortest = limited[np.argsort(reaches[limited].min(axis=1), kind="stable")]
        parts = [self._limits(direction) for direction in shortest[:NAMED]]
        more = len(limited) - NAMED
        if more > 0:
            parts.append(f"and at least as wide in {more} more direction{'s' * (more > 1)}")
        return f"policies are good around their source, within (of the range) {', '.join(parts)}"

    def _limits(self, direction: int) -> str:
        """A direction with its reaches, such as "length - mass 0.4 above"."""
        name = _direction_name(self.directions[direction], self.space.names)
        ahead, behind = self.reaches.reshape(2, -1)[:, direction]
        sides = {"above": ahead, "below": behind}
        limits = [f"{r:.2g} {side}" for side, r in sides.items() if r < REACHES[-1]]
        return f"{name} {' and '.join(limits)}"


class PlateauFit(FittedModel):
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


@cache
def combined_directions(dimensions: int) -> NDArray[np.float64]:
    """(D², D) the dimensions, and the sum and the difference of any two; or (D, D) these alone."""
    axes = np.eye(dimensions)
    both = combinations(range(dimensions if dimensions <= MOST_COMBINED else 0), 2)
    pairs = [axes[i] + sign * axes[j] for i, j in both for sign in (1, -1)]
    directions = np.concatenate([axes, np.array(pairs).reshape(-1, dimensions) / np.sqrt(2.0)])
    directions.flags.writeable = False
    return np.asarray(directions)


def _direction_name(direction: NDArray[np.float64], names: tuple[str, ...]) -> str:
    """The dimensions it is made of, such as "length - mass"."""
    first, *others = np.flatnonzero(direction)
    return names[first] + "".join(f" {'+' if direction[d] > 0 else '-'} {names[d]}" for d in others)


def _sided_squares(
    sources: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(2 F, k, n) squared differences, of targets above the source, then of those below."""
    differences = sources.T[:, :, None] - targets.T[:, None]
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
    squares: NDArray[np.float64],
    returns: NDArray[np.float64],
    heights: NDArray[np.float64],
    starts: Sequence[NDArray[np.intp]],
) -> NDArray[np.float64]:
    """Least squares over the grid of reaches, one side of a direction after another.

    Args:
        squares: (2 F, k, n) squared differences of sources and targets, side by side.
        returns: (k, n) returns above the far level.
        heights: (n,) near less far level.
        starts: (2 F,) reaches to begin with, by number, once for each search.

    Returns:
        (2 F,) the best reaches found.
    """
    wanted, tall = returns.ravel(), np.broadcast_to(heights, returns.shape).ravel()
    sides = squares.reshape(len(squares), -1)
    rates = np.append(-1.0 / REACHES[:NO_LIMIT] ** 2, 0.0)
    # Where there is nothing to tell reaches apart, rounding must not choose.
    slack = ROUNDING * float(wanted @ wanted)
    shapes = np.empty((len(REACHES), len(wanted)))
    lowest, best = np.inf, starts[0]
    for start in starts:
        chosen = start.copy()
        exponent = rates[chosen] @ sides
        for _ in range(SWEEPS):
            for side, distances in enumerate(sides):
                exponent -= rates[chosen[side]] * distances
                np.multiply.outer(rates, distances, out=shapes)
                shapes += exponent
                np.exp(shapes, out=shapes)
                shapes *= tall
                # The squared errors, up to the sum of the squares of what is wanted.
                errors = np.einsum("ij,ij->i", shapes, shapes) - 2.0 * (shapes @ wanted)
                if errors.min() < errors[chosen[side]] - slack:
                    chosen[side] = int(np.argmin(errors))
                exponent += rates[chosen[side]] * distances
        if errors[chosen[side]] < lowest - slack:
            lowest, best = errors[chosen[side]], chosen
    return np.asarray(REACHES[best])
