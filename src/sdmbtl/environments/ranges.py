"""Context spaces from ranges, and from a small TOML file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sdmbtl.checks import (
    checked_return_range,
    did_you_mean,
    finite_number,
    short_text,
    whole_number,
)
from sdmbtl.contexts import ContextSpace, Levels
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

    def __post_init__(self) -> None:
        finite_number("low", self.low, error=ContextError)
        finite_number("high", self.high, error=ContextError)
        whole_number("levels", self.levels, low=1, error=ContextError)
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
        return Levels(self.values, scale=self.scale)


def space_from_ranges(ranges: Mapping[str, Range], levels: int | None = None) -> ContextSpace:
    """The grid of all combinations of the ranges' values.

    Args:
        ranges: For each dimension its range.
        levels: Number of values of every dimension, instead of the ranges' own.
    """
    if levels is not None:
        ranges = {n: Range(r.low, r.high, levels, r.scale) for n, r in ranges.items()}
    return ContextSpace(**{name: r.dimension for name, r in ranges.items()})


def load_space(path: str | Path) -> tuple[ContextSpace, dict[str, Any]]:
    """Read a context space from a TOML file.

    ```toml
    [dimensions.mass]
    values = [0.1, 1, 10]     # the values, with an optional scale ...
    [dimensions.length]
    low = 0.05                # ... or a range
    high = 5.0
    levels = 8
    scale = "log"
    [returns]                 # optional: lowest and highest return of an episode
    min = 0
    max = 500
    ```

    Returns:
        The space, and what else the file says: `{"return_range": (min, max)}` or `{}`.

    Raises:
        ContextError: If the file cannot be read or does not describe a space; the message names
            the file and the place.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ContextError(
            f"The context space {str(path)!r} cannot be read: {error.strerror}. Give the path of "
            "a TOML file with a table [dimensions.NAME] for each dimension."
        ) from None
    except UnicodeDecodeError:
        raise ContextError(f"{path}: this is no text in UTF-8, so no TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise ContextError(f"{path}: this is not valid TOML: {error}.") from None
    try:
        _check_keys("The file", data, ("dimensions", "returns"))
        return _dimensions(data.get("dimensions")), _returns(data)
    except ContextError as error:
        raise ContextError(f"{path}: {error}") from None


def _dimensions(tables: object) -> ContextSpace:
    if not isinstance(tables, Mapping) or not tables:
        raise ContextError(
            "A context space needs at least one table [dimensions.NAME], with 'values', or with "
            f"'low', 'high' and 'levels'. Got {short_text(tables)} instead."
        )
    dimensions: dict[str, object] = {}
    for name, table in tables.items():
        try:
            dimensions[name] = _dimension(table)
        except ContextError as error:
            raise ContextError(f"[dimensions.{name}]: {error}") from None
    return ContextSpace(**dimensions)


def _dimension(table: object) -> Levels:
    if not isinstance(table, Mapping):
        raise ContextError(
            "A dimension is a table with 'values', or with 'low', 'high' and 'levels'. "
            f"Got {short_text(table)} instead."
        )
    _check_keys("A dimension", table, ("values", "low", "high", "levels", "scale"))
    ranged = [key for key in ("low", "high", "levels") if key in table]
    if "values" in table:
        if ranged:
            raise ContextError(
                f"A dimension has either 'values' or a range. Got 'values' and {ranged[0]!r}. "
                "Drop one of them."
            )
        if not isinstance(table["values"], list):
            raise ContextError(
                f"'values' must be a list of numbers. Got {short_text(table['values'])} instead."
            )
        return Levels(table["values"], scale=table.get("scale", "steps"))
    missing = [key for key in ("low", "high", "levels") if key not in table]
    if missing:
        raise ContextError(
            f"A range needs 'low', 'high' and 'levels'. {missing[0]!r} is missing. "
            "Or give 'values'."
        )
    return Range(**table).dimension


def _returns(data: Mapping[str, Any]) -> dict[str, Any]:
    if "returns" not in data:
        return {}
    table = data["returns"]
    if not isinstance(table, Mapping):
        raise ContextError(
            f"[returns] is a table with 'min' and 'max'. Got {short_text(table)} instead."
        )
    _check_keys("[returns]", table, ("min", "max"))
    for key in ("min", "max"):
        if key not in table:
            raise ContextError(f"[returns] needs 'min' and 'max'. {key!r} is missing.")
    return {"return_range": checked_return_range((table["min"], table["max"]), error=ContextError)}


def _check_keys(what: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ContextError(
                f"{what} has {', '.join(map(repr, known))}; there is no {key!r}."
                f"{did_you_mean(key, known)}"
            )
