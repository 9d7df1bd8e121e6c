"""Expected improvement of the mean of the maximum, bounded by the largest return there is."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

#: A standard deviation is never taken to be smaller than this share of the range of returns.
LEAST_SPREAD = 1e-4


def bounded_improvement(
    mean: NDArray[np.floating],
    deviation: NDArray[np.floating],
    best: NDArray[np.float64],
    ceiling: float | NDArray[np.floating],
) -> NDArray[np.floating]:
    """E[(min(J, ceiling) - best)+] for a normal J, in closed form.

    A normal distribution puts gains above the highest return there is; counted for every covered
    target, they would outweigh the real ones. So what lies above the ceiling is subtracted:
    EI(best) - EI(ceiling).

    Args:
        mean: (m, n) expected returns.
        deviation: (m, 1) or (m, n) standard deviations, above 0.
        best: (n,) best return so far on each target.
        ceiling: The highest return, for all or as (m, n).

    Returns:
        (m, n) expected improvements.
    """
    highest = np.maximum(ceiling, best)  # expected returns of pending policies may lie above it
    return _improvement(mean - best, deviation) - _improvement(mean - highest, deviation)


def _improvement(
    above: NDArray[np.floating], deviation: NDArray[np.floating]
) -> NDArray[np.floating]:
    """E[max(Z, 0)] for Z normal with mean `above`."""
    z = above / deviation
    density = z * z
    density *= -0.5
    np.exp(density, out=density)
    density *= 1.0 / np.sqrt(2.0 * np.pi)
    z *= scipy.special.ndtr(z)
    z += density
    z *= deviation
    return np.asarray(z)
