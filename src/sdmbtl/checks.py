"""Checks of arguments, and how their values are shown, the same everywhere.

A check raises the type of error that it is given, and returns the value as it should be.
"""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Collection, Iterable

from sdmbtl.errors import SdmbtlError

#: The highest number of anything that is given as a number and then made: targets, episodes.
MAX_COUNT = 10_000_000


def check_int(
    name: str,
    value: object,
    *,
    low: int,
    high: int | None = None,
    error: type[SdmbtlError] = SdmbtlError,
) -> int:
    """Check a whole number from `low` to `high`, of any integer type."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if number < low or isinstance(value, bool):
        raise error(f"{name!r} must be a whole number >= {low}. Got {short_text(value)} instead.")
    if high is not None and number > high:
        raise error(f"{name!r} must be at most {high:,}. Got {short_text(value)} instead.")
    return number


def check_float(
    name: str, value: object, *, low: float = -math.inf, error: type[SdmbtlError] = SdmbtlError
) -> float:
    """Check a finite number >= low."""
    try:
        is_none = isinstance(value, str | bytes | bool)  # which float() would make one
        number = math.nan if is_none else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < low:
        bound = "" if low == -math.inf else f" >= {low:g}"
        raise error(f"{name!r} must be a finite number{bound}. Got {short_text(value)} instead.")
    return number


def check_bool(name: str, value: object, *, error: type[SdmbtlError] = SdmbtlError) -> bool:
    """Check a boolean; other truthy values are refused."""
    if not isinstance(value, bool):
        raise error(f"{name!r} must be true or false. Got {value!r} instead.")
    return value


def check_return_range(
    given: object, *, error: type[SdmbtlError] = SdmbtlError
) -> tuple[float, float]:
    """Check the lowest and the highest return of an episode."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise error(
            "The range of returns is a pair, the lowest and the highest. "
            f"Got {short_text(given)} instead."
        )
    low = check_float("lowest return", given[0], error=error)
    high = check_float("highest return", given[1], error=error)
    if low >= high:
        raise error(
            f"The lowest return must be below the highest. Got {low:g} and {high:g} instead."
        )
    if math.isinf(high - low):
        raise error(
            f"The range of returns must have a finite width. Got {low:g} to {high:g} instead."
        )
    return low, high


def short_text(value: object, limit: int = 80) -> str:
    """Return a value as text for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def known_options(
    owner: str,
    options: Iterable[str],
    known: Collection[str],
    *,
    error: type[SdmbtlError] = SdmbtlError,
) -> None:
    """Refuse options that their owner does not have."""
    for option in options:
        known_name("option", option, known, has=f"{owner!r} has", error=error)


def known_name(
    kind: str,
    name: object,
    known: Collection[str],
    *,
    has: str = "known:",
    error: type[SdmbtlError] = SdmbtlError,
) -> None:
    """Refuse a name that is none of the known ones."""
    if name not in known:
        names = ", ".join(dict.fromkeys(known)) or f"no {kind}s"
        raise error(f"Unknown {kind} {name!r}; {has} {names}.{did_you_mean(name, known)}")


def did_you_mean(given: object, known: Collection[str]) -> str:
    """Return a hint for the end of a message, or "" if no known name is close."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(given).lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""
