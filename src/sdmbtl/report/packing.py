"""Rows of returns as a short text: two bytes for each number."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: What stands for a return that is not known; the largest known one is one less.
MISSING = 65_535


@dataclass(frozen=True)
class PackedRows:
    """Returns between a lowest and a highest one, in 65,534 steps.

    Attributes:
        policies: Ids of the policies, one for each row.
        low: The return that 0 stands for.
        high: The return that 65,534 stands for.
        data: The numbers as base64 of unsigned 16-bit ones, little-endian, row by row.
    """

    policies: tuple[int, ...]
    low: float
    high: float
    data: str

    @classmethod
    def of(cls, returns: NDArray[np.float64], policies: tuple[int, ...]) -> PackedRows:
        """Pack (k, N) returns, NaN where not known."""
        known = returns[np.isfinite(returns)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        # In halves: the difference of extreme returns may be more than a number can hold.
        width = (high / 2 - low / 2) or 1.0
        shares = (returns / 2 - low / 2) / width
        steps = np.where(np.isfinite(shares), np.rint(shares * (MISSING - 1)), MISSING)
        packed = base64.b64encode(steps.astype("<u2").tobytes()).decode()
        return cls(policies, low, high, packed)

    def unpacked(self) -> NDArray[np.float64]:
        """(k, N) the returns, as a page reads them."""
        steps = np.frombuffer(base64.b64decode(self.data), dtype="<u2").astype(np.float64)
        shares = np.where(steps == MISSING, np.nan, steps / (MISSING - 1))
        returns = self.low * (1 - shares) + self.high * shares
        return returns.reshape(len(self.policies), len(returns) // max(len(self.policies), 1))
