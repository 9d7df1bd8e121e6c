"""Dissimilarity h: the dependence of returns on the difference of source and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.transfer import estimate_slopes
from sdmbtl.transfer.decomposition import SobolHoeffding
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.rows import ObservedRows

Floats = NDArray[np.float64]


def is_flat(values: Floats) -> bool:
    """Return whether values between 0 and 1 differ by rounding at most."""
    return bool(np.ptp(values) < 1e-12)


@dataclass(frozen=True)
class GapCurve:
    """Change of returns with the signed difference source - target in one dimension.

    Attributes:
        name: Name of the dimension.
        differences: (B,) signed differences in unit coordinates, -1..1.
        relative: (B,) mean of J minus its target's mean: f and h together.
        interaction: (B,) mean of h alone, in the orthogonal decomposition.
        mountain: (B,) the same if h were the weighted distance that fits it best.
    """

    name: str
    differences: Floats
    relative: Floats
    interaction: Floats
    mountain: Floats


@dataclass(frozen=True)
class Gap:
    """Dissimilarity h as a function of the difference of source and target.

    The slopes have the target's mean removed, so f tilts them. The R² are those of the orthogonal
    interaction, which f cannot touch; there, a linear gap is sum_d -weight_d |x_d - y_d|.

    Attributes:
        left: (D,) change of return over the whole dimension, for sources below the target.
        right: (D,) the same for sources above the target.
        weights: (D,) weights of the distance; above 0 where returns fall with it.
        mountain_r2: R² of the weighted L1 distance; None if there is no interaction.
        curves_r2: R² of a sum of free functions of x_d - y_d.
        positions_r2: R² of a sum of free functions of (x_d, y_d): difference and place. None for
            a list of targets, too.
        curves: One for each dimension.
    """

    left: Floats
    right: Floats
    weights: Floats
    mountain_r2: float | None
    curves_r2: float | None
    positions_r2: float | None
    curves: tuple[GapCurve, ...]


def measure_gap(rows: ObservedRows, interaction: Floats) -> Gap:
    """Measure h on the rows of all sources and their (N, N) interaction."""
    space = rows.space
    slopes = estimate_slopes(rows, "within")
    bins = [
        _difference_bins(units, 2 * dimension.steps + 1)
        for units, dimension in zip(space.unit_targets.T, space.dimensions.values(), strict=True)
    ]
    coefficients, mountain_r2 = _fit(interaction, *_distance_sums(space, interaction))
    _, curves_r2 = _fit(interaction, *_indicator_sums(bins, interaction))
    distance = SeparableGap.distance(space, -coefficients).change(space.unit_targets)
    mountain = SobolHoeffding.of(distance).interaction
    return Gap(
        left=slopes.left,
        right=slopes.right,
        weights=-coefficients,
        mountain_r2=mountain_r2,
        curves_r2=curves_r2,
        positions_r2=_positions_r2(space, interaction),
        curves=tuple(
            GapCurve(name, each.middles, *map(each.means, (rows.relative, interaction, mountain)))
            for name, each in zip(space.names, bins, strict=True)
        ),
    )


@dataclass(frozen=True)
class _Bins:
    """The signed differences source - target in one dimension, cut into equal parts.

    Attributes:
        numbers: (N, N) the part of each pair.
        count: Number of parts.
    """

    numbers: NDArray[np.intp]
    count: int

    @property
    def pairs(self) -> NDArray[np.intp]:
        """(B,) number of pairs in each part."""
        return np.bincount(self.numbers.ravel(), minlength=self.count)

    @property
    def middles(self) -> Floats:
        """Middles of the parts that have pairs, in unit coordinates."""
        return np.linspace(-1, 1, self.count)[self.pairs > 0]

    def sums(self, values: Floats) -> Floats:
        """(B,) sums of (N, N) values over the pairs of each part."""
        sums = np.bincount(self.numbers.ravel(), weights=values.ravel(), minlength=self.count)
        return np.asarray(sums, dtype=np.float64)

    def means(self, values: Floats) -> Floats:
        """Means over the parts that have pairs."""
        seen = self.pairs > 0
        return np.asarray(self.sums(values)[seen] / self.pairs[seen])

    def joint(self, other: _Bins) -> Floats:
        """(B, B') number of pairs in each combination of parts."""
        return _counts(self.numbers * other.count + other.numbers, self.count, other.count)

    def by_row(self) -> Floats:
        """(N, B) share of each part in every row."""
        n = len(self.numbers)
        return _counts(np.arange(n)[:, None] * self.count + self.numbers, n, self.count) / n


def _difference_bins(units: Floats, count: int) -> _Bins:
    half = count // 2
    numbers = np.rint((units[:, None] - units) * half).astype(np.intp) + half
    return _Bins(numbers, count)


def _counts(numbers: NDArray[np.intp], rows: int, columns: int) -> Floats:
    """Return (rows, columns) counts of each number."""
    found = np.bincount(numbers.ravel(), minlength=rows * columns)
    return found.reshape(rows, columns).astype(np.float64)


def _distance_sums(space: ContextSpace, interaction: Floats) -> tuple[Floats, ...]:
    """The features are |x_d - y_d|."""
    features = [np.abs(units[:, None] - units) for units in space.unit_targets.T]
    means = np.stack([feature.mean(axis=1) for feature in features], axis=1)
    return (
        np.array([[(a * b).sum() for b in features] for a in features]),
        np.array([(feature * interaction).sum() for feature in features]),
        means,
        means,
    )


def _indicator_sums(bins: Sequence[_Bins], interaction: Floats) -> tuple[Floats, ...]:
    """The features say in which part of each dimension the difference lies."""
    rows = [each.by_row() for each in bins]
    return (
        np.block([[a.joint(b) for b in bins] for a in bins]),
        np.concatenate([each.sums(interaction) for each in bins]),
        np.hstack(rows),
        # A difference changes its sign when source and target are exchanged.
        np.hstack([each[:, ::-1] for each in rows]),
    )


def _fit(
    interaction: Floats, products: Floats, moments: Floats, row_means: Floats, column_means: Floats
) -> tuple[Floats, float | None]:
    """Regress an interaction on K features of the pairs, minus their row and column means.

    Args:
        interaction: (N, N) the interaction.
        products: (K, K) sums over all pairs of products of two features.
        moments: (K,) sums of their products with the interaction.
        row_means: (N, K) means over each row.
        column_means: (N, K) means over each column.

    Returns:
        (K,) coefficients and R²; zeros and None if there is no interaction.
    """
    if is_flat(interaction):
        return np.zeros(len(moments)), None
    n, mean = len(interaction), row_means.mean(axis=0)
    centred = (
        products
        - n * row_means.T @ row_means
        - n * column_means.T @ column_means
        + n * n * np.outer(mean, mean)
    )
    coefficients = np.linalg.pinv(centred, rcond=1e-10, hermitian=True) @ moments
    explained = float(coefficients @ moments)
    return coefficients, min(explained / float((interaction**2).sum()), 1.0)


def _positions_r2(space: ContextSpace, interaction: Floats) -> float | None:
    """On a grid, tables of (x_d, y_d) are orthogonal: their R² add up."""
    if not space.is_grid or is_flat(interaction):
        return None
    dimensions = space.n_dimensions
    blocks = interaction.reshape(*space.shape, *space.shape)
    explained = 0.0
    for d in range(dimensions):
        others = tuple(a for a in range(2 * dimensions) if a % dimensions != d)
        explained += float((blocks.mean(axis=others) ** 2).mean())
    return explained / float((interaction**2).mean())
