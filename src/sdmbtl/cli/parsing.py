"""Texts of the command line and of JSON input as values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sdmbtl.checks import short_text
from sdmbtl.cli.output import ArgumentError, note
from sdmbtl.errors import SdmbtlError
from sdmbtl.foreign import parse_json
from sdmbtl.wording import shown_context

if TYPE_CHECKING:
    from sdmbtl.portfolio import Portfolio

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_seconds(text: str, option: str) -> float:
    """Return the seconds of "90", "90s", "30m", "2h" or "1h30m"."""
    written = text.strip().lower()
    written += "s" if re.fullmatch(r"\d+(\.\d+)?", written, re.ASCII) else ""
    found = math.nan
    if re.fullmatch(r"(?:\d+(?:\.\d+)?[smhd])+", written, re.ASCII):
        parts = re.findall(r"[\d.]+.", written)
        found = sum(float(part[:-1]) * _SECONDS[part[-1]] for part in parts)
    if not math.isfinite(found):
        raise ArgumentError(
            f"{option} is a time: a number with its unit, such as 90s, 30m, 2h or 1h30m. "
            f"Got {short_text(text)} instead."
        )
    return found


def parse_settings(given: Iterable[str] | None, option: str) -> dict[str, Any]:
    """Return settings from KEY=VALUE texts; a value is JSON, or a text if it is not."""
    found: dict[str, Any] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        key = key.strip()
        if not key or not equals:
            raise ArgumentError(f"{option} takes KEY=VALUE. Got {text!r} instead.")
        if key in found:
            raise ArgumentError(f"{option} has {key!r} twice. Give it once.")
        try:
            found[key] = parse_json(value.strip(), "A value")
        except ValueError:
            found[key] = value.strip()
    return found


def parse_context(given: Iterable[str]) -> dict[str, Any]:
    """Return a context from JSON objects or KEY=VALUE texts, one or several in each argument."""
    found: dict[str, Any] = {}
    for text in given:
        if text.lstrip().startswith("{"):
            more = parse_text(text, "The JSON of --context")
        else:
            more = parse_settings(re.split(r"[\s,]+", text.strip()), "--context")
        twice = sorted(found.keys() & more.keys())
        if twice:
            raise ArgumentError(f"--context has {twice[0]!r} twice. Give one context at a time.")
        found |= more
    return found


def complete_context(given: Iterable[str], found: Portfolio, *, trust: bool) -> dict[str, Any]:
    """Return the context of --context; a dimension that is left out has its usual value.

    Where that of the environment is not known, or is outside of the space, it is the middle of the
    space. A note states it.
    """
    parsed, space = parse_context(given), found.space
    usual, where = space.middle(), "in the middle of the space"
    left_out = usual.keys() - parsed.keys()
    if left_out and found.family is not None:
        with suppress(SdmbtlError):
            defaults = found.make_family("--trust.", trust=trust).defaults
            own = {name: defaults[name] for name in usual if name in left_out}
            if {**own, **parsed} in space:
                usual, where = {**usual, **own}, "at the usual value"
    if parsed and left_out and parsed.keys() <= usual.keys():
        shown = {name: value for name, value in usual.items() if name in left_out}
        note(f"Not given, so {where}: {shown_context(shown)}")
    return {**usual, **parsed}


def parse_text(text: str, what: str) -> Any:
    """Return the value of a JSON text."""
    try:
        return parse_json(text, what)
    except ValueError as error:
        raise ArgumentError(
            f"{what} is not valid JSON ({error}). Got {short_text(text)}."
        ) from None
