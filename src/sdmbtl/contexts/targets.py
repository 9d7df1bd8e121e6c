"""Targets: reading and checking lists of them, and the size of grids."""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import MAX_COUNT, check_int
from sdmbtl.errors import ContextError
from sdmbtl.wording import shown_context

if TYPE_CHECKING:
    from sdmbtl.contexts.space import ContextSpace

#: Two contexts closer than this in every unit coordinate are the same context.
SAME_CONTEXT = 1e-9

#: More numbers than these are one text in JSON: as lists, a million targets take minutes to read.
MOST_LISTED = 200_000

#: A target may miss the bounds by this share of the bound: 0.1 + 0.2 is within [0, 0.3].
ROUNDING = 1e-12


def listed_targets(space: ContextSpace, targets: Any) -> NDArray[np.float64]:
    """(N, D) the targets of a list, within the bounds of the space's dimensions."""
    try:
        rows: Any = targets if isinstance(targets, np.ndarray) else list(targets)
        check_int("number of targets", len(rows), low=1, high=MAX_COUNT, error=ContextError)
    except TypeError:
        raise ContextError(
            f"Targets must be a list of contexts. Got {targets!r} instead."
        ) from None
    array = _plain_numbers(rows, space.n_dimensions)
    if array is None:
        array = np.empty((len(rows), space.n_dimensions))
        for number, row in enumerate(rows):
            try:
                array[number] = space.vector(row)
            except ContextError as error:
                raise ContextError(f"Target {number}: {error}") from None
    _check_bounds(space, array)
    return array


def check_distinct(space: ContextSpace) -> None:
    """Refuse targets of a list that are the same context."""
    first = first_of_each(np.round(space.unit_targets / SAME_CONTEXT))
    repeated = np.flatnonzero(first != np.arange(len(space)))
    if len(repeated):
        number = int(repeated[0])
        same = int(first[number])
        raise ContextError(
            f"Targets must be distinct. Targets {same} and {number}, "
            f"{shown_context(space.target(same))} and {shown_context(space.target(number))}, are "
            "the same on the scale of their dimensions. Drop one of them, or use another scale."
        )


def targets_as_json(targets: NDArray[np.float64]) -> Any:
    """Targets as JSON data: lists of numbers, or one text if there are very many of them."""
    if targets.size <= MOST_LISTED:
        return targets.tolist()
    packed = base64.b64encode(targets.astype("<f8").tobytes()).decode("ascii")
    return {"shape": list(targets.shape), "float64": packed}


def targets_from_json(data: Any) -> Any:
    """Read back what `targets_as_json` made; anything else stays as it is."""
    if not isinstance(data, Mapping) or set(data) != {"shape", "float64"}:
        return data
    try:
        numbers = np.frombuffer(base64.b64decode(data["float64"], validate=True), dtype="<f8")
        return numbers.reshape(data["shape"]).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ContextError(f"These targets are damaged: {error}.") from None


def _plain_numbers(rows: Any, dimensions: int) -> NDArray[np.float64] | None:
    """(N, D) rows that are nothing but D finite numbers each; None if they are something else."""
    if isinstance(rows, list):
        plain = all(type(row) is list and len(row) == dimensions for row in rows)
        if not plain or not set(map(type, itertools.chain.from_iterable(rows))) <= {float}:
            return None
    elif rows.dtype.kind not in "fiu" or rows.ndim != 2 or rows.shape[1] != dimensions:
        return None
    array = np.array(rows, dtype=np.float64)
    return array if np.isfinite(array).all() else None


def _check_bounds(space: ContextSpace, array: NDArray[np.float64]) -> None:
    lows, highs = np.array(list(space.bounds.values())).T
    too_low = array < lows - ROUNDING * np.abs(lows)
    outside = np.argwhere(too_low | (array > highs + ROUNDING * np.abs(highs)))
    if len(outside):
        number, d = outside[0]
        name = space.names[d]
        low, high = space.bounds[name]
        raise ContextError(
            f"Target {number} has {name}={array[number, d]:g}, outside its bounds "
            f"[{low:g}, {high:g}]. Widen the dimension or drop the target."
        )
    for d, (name, dimension) in enumerate(space.dimensions.items()):
        missing = ~np.isin(array[:, d], dimension.knots) & dimension.discrete
        if missing.any():
            number = int(np.argmax(missing))
            raise ContextError(
                f"Target {number} has {name}={array[number, d]:g}, which is not one of the values. "
                "Add it to the dimension or drop the target."
            )


def check_grid(levels: Sequence[int]) -> None:
    """Refuse a grid of too many targets, given the number of values of each dimension."""
    if math.prod(levels) > MAX_COUNT:
        raise ContextError(
            f"A grid of {' x '.join(map(str, levels))} targets is too large: at most "
            f"{MAX_COUNT:,} are allowed. Use fewer levels, or a sample of the space."
        )


def row_bytes(rows: NDArray[np.float64]) -> list[bytes]:
    """Return the bytes of each row, which are the same for equal rows."""
    positive = np.ascontiguousarray(rows + 0.0)  # -0.0 is 0.0
    keys: list[bytes] = positive.view(f"V{8 * rows.shape[1]}").ravel().tolist()
    return keys


def first_of_each(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """(N,) for each row the number of the first one that is equal to it: its own, if all differ."""
    first: dict[bytes, int] = {}
    return np.array(list(map(first.setdefault, row_bytes(rows), range(len(rows)))), dtype=np.intp)
