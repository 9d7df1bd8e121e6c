"""Turns what is written on a command line into values."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sdmbtl.checks import short_text
from sdmbtl.errors import SdmbtlError
from sdmbtl.foreign import parse_json, read_text
from sdmbtl.wording import shown_context

if TYPE_CHECKING:
    from sdmbtl.contexts import ContextSpace
    from sdmbtl.environments import EnvironmentFamily

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_INITS: tuple[Literal["auto", "scratch", "parent"], ...] = ("auto", "scratch", "parent")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+", re.ASCII)


class ArgumentError(SdmbtlError, ValueError):
    """An argument of a command is not usable."""


def seconds(text: str, option: str) -> float:
    """The seconds of "90", "90s", "30m", "2h" or "1h30m".

    Raises:
        ArgumentError: If this is not a time, or too long a one for a number.
    """
    written = text.strip().lower()
    written += "s" if re.fullmatch(r"\d+(\.\d+)?", written, re.ASCII) else ""
    found = math.nan
    if _DURATION.fullmatch(written):
        parts = re.findall(r"[\d.]+.", written)
        found = sum(float(part[:-1]) * _SECONDS[part[-1]] for part in parts)
    if not math.isfinite(found):
        raise ArgumentError(
            f"{option} is a time: a number with its unit, as 90s, 30m, 2h or 1h30m. "
            f"Got {short_text(text)} instead."
        )
    return found


def settings(given: Iterable[str], option: str) -> dict[str, Any]:
    """Settings from KEY=VALUE texts; a value is JSON, or a text if it is none.

    Raises:
        ArgumentError: If a text has no key.
    """
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key.strip() or not equals:
            raise ArgumentError(f"{option} takes KEY=VALUE. Got {text!r} instead.")
        if key.strip() in found:
            raise ArgumentError(
                f"{option} has {key.strip()!r} twice. Give it once: {text!r}, or the other."
            )
        found[key.strip()] = _value(value.strip())
    return found


def nested_settings(given: Iterable[str], option: str) -> dict[str, Any]:
    """Settings whose keys may have dots: a.b=1 is {"a": {"b": 1}}.

    Raises:
        ArgumentError: If a key is used both for a value and for what is inside it.
    """
    found: dict[str, Any] = {}
    for key, value in settings(given, option).items():
        *path, last = key.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise ArgumentError(f"{option} {key} is inside {part!r}, which has a value.")
        if isinstance(inner.get(last), dict) and isinstance(value, dict):
            inner[last].update(value)
        else:
            inner[last] = value
    return found


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, separated by commas; none of an empty text.

    Raises:
        ArgumentError: If a part is none.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,17}", part) for part in parts):
        raise ArgumentError(
            f"{option} takes whole numbers >= 1 separated by commas, as 6,12,50. "
            f"Got {text!r} instead."
        )
    return tuple(map(int, parts))


def family(
    env: str,
    space: str | None,
    levels: int | None,
    option: Iterable[str] | None,
    physics: str | None,
) -> EnvironmentFamily:
    """The environments, from ENV, --space, --levels, --option and --physics.

    Raises:
        ArgumentError: If a function of one's own has no space, or a file is to have other levels.
    """
    from sdmbtl.environments import make_family

    options = settings(option or (), "--option")
    if physics is not None:
        options["physics"] = physics
    if ":" in env and space is None and not env.startswith("gym:"):
        raise ArgumentError(
            f"The environments of {env!r} need a context space: --space FILE.toml, with a table "
            "[dimensions.NAME] for each dimension."
        )
    if levels is not None:
        if space is not None and (space.endswith(".toml") or ":" in env):
            raise ArgumentError(
                f"--levels is for the spaces of a family; the file {space!r} has its own levels."
            )
        return make_family(env, space=make_family(env, **options).space(space, levels), **options)
    is_file = space is not None and Path(space).is_file()
    return make_family(env, space=Path(str(space)) if is_file else space, **options)


def directory_name(env: str) -> str:
    """The directory of a study or a matrix, if none is given."""
    return re.sub(r"[:/]", "-", env.lower())


def trainer_options(
    set_: Iterable[str] | None, steps: int | None, *, observe_context: bool = False
) -> dict[str, Any]:
    """Settings of a trainer, from --set, --steps and --observe-context."""
    found = nested_settings(set_ or (), "--set")
    if observe_context:
        found["observe_context"] = True
    if steps is None:
        return found
    if found.get("total_timesteps", steps) != steps:
        raise ArgumentError(
            f"--steps {steps} and --set total_timesteps={found['total_timesteps']} are the same "
            "setting. Give one of them."
        )
    return {**found, "total_timesteps": steps}


def width(text: str) -> float | Literal["auto"]:
    """The width of regions: "auto", or a share, 0 or more and below 1.

    Raises:
        ArgumentError: If this is neither.
    """
    if text == "auto":
        return "auto"
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise ArgumentError(
            "--width is auto, or a share of each dimension's range: 0 (points) or more, below 1 "
            f"(the whole space, which the generalist is for). Got {text!r} instead."
        )
    return share


def init(text: str) -> Literal["auto", "scratch", "parent"]:
    """What policies start from: "auto", "scratch" or "parent".

    Raises:
        ArgumentError: If this is none of them.
    """
    for known in _INITS:
        if text == known:
            return known
    raise ArgumentError(f"--init is auto, scratch or parent. Got {text!r} instead.")


def context(given: Iterable[str]) -> dict[str, Any]:
    """A context from JSON objects or KEY=VALUE texts, one or several in each argument.

    Raises:
        ArgumentError: If an argument is neither.
    """
    found: dict[str, Any] = {}
    for text in given:
        is_json = text.lstrip().startswith("{")
        parts = re.split(r"[\s,]+", text.strip())
        more = _parsed(text, "The JSON of --context") if is_json else settings(parts, "--context")
        twice = sorted(found.keys() & more.keys())
        if twice:
            raise ArgumentError(
                f"--context is one context; it has {twice[0]!r} twice. Ask for one after another."
            )
        found |= more
    return found


def as_shown(given: dict[str, Any], space: ContextSpace) -> dict[str, Any]:
    """The target whose short text the context has, as it is copied from a table; or the context."""
    if set(given) != set(space.names):
        return given  # the space says what is wrong
    target = space.target(space.nearest(given))
    ordered = {name: given[name] for name in space.names}
    return target if shown_context(ordered) == shown_context(target) else given


def json_documents(name: str) -> list[Any]:
    """The JSON documents of a file, one after the other; "-" is the standard input.

    Raises:
        ArgumentError: If it cannot be read, or there is none.
    """
    if name == "-":
        try:
            return _documents(_standard_input(), "The standard input")
        except UnicodeDecodeError:
            raise ArgumentError(
                "The standard input is not text in UTF-8, so not JSON. Give a row as JSON."
            ) from None
    try:
        text = read_text(name)
    except UnicodeDecodeError:
        raise ArgumentError(
            f"{name!r} is not text in UTF-8, so not a JSON file. Give a row as JSON."
        ) from None
    except OSError as error:
        raise ArgumentError(
            f"The file {name!r} cannot be read: {error.strerror}. Give a JSON file, or - for the "
            "standard input."
        ) from None
    return _documents(text, f"The file {name!r}")


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise ArgumentError("The standard input is not text in UTF-8, so not JSON.") from None


def _documents(text: str, what: str) -> list[Any]:
    """What stands in a text, be it one document or one in each line."""
    lines = text.strip().splitlines()
    try:
        return [parse_json(line, what) for line in lines if line.strip()] or [_parsed(text, what)]
    except ValueError:
        return [_parsed(text, what)]  # one document in several lines, or none


def _parsed(text: str, what: str) -> Any:
    try:
        return parse_json(text, what)
    except ValueError as error:
        raise ArgumentError(
            f"{what} is not valid JSON ({error}). Got {short_text(text)}."
        ) from None


def _value(text: str) -> Any:
    try:
        return parse_json(text, "A value")
    except ValueError:
        return text
