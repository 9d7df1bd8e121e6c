"""Returns of any finite size: a scale in which their squares can be computed.

Squares of squares leave the range of floating-point numbers long before the returns do. Choices do
not depend on the unit of the returns, so extreme ones are divided by a power of two, which is
exact. All usual returns stay as they are, to the last bit.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Returns up to this power of two, and no smaller than its inverse, stay as they are.
USUAL_POWER = 100
#: What a sum of the largest numbers is divided by before it is taken.
_HEADROOM = 2.0**64


def scale_of(*returns: ArrayLike) -> float:
    """What returns are to be divided by; 1 for all of a usual size, otherwise a power of two.

    >>> scale_of([0.0, -500.0, float("nan")]), scale_of([1e155]) == 2.0**514
    (1.0, True)

    Args:
        *returns: Arrays of any shape, NaN where there is none.
    """
    arrays = [np.asarray(given, dtype=np.float64) for given in returns]
    # Both ends instead of absolute values, which would be a copy.
    highest = max((float(np.fmax.reduce(a, axis=None, initial=0.0)) for a in arrays), default=0.0)
    lowest = min((float(np.fmin.reduce(a, axis=None, initial=0.0)) for a in arrays), default=0.0)
    largest = max(highest, -lowest)
    if not 0.0 < largest < math.inf:
        return 1.0
    power = math.frexp(largest)[1] - 1
    return 1.0 if abs(power) <= USUAL_POWER else 2.0**power


def mean_of(values: NDArray[np.floating]) -> float:
    """The mean of those that are not NaN, also of the largest numbers; NaN if all are."""
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(known.mean())
    if math.isfinite(mean):
        return mean
    scaled = float((known / _HEADROOM).mean()) * _HEADROOM  # rounding may go beyond the largest
    return min(max(scaled, float(known.min())), float(known.max()))


def bounded(value: float) -> float:
    """A number that is too large as the largest there is, of the same sign; any other as it is.

    >>> bounded(2.5), bounded(-1e308 - 1e308) == -sys.float_info.max
    (2.5, True)
    """
    largest = sys.float_info.max
    return min(max(value, -largest), largest) if math.isinf(value) else value
