"""Dissimilarity h: the dependence of returns on the difference of source and target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.transfer import estimate_slopes
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.rows import ObservedRows
from sdmbtl_lab.matrices.decomposition import SobolHoeffding

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
        curves: One for each dimension.
    """

    left: Floats
    right: Floats
    weights: Floats
    mountain_r2: float | None
    curves: tuple[GapCurve, ...]


def measure_gap(rows: ObservedRows, interaction: Floats) -> Gap:
    """Measure h on the rows of all sources and their (N, N) interaction."""
    space = rows.space
    slopes = estimate_slopes(rows, "within")
    coefficients, mountain_r2 = _fit_distance(space, interaction)
    distance = SeparableGap.distance(space, -coefficients).change(space.unit_targets)
    mountain = SobolHoeffding.of(distance).interaction
    curves = []
    for name, dimension, units in zip(
        space.names, space.dimensions.values(), space.unit_targets.T, strict=True
    ):
        # Signed differences source - target, cut into equal parts.
        parts = np.rint((units[:, None] - units) * dimension.steps).astype(np.intp).ravel()
        parts += dimension.steps
        count = 2 * dimension.steps + 1
        pairs = np.bincount(parts, minlength=count)
        seen = pairs > 0
        means = [
            np.bincount(parts, weights=values.ravel(), minlength=count)[seen] / pairs[seen]
            for values in (rows.relative, interaction, mountain)
        ]
        curves.append(GapCurve(name, np.linspace(-1, 1, count)[seen], *means))
    return Gap(slopes.left, slopes.right, -coefficients, mountain_r2, tuple(curves))


def _fit_distance(space: ContextSpace, interaction: Floats) -> tuple[Floats, float | None]:
    """Regress an (N, N) interaction on |x_d - y_d|, minus their row and column means.

    Returns:
        (D,) coefficients and R²; zeros and None if there is no interaction.
    """
    if is_flat(interaction):
        return np.zeros(space.n_dimensions), None
    features = [np.abs(units[:, None] - units) for units in space.unit_targets.T]
    products = np.array([[(a * b).sum() for b in features] for a in features])
    moments = np.array([(feature * interaction).sum() for feature in features])
    n, row_means = len(interaction), np.stack([f.mean(axis=1) for f in features], axis=1)
    mean = row_means.mean(axis=0)
    # The features are symmetric: column means are row means.
    centred = products - 2 * n * row_means.T @ row_means + n * n * np.outer(mean, mean)
    coefficients = np.linalg.pinv(centred, rcond=1e-10, hermitian=True) @ moments
    explained = float(coefficients @ moments)
    return coefficients, min(explained / float((interaction**2).sum()), 1.0)
