"""How much is read from a file that someone else may have written, and how to allow more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from typing import Self

from sdmbtl.checks import whole_number
from sdmbtl.errors import LimitError, LimitSettingError

#: How the names of environment variables begin that set limits.
PREFIX = "SDMBTL_MAX_"
#: From here on the digits of a number say nothing.
_MANY = 10**18


@dataclass(frozen=True)
class Limits:
    """The most of each kind that is read or made; checked before anything is allocated.

    Each can be set by an environment variable, `SDMBTL_MAX_TARGETS` for `targets`, which other
    processes see too, or in Python with `raised_limits`.

    Attributes:
        targets: Targets of a context space.
        counts: Anything that is given as a number and then made: episodes, contexts drawn, sources.
        array_bytes: Memory of the arrays that are read from one file, as numbers of 64 bits.
        text_bytes: A text of JSON, in a file or as a part of one; a record in a study's database.
        toml_bytes: A TOML file.
        weather_bytes: A CSV file of daily weather; a century takes about 2 MB.
        values: Values in a text of JSON.
        nesting: Lists and tables inside one another, in JSON and TOML.
        records: Records of one kind in the database of a study.
        entries: Files in an archive.
        observation_size: Entries of an observation or an action of a policy.
        critic_bytes: Weights of a network that the file of a policy leaves out, because only
            training needs them.
    """

    targets: int = 10_000_000
    counts: int = 10_000_000
    array_bytes: int = 4 * 2**30
    text_bytes: int = 256 * 2**20
    toml_bytes: int = 4 * 2**20
    weather_bytes: int = 8 * 2**20
    values: int = 20_000_000
    nesting: int = 100
    records: int = 1_000_000
    entries: int = 100_000
    observation_size: int = 10_000_000
    critic_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        for each in fields(self):
            whole_number(each.name, getattr(self, each.name), low=1, error=LimitSettingError)

    @classmethod
    def from_environment(cls) -> Self:
        """The limits that environment variables set, otherwise as usual.

        Raises:
            LimitSettingError: If one is not a whole number above 0.
        """
        return cls._read(tuple(os.environ.get(_variable(each.name)) for each in fields(cls)))

    @classmethod
    @lru_cache(maxsize=8)  # every record of a study is read under limits
    def _read(cls, texts: tuple[str | None, ...]) -> Self:
        """The limits that texts set, in the order of the fields; None for the usual one."""
        names = [each.name for each in fields(cls)]
        given = {name: text for name, text in zip(names, texts, strict=True) if text is not None}
        return cls(**{name: _whole(_variable(name), text) for name, text in given.items()})


_raised: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current_limits() -> Limits:
    """The limits that hold here."""
    return _raised.get() or Limits.from_environment()


@contextmanager
def raised_limits(**changes: int) -> Iterator[None]:
    """Use other limits in a block, in this process.

    Args:
        **changes: Limits by their names in `Limits`.

    Raises:
        LimitSettingError: If there is no such limit, or one is not a whole number above 0.

    Example:
        >>> with raised_limits(targets=10**8):
        ...     current_limits().targets
        100000000
    """
    known = [each.name for each in fields(Limits)]
    for name in changes:
        if name not in known:
            raise LimitSettingError(f"Unknown limit {name!r}; known: {', '.join(known)}.")
    token = _raised.set(replace(current_limits(), **changes))
    try:
        yield
    finally:
        _raised.reset(token)


def check_limit(name: str, value: int, what: str) -> None:
    """Refuse what is larger than a limit.

    Args:
        name: Name of the limit in `Limits`.
        value: How much it is.
        what: What it is of, as the beginning of a sentence that ends with the number.

    Raises:
        LimitError: With both numbers, and how to allow more.
    """
    allowed = getattr(current_limits(), name)
    if value <= allowed:
        return
    needed = str(value) if value < _MANY else "N"
    raise LimitError(
        f"{what} {shown_count(value)}; at most {allowed:,} are allowed. If so much is meant, allow "
        f"it: set the environment variable {_variable(name)}={needed}, or in Python "
        f"'with sdmbtl.limits.raised_limits({name}={needed}):'."
    )


def shown_count(value: int) -> str:
    """A number as text, unless its digits say nothing."""
    return f"{value:,}" if value < _MANY else "more than 10^18"


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Let a limit that is exceeded meanwhile name the file that exceeds it."""
    try:
        yield
    except LimitError as error:
        if str(source) in str(error):
            raise
        raise LimitError(f"{source}: {error}") from None


@cache
def _variable(name: str) -> str:
    """The environment variable that sets a limit."""
    return f"{PREFIX}{name.upper()}"


def _whole(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise LimitSettingError(
            f"The environment variable {key} must be a whole number >= 1. Got {text!r} instead."
        ) from None
