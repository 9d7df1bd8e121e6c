"""Expected improvement: what a new policy should add to the best returns so far.

One closed form for all selectors: GP-MBTL's gain by the upper bound is its limit for a deviation
of 0, `predictive` uses all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    """Mean over the targets of certain improvements, as `SeparableGap.advantages` yields them."""
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


#: The gaining targets are high or low in a dimension if their mean differs from that of all targets
#: by this many standard deviations. A gain that grows evenly from one end to the other has 0.58.
SHIFTED = 0.5


def where_gained(
    gains: NDArray[np.floating], targets: NDArray[np.float64], names: Sequence[str]
) -> str | None:
    """The one or two dimensions in which the gaining targets differ most from all targets.

    Args:
        gains: (N,) improvement on each target, none of them negative.
        targets: (N, D) the targets in unit coordinates.
        names: The D coordinates; "ground=ice" is one of a category.

    Returns:
        Such as "high length and low mass"; None if the gain is spread evenly, or there is none.

    >>> line = np.linspace(0.0, 1.0, 5)
    >>> targets = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    >>> where_gained(targets[:, 0] * (targets[:, 1] < 0.3), targets, ["length", "mass"])
    'high length and low mass'
    >>> where_gained(np.ones(25), targets, ["length", "mass"])
    """
    total = float(gains.sum())
    if not total > 0:
        return None
    varied = np.flatnonzero(np.ptp(targets, axis=0) > 0)
    standard = (targets[:, varied] - targets[:, varied].mean(axis=0)) / targets[:, varied].std(
        axis=0
    )
    shifts = (np.asarray(gains, dtype=np.float64) / total) @ standard
    most = np.argsort(-np.abs(shifts), kind="stable")[:2]
    named = sorted(int(d) for d in most if abs(shifts[d]) >= SHIFTED)
    return " and ".join(_level(names[varied[d]], bool(shifts[d] > 0)) for d in named) or None


def _level(name: str, high: bool) -> str:
    if "=" in name:
        return name if high else name.replace("=", " other than ")
    return f"{'high' if high else 'low'} {name}"
