"""Plateau: a policy is good around its source and of little use far from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models.model import KnownRows, RowModel, Shape
from sdmbtl.selectors.models.smooth_effect import SmoothEffect
from sdmbtl.wording import whole_percent

#: Errors that differ by less, relative to the squares of the returns, count as equal.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PlateauModel(RowModel):
    """J(x, y) = far(y) + (near(y) - far(y)) · exp(-sum ((x - y) / reach)^2) + quality(x).

    far(y) is what a policy from far away gets, near(y) what training on y itself would give: at
    least the best return seen there. The sum goes over the dimensions, and over the sum and the
    difference of any two: a longer pole with a lighter mass may be the same to a policy. Each side
    of such a direction has one reach: often a policy of a hard context is good on all
    easier ones, but not the other way round.

    Attributes:
        reaches: Reaches that are tried in each direction, in unit coordinates, the shortest
            first; no limit is tried as well. The search starts from the last but one in the
            dimensions, and without a limit in other directions.
        sweeps: Number of times the search goes through all directions.
        far_share: Share of the policies that are worse on a target than a far policy.
        pairs: Pairs of policy and target that the reaches are fitted to; more change little.
    """

    reaches: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    sweeps: int = 2
    far_share: float = 0.2
    pairs: int = 2000

    name: ClassVar[str] = "plateau"

    def fit(self, rows: KnownRows) -> Plateau:
        """Estimate both levels and the reaches."""
        # One more policy that is equally bad everywhere: few rows fix little about single targets.
        bad = np.full((1, len(rows.space)), np.quantile(rows.returns, self.far_share))
        far = np.quantile(np.concatenate([rows.returns, bad]), self.far_share, axis=0)
        trained_there, _ = SmoothEffect(rows.sources, rows.own).predict(rows.space.unit_targets)
        near = np.maximum(rows.best, np.minimum(trained_there, rows.ceiling))
        some, count = np.arange(len(rows.space)), max(self.pairs // len(rows), 1)
        if count < len(some):  # the same ones each time
            some = np.sort(np.random.default_rng(0).choice(len(some), size=count, replace=False))
        directions = combine_directions(rows.space.n_units)
        ends = rows.space.unit_targets[some] @ directions.T
        away = (rows.sources @ directions.T).T[:, :, None] - ends.T[:, None]
        # Of targets ahead of the source in each direction, then of those behind.
        squares = np.concatenate([np.minimum(away, 0.0), np.maximum(away, 0.0)]) ** 2
        grid = np.array([*self.reaches, np.inf])
        is_dimension = np.tile(np.count_nonzero(directions, axis=1) == 1, 2)
        reaches = fit_reaches(
            squares,
            (rows.returns - far)[:, some],
            (near - far)[some],
            grid,
            np.where(is_dimension, len(grid) - 3, len(grid) - 1),
            self.sweeps,
        )
        return Plateau(rows.space, far, near, directions, reaches)


@dataclass(frozen=True)
class Plateau(Shape):
    """Levels and reaches.

    Attributes:
        space: The context space.
        far: (N,) return on each target of a policy from far away.
        near: (N,) return on each target of a policy trained on it.
        directions: (F, D) directions in the space, of length 1.
        reaches: (2 F,) distances in unit coordinates over which a policy stays good, infinite
            without a limit: on targets ahead of its source in each direction, then behind.
    """

    space: ContextSpace
    far: NDArray[np.float64]
    near: NDArray[np.float64]
    directions: NDArray[np.float64]
    reaches: NDArray[np.float64]

    def returns(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> NDArray[np.float64]:
        """(m, n) returns of policies trained on (m, D) sources."""
        units = self.space.unit_targets[targets]
        exponent = np.zeros((len(sources), len(units)))
        inverse = (1.0 / self.reaches).reshape(2, -1).T
        for direction, (ahead, behind) in zip(self.directions, inverse, strict=True):
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
        """Describe the shortest reaches in a few words."""
        reaches = self.reaches.reshape(2, -1).T.min(axis=1)
        # Along a combined direction each dimension changes by less than the distance.
        changes = reaches * np.abs(self.directions).max(axis=1)
        limited = [d for d in np.argsort(reaches, kind="stable") if changes[d] < 1][:3]
        if not limited:
            return "policies are hardly worse far from their source"
        limits = []
        for d in limited:
            names = [self.space.unit_names[i] for i in np.flatnonzero(self.directions[d])]
            limits.append(f"{whole_percent(changes[d])} of the range of {' and '.join(names)}")
        return f"policies are good within about {', '.join(limits)}"


@cache
def combine_directions(dimensions: int) -> NDArray[np.float64]:
    """(D², D) the dimensions, and the sum and the difference of any two."""
    axes = np.eye(dimensions)
    both = combinations(range(dimensions), 2)
    pairs = [axes[i] + sign * axes[j] for i, j in both for sign in (1, -1)]
    directions = np.concatenate([axes, np.array(pairs).reshape(-1, dimensions) / np.sqrt(2.0)])
    directions.flags.writeable = False
    return np.asarray(directions)


def fit_reaches(
    squares: NDArray[np.float64],
    returns: NDArray[np.float64],
    heights: NDArray[np.float64],
    grid: NDArray[np.float64],
    start: NDArray[np.intp],
    sweeps: int,
) -> NDArray[np.float64]:
    """Find (2 F,) reaches by least squares over a grid, one side of a direction after another.

    Args:
        squares: (2 F, k, n) squared differences of sources and targets, side by side.
        returns: (k, n) returns above the far level.
        heights: (n,) near minus far level.
        grid: (G,) reaches to choose from.
        start: (2 F,) numbers of the reaches to begin with.
        sweeps: Number of times the search goes through all sides.
    """
    wanted, tall = returns.ravel(), np.broadcast_to(heights, returns.shape).ravel()
    sides = squares.reshape(len(squares), -1)
    rates = -1.0 / grid**2
    # Where there is nothing to tell reaches apart, rounding must not choose.
    slack = ROUNDING * float(wanted @ wanted)
    shapes = np.empty((len(grid), len(wanted)))
    chosen = start.copy()
    exponent = rates[chosen] @ sides
    for _ in range(sweeps):
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
    return np.asarray(grid[chosen])
