"""JSON data: made from values of any kind, and compared."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from sdmbtl.checks import known_name, known_options, short_text
from sdmbtl.errors import SdmbtlError

Made = TypeVar("Made")


def as_json(value: Any, digits: int | None = None) -> Any:
    """Convert dataclasses, mappings, lists, arrays and numbers to JSON data.

    A `to_dict()` method comes first. A number that is not finite becomes None, for JSON has no
    NaN. Floats are rounded to `digits` behind the point, if given.
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


def differences(recorded: object, given: object) -> list[str]:
    """List the differences between two pieces of JSON data, one line each.

    >>> differences({"seed": 0, "space": {"n": 3}}, {"seed": 1, "space": {"n": 3}})
    ['seed: recorded 0, now 1']
    """
    before, now = dict(_leaves(recorded)), dict(_leaves(given))
    return [
        f"{path}: recorded {_shown(before, path)}, now {_shown(now, path)}"
        for path in {**before, **now}
        if path not in before or path not in now or before[path] != now[path]
    ]


def _shown(leaves: Mapping[str, object], path: str) -> str:
    return short_text(leaves[path], 120) if path in leaves else "nothing"


def _leaves(data: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path of each value that has no others inside, and the value."""
    pairs: list[tuple[str, object]] = []
    if isinstance(data, Mapping):
        pairs = [(f"{path}.{key}".lstrip("."), inner) for key, inner in data.items()]
    elif isinstance(data, list):
        pairs = [(f"{path}[{place}]", inner) for place, inner in enumerate(data)]
    if not pairs:
        yield path, data
    for inner_path, inner in pairs:
        yield from _leaves(inner, inner_path)
