"""JSON data: from values of any kind, back to what they describe, and where two differ."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from sdmbtl.checks import known_name, known_options, short_text
from sdmbtl.errors import SdmbtlError

_ABSENT = object()
Made = TypeVar("Made")


def as_json(value: Any, digits: int | None = None) -> Any:
    """Dataclasses, mappings, lists, arrays and numbers as JSON data.

    What has a `to_dict()` says itself what it is. A number that is not finite becomes None, for
    JSON has no NaN.

    Args:
        value: What to convert.
        digits: Digits behind the point that are kept of floats; all if left out.
    """
    if hasattr(value, "to_dict"):
        return as_json(value.to_dict(), digits)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name), digits) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(inner, digits) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner, digits) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist(), digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else round(value, digits)
    return value


def made_from_json(
    kind: str,
    given: object,
    makers: Mapping[str, Callable[..., Made]],
    error: type[SdmbtlError] = SdmbtlError,
) -> Made:
    """Make something from its name, or from its name and settings.

    Args:
        kind: What is made, in a word.
        given: The name, or `{"name": name, **settings}`.
        makers: What makes each from its settings, by name.
        error: Type of the error.

    Raises:
        SdmbtlError: Of the type `error`, if the name or a setting is unknown.

    >>> made_from_json("number", {"name": "complex", "real": 1, "imag": 2}, {"complex": complex})
    (1+2j)
    """
    data = {"name": given} if isinstance(given, str) else given
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise error(
            f"A {kind} is given by its name, or by name and settings as "
            f'{{"name": "{next(iter(makers))}", ...}}. Got {short_text(given)} instead.'
        )
    name, settings = data["name"], {key: data[key] for key in data if key != "name"}
    known_name(kind, name, makers, error=error)
    known_options(name, settings, inspect.signature(makers[name]).parameters, error=error)
    return makers[name](**settings)


def from_json(kind: Any, data: Any) -> Any:
    """The value that `as_json` made JSON data of.

    Args:
        kind: Its type: a dataclass, a named tuple, tuple[X, ...], Mapping[K, V], a union of one of
            them with None, or what JSON has itself.
        data: The JSON data.

    Raises:
        TypeError: If a field of a dataclass is missing or unknown, or the data are of another kind.
        ValueError: If a key is not a number where it should be.
        OverflowError: If a number is infinite where it should be a whole one.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if data is not None and origin in (Union, UnionType):
        return from_json(next(one for one in inner if one is not type(None)), data)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: from_json(hints.get(name), value) for name, value in data.items()})
    if isinstance(kind, type) and issubclass(kind, tuple):
        return kind(*data)  # a named one
    if origin is tuple:
        return tuple(from_json(inner[0], value) for value in data)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {from_json(inner[0], key): from_json(inner[1], v) for key, v in data.items()}
    if kind is int:
        return int(data)  # the keys of a mapping are texts
    # A number that was not finite has become None.
    allowed = {float: int | float | None, str: str, bool: bool}.get(kind, object)
    if not isinstance(data, allowed):
        raise TypeError(f"{short_text(data)} is not {kind.__name__}")
    return data


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def differences(recorded: object, given: object, path: str = "") -> list[str]:
    """Where two pieces of JSON data differ, in words, one line each.

    >>> differences({"seed": 0, "space": {"n": 3}}, {"seed": 1, "space": {"n": 3}})
    ['seed: recorded 0, now 1']
    """
    if recorded == given:
        return []
    if isinstance(recorded, Mapping) and isinstance(given, Mapping):
        lines = []
        for key in dict.fromkeys([*recorded, *given]):
            inner = f"{path}.{key}" if path else str(key)
            lines += differences(recorded.get(key, _ABSENT), given.get(key, _ABSENT), inner)
        return lines
    if isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given):
        pairs = enumerate(zip(recorded, given, strict=True))
        return [
            line
            for number, (one, other) in pairs
            for line in differences(one, other, f"{path}[{number}]")
        ]
    return [f"{path}: recorded {_shown(recorded)}, now {_shown(given)}"]


def _shown(value: object) -> str:
    return "nothing" if value is _ABSENT else short_text(value, 120)
