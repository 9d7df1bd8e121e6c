"""Ranges of values, and context spaces made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sdmbtl.checks import MAX_COUNT, check_float, check_int
from sdmbtl.contexts.dimension import Levels
from sdmbtl.contexts.grid import check_grid
from sdmbtl.contexts.space import ContextSpace
from sdmbtl.errors import ContextError

#: Digits kept of the values between the ends: 0.6 rather than 0.6000000000000001.
DIGITS = 12


@dataclass(frozen=True)
class Range:
    """The values from `low` to `high` in equal steps, or in equal ratios.

    Args:
        low: The lowest value.
        high: The highest value.
        levels: Number of values, the ends included. A single one lies in the middle.
        scale: "linear" for equal steps, "log" for equal ratios.
        unit: What the values are measured in, such as "kg".

    Raises:
        ContextError: If the numbers make no range.

    Example:
        >>> Range(0.1, 10, levels=3, scale="log").values
        (0.1, 1.0, 10.0)
    """

    low: float
    high: float
    levels: int
    scale: Literal["linear", "log"] = "linear"
    unit: str | None = None

    def __post_init__(self) -> None:
        check_float("low", self.low, error=ContextError)
        check_float("high", self.high, error=ContextError)
        check_int("levels", self.levels, low=1, high=MAX_COUNT, error=ContextError)
        if self.scale not in ("linear", "log"):
            raise ContextError(
                f"The 'scale' of a range must be 'linear' or 'log'. Got {self.scale!r} instead."
            )
        if self.low > self.high or (self.low == self.high and self.levels > 1):
            raise ContextError(
                f"A range of {self.levels} levels needs low < high. "
                f"Got low={self.low:g}, high={self.high:g} instead."
            )
        if self.scale == "log" and self.low <= 0:
            raise ContextError(
                f"A logarithmic range needs low > 0. Got low={self.low:g} instead. "
                "Use scale='linear'."
            )

    @property
    def values(self) -> tuple[float, ...]:
        """The values, ascending; both ends exactly as given."""
        low, high = float(self.low), float(self.high)
        if self.levels == 1:
            middle = math.sqrt(low) * math.sqrt(high) if self.scale == "log" else (low + high) / 2
            return (middle if low < high else low,)
        spaced = np.geomspace if self.scale == "log" else np.linspace
        inner = [float(f"{v:.{DIGITS}g}") for v in spaced(low, high, self.levels)[1:-1]]
        return (low, *inner, high)

    @property
    def dimension(self) -> Levels:
        """The values as a dimension of a context space."""
        return Levels(self.values, scale=self.scale, unit=self.unit)


def space_from_ranges(ranges: Mapping[str, Range], levels: int | None = None) -> ContextSpace:
    """The grid of all combinations of the ranges' values.

    Args:
        ranges: For each dimension its range.
        levels: Number of values of every dimension, instead of the ranges' own.
    """
    if levels is not None:
        ranges = {n: replace(r, levels=levels) for n, r in ranges.items()}
    check_grid({name: r.levels for name, r in ranges.items()})
    return ContextSpace(**{name: r.dimension for name, r in ranges.items()})
