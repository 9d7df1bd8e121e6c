"""Spaces of observations and actions as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.checks import MAX_COUNT, check_int, short_text
from sdmbtl.errors import PolicyError


def space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space as JSON data.

    Raises:
        PolicyError: If it is of another kind than Box, Discrete, MultiDiscrete, MultiBinary, or a
            Dict or Tuple of these.
    """
    match space:
        case spaces.Box():
            bounds = {"low": _bound_to_json(space.low), "high": _bound_to_json(space.high)}
            return {"type": "Box", "shape": list(space.shape), "dtype": str(space.dtype), **bounds}
        case spaces.Discrete():
            return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
        case spaces.MultiDiscrete():
            start = {"start": space.start.tolist()} if space.start.any() else {}
            return {"type": "MultiDiscrete", "nvec": space.nvec.tolist(), **start}
        case spaces.MultiBinary():
            n = space.n
            return {"type": "MultiBinary", "n": n if isinstance(n, int) else [int(k) for k in n]}
        case spaces.Dict():
            entries = [[key, space_to_json(inner)] for key, inner in space.spaces.items()]
            return {"type": "Dict", "spaces": entries}
        case spaces.Tuple():
            return {"type": "Tuple", "spaces": [space_to_json(inner) for inner in space.spaces]}
    raise PolicyError(
        "A policy can be kept if its spaces are Box, Discrete, MultiDiscrete or MultiBinary, or a "
        f"Dict or Tuple of these. Got {short_text(space)} instead."
    )


def space_from_json(data: Mapping[str, Any]) -> spaces.Space[Any]:
    """Make a space again from `space_to_json`.

    Raises:
        PolicyError: If it is of another kind, or its values have too many entries.
    """
    match data["type"]:
        case "Box":
            shape, dtype = _checked_shape(data["shape"]), np.dtype(data["dtype"])
            if dtype.kind not in "biuf":
                raise PolicyError(f"A space of numbers was expected. Got {dtype} instead.")
            low, high = (_bound_from_json(data[k], shape, dtype) for k in ("low", "high"))
            return spaces.Box(low, high, dtype=dtype.type)
        case "Discrete":
            return spaces.Discrete(data["n"], start=data["start"])
        case "MultiDiscrete":
            return spaces.MultiDiscrete(data["nvec"], start=data.get("start"))
        case "MultiBinary":
            n = data["n"]
            shape = _checked_shape(n if isinstance(n, list) else [n])
            return spaces.MultiBinary(shape if isinstance(n, list) else n)
        case "Dict":
            return spaces.Dict([(key, space_from_json(inner)) for key, inner in data["spaces"]])
        case "Tuple":
            return spaces.Tuple([space_from_json(inner) for inner in data["spaces"]])
    raise PolicyError(f"Unknown type of space {data['type']!r}.")


def _checked_shape(given: list[Any]) -> tuple[int, ...]:
    """Refuse a few bytes that ask for a large array."""
    shape = tuple(check_int("size", size, low=0, error=PolicyError) for size in given)
    check_int("entries of a space", math.prod(shape), low=0, high=MAX_COUNT, error=PolicyError)
    return shape


def _bound_to_json(bound: NDArray[Any]) -> Any:
    """The entries of a bound in a row, or a single one if all are equal, as in images."""
    # JSON has no infinity: it is written as text.
    entries = [v if math.isfinite(v) else str(v) for v in bound.ravel().tolist()]
    return entries[0] if entries and len(set(entries)) == 1 else entries


def _bound_from_json(data: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    if isinstance(data, list):
        entries = [float(v) if isinstance(v, str) else v for v in data]
        return np.array(entries, dtype=dtype).reshape(shape)
    return np.full(shape, float(data) if isinstance(data, str) else data, dtype=dtype)
