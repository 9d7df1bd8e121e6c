"""Small helpers for values between 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def is_flat(values: Floats) -> bool:
    """Whether values between 0 and 1 differ by rounding at most."""
    return bool(np.ptp(values) < 1e-12)


def ratio(part: float, whole: float) -> float:
    """A share; 0 of nothing."""
    return float(part / whole) if whole > 0 else 0.0
