"""Small helpers for values between 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def is_flat(values: Floats) -> bool:
    """Whether values between 0 and 1 differ by rounding at most."""
    return bool(np.ptp(values) < 1e-12)
