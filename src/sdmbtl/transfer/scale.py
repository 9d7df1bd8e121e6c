"""Returns of any finite size: a scale in which their squares can be computed."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike


def scale_of(*returns: ArrayLike) -> float:
    """Return what returns are to be divided by; 1 for all of a usual size."""
    arrays = [np.asarray(given, dtype=np.float64) for given in returns]
    largest = max(float(np.fmax.reduce(np.abs(a), axis=None, initial=0.0)) for a in arrays)
    if not 0.0 < largest < math.inf:
        return 1.0
    power = math.frexp(largest)[1] - 1
    return 1.0 if abs(power) <= 100 else 2.0**power


def bounded(value: float) -> float:
    """Return a number that is too large as the largest there is."""
    largest = sys.float_info.max
    return min(max(value, -largest), largest) if math.isinf(value) else value
