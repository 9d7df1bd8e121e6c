"""f and g: what a source or a target does alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl_lab.matrices.anatomy.scales import Floats, is_flat

#: Parts into which a dimension without levels is cut.
PARTS = 8
#: Share of its swing by which the ends of a curve must differ for it to rise or fall.
CLEARLY = 0.8


@dataclass(frozen=True)
class MainEffect:
    """Mean of f or g over all contexts with the same value of one dimension.

    Attributes:
        name: Name of the dimension.
        values: (L,) its values, or the middles of its parts.
        means: (L,) means there.
        share: Share of the variance that these means explain.
        swing: Difference of the highest and the lowest mean.
        shape: In a word: "rises", "falls", "hill", "valley", "uneven" or "flat".
    """

    name: str
    values: Floats
    means: Floats
    share: float
    swing: float
    shape: str


@dataclass(frozen=True)
class Effect:
    """f or g: an effect of the source or of the target alone.

    Attributes:
        values: (N,) the effect of each context, mean 0.
        main_effects: One for each dimension.
        linear_r2: R² of a linear function of the unit coordinates; None if there is no effect.
        additive_r2: R² of a sum of free functions of one dimension each.
    """

    values: Floats
    main_effects: tuple[MainEffect, ...]
    linear_r2: float | None
    additive_r2: float | None


def measure_effect(space: ContextSpace, values: Floats) -> Effect:
    """Measure an effect with (N,) values, one for each context."""
    effects = []
    indicators = []
    for d, name in enumerate(space.names):
        centres, group = _groups(space, d)
        member = np.equal.outer(group, np.arange(len(centres))).astype(np.float64)  # (N, L)
        means = values @ member / member.sum(axis=0)
        share = float(means[group].var() / values.var()) if values.var() > 0 else 0.0
        effects.append(MainEffect(name, centres, means, share, float(np.ptp(means)), _shape(means)))
        indicators.append(member)
    return Effect(
        values,
        tuple(effects),
        linear_r2=_fit_r2(space.unit_targets, values),
        additive_r2=_fit_r2(np.hstack(indicators), values),
    )


def _shape(means: Floats) -> str:
    """What a curve looks like, in a word."""
    first, last, swing = float(means[0]), float(means[-1]), float(np.ptp(means))
    if is_flat(means):
        return "flat"
    if abs(last - first) >= CLEARLY * swing:
        return "rises" if last > first else "falls"
    if float(means.max()) - max(first, last) >= swing / 2:
        return "hill"
    if min(first, last) - float(means.min()) >= swing / 2:
        return "valley"
    return "uneven"


def _groups(space: ContextSpace, d: int) -> tuple[Floats, NDArray[np.intp]]:
    """The (L,) values of a dimension, or the middles of its parts, and (N,) which one each has."""
    dimension = list(space.dimensions.values())[d]
    units = space.unit_targets[:, d]
    if isinstance(dimension, Levels):
        nearest = np.abs(units[:, None] - dimension.knot_units).argmin(axis=1)
        centres = dimension.knots
    else:
        nearest = np.minimum((units * PARTS).astype(np.intp), PARTS - 1)
        centres = dimension.from_unit((np.arange(PARTS) + 0.5) / PARTS)
    occurring, group = np.unique(nearest, return_inverse=True)
    return centres[occurring], group


def _fit_r2(features: Floats, values: Floats) -> float | None:
    """R² of a linear regression with intercept of (N,) values on (N, K) features."""
    if is_flat(values):
        return None
    design = np.hstack([np.ones((len(values), 1)), features])
    solution = np.linalg.lstsq(design, values, rcond=None)[0]
    return max(float(1 - (values - design @ solution).var() / values.var()), 0.0)
