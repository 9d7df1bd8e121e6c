"""Expected improvement: what a new policy should add to the best returns so far.

One closed form for all selectors: GP-MBTL's gain by the upper bound is its limit for a deviation
of 0, `predictive` uses all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.contexts.weights import weighted_mean


def expected_improvement(
    above: NDArray[np.floating],
    deviation: NDArray[np.floating] | float = 0.0,
    beyond: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """E[(min(J, ceiling) - best)+] for a normal J, in closed form.

    A normal distribution puts gains above the highest return there is; counted for every covered
    target, they would outweigh the real ones. So what lies above the ceiling is subtracted.

    Args:
        above: (m, n) how far the expected returns lie above the best so far, E[J] - best.
        deviation: Standard deviation of J, one for all or (m, 1) or (m, n); where it is 0, the
            expected return is what comes.
        beyond: (m, n) how far the expected returns lie above the ceiling, which is nowhere below
            the best so far; None if there is no ceiling.

    Returns:
        (m, n) expected improvements.
    """
    gain = _mean_positive_part(above, deviation)
    if beyond is not None:
        gain -= _mean_positive_part(beyond, deviation)
    return gain


def mean_improvement(
    blocks: Iterable[tuple[slice, NDArray[np.float64]]],
    sources: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Mean over the targets of certain improvements, as `SeparableGap.advantages` yields them.

    Args:
        blocks: Which sources, and how far they lie above the best so far on (·, N) targets.
        sources: Number of all sources.
        weights: (N,) importance of the targets; None if all are equally important.

    Returns:
        (sources,) mean improvements.
    """
    means = np.empty(sources)
    for where, above in blocks:
        means[where] = weighted_mean(expected_improvement(above), weights)
    return means


def _mean_positive_part(
    mean: NDArray[np.floating], deviation: NDArray[np.floating] | float
) -> NDArray[np.floating]:
    """E[max(Z, 0)] for Z normal; max(mean, 0) where it has no deviation."""
    if isinstance(deviation, float) and deviation == 0.0:
        return np.asarray(np.maximum(mean, 0.0))
    certain = np.equal(deviation, 0.0)
    if np.any(certain):
        spread = _mean_positive_part(mean, np.where(certain, 1.0, deviation))
        return np.where(certain, np.maximum(mean, 0.0), spread)
    # deviation · (z Φ(z) + φ(z)), in two arrays: these are large, and a cache is small.
    z = mean / deviation
    gain = np.asarray(scipy.special.ndtr(z))
    gain *= z
    z *= z
    z *= -0.5
    np.exp(z, out=z)
    z *= 1.0 / np.sqrt(2.0 * np.pi)
    gain += z
    gain *= deviation
    return gain
