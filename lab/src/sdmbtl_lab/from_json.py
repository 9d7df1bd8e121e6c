"""Values from the JSON data that `sdmbtl.json_data.as_json` made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from sdmbtl.checks import short_text


def from_json(kind: Any, data: Any) -> Any:
    """Return the value that `as_json` made JSON data of.

    Args:
        kind: Its type: a dataclass, a named tuple, tuple[X, ...], Mapping[K, V], a union of one of
            them with None, or what JSON has itself.
        data: The JSON data.
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
