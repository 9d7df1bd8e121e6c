"""Splits of contexts for evaluation: trained on, in between, and beyond; or named in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import known_name, short_text
from sdmbtl.contexts.dimension import Dimension, Interval, Levels
from sdmbtl.contexts.space import ContextSpace
from sdmbtl.contexts.toml import read_toml
from sdmbtl.errors import ContextError

#: Splits of every space: the targets, contexts in the box around them, and contexts outside of it.
SPLITS = ("train", "interpolation", "extrapolation")

#: Contexts of a split, if no number is given.
CONTEXTS = 100

#: If some combinations are not valid, this many times as many contexts are drawn.
TRIES = 16

#: Extrapolation goes beyond each end of a dimension by this share of its length, but never below
#: half of a positive lowest value: a mass or a length stays one.
BEYOND = 0.25


def split_contexts(
    space: ContextSpace, split: str, n: int | None = None, seed: int = 0
) -> dict[str, NDArray[np.float64]]:
    """Make the (m, D) contexts of a split, by its name; of a TOML file, of each split in it.

    "train" has all targets. "interpolation" has contexts between them, evenly in the box.
    "extrapolation" has contexts with at least one value beyond the box. Discrete dimensions keep
    their values. A file has a table for each split, with the range of each dimension, or with a
    list of contexts; a dimension that is left out has the range of the space::

        [splits.heavy]
        mass = [2.0, 4.0]
        [splits.moon]
        list = [{mass = 1.0, gravity = 1.62}]

    Args:
        space: The context space.
        split: One of `SPLITS`, or the path of a TOML file.
        n: Number of contexts of a split that is drawn.
        seed: Seed of the draw.

    Raises:
        ContextError: If there is no such split, or the file does not describe one.
    """
    if split == "train":
        return {split: space.targets}
    if split in SPLITS:
        beyond = BEYOND * (split == "extrapolation")
        ranges = {name: _widened(space, name, beyond) for name in space.names}
        drawn = _draw(space, ranges, n or CONTEXTS, seed, outside=beyond > 0)
        if all(_is_listed(dimension) for dimension in space.dimensions.values()):
            drawn = drawn[[space.find(context) is None for context in drawn]]
            if not len(drawn):
                raise ContextError(
                    "Every dimension is discrete or of one value, so nothing lies between the "
                    "targets. Evaluate the targets: --split train."
                )
        return {split: drawn}
    if not split.endswith(".toml"):
        raise ContextError(
            f"A split is {', '.join(SPLITS)} or the path of a TOML file with [splits.NAME]. Got "
            f"{short_text(split)} instead."
        )
    tables = read_toml(Path(split)).get("splits")
    if not isinstance(tables, Mapping) or not tables:
        raise ContextError(f"{split}: there is no table [splits.NAME]. Add one for each split.")
    found = {}
    for name, table in tables.items():
        try:
            found[name] = _of_table(space, table, n or CONTEXTS, seed)
        except ContextError as error:
            raise ContextError(f"{split}: [splits.{name}]: {error}") from None
    return found


def _of_table(space: ContextSpace, table: Any, n: int, seed: int) -> NDArray[np.float64]:
    if not isinstance(table, Mapping) or not table:
        raise ContextError(
            "A split has a range for some dimensions, or a list of contexts. Got "
            f"{short_text(table)} instead."
        )
    if isinstance(table.get("list"), list) and table["list"]:
        return np.array([space.vector(context) for context in table["list"]])
    ranges = {each: _widened(space, each, 0.0) for each in space.names}
    for each, ends in table.items():
        known_name("dimension", each, space.names, error=ContextError)
        if not isinstance(ends, list) or not ends:
            raise ContextError(f"{each} = {short_text(ends)} must be {each} = [lowest, highest].")
        dimension = space.dimensions[each]
        ranges[each] = np.sort(dimension.to_unit([dimension.read(end) for end in ends]))
    return _draw(space, ranges, n, seed)


def _widened(space: ContextSpace, name: str, beyond: float) -> NDArray[np.float64]:
    """Unit coordinates of the ends of a dimension, widened; all values of a discrete one."""
    dimension = space.dimensions[name]
    if _is_listed(dimension):
        return np.asarray(dimension.to_unit(dimension.knots))
    low = -beyond
    if dimension.low > 0:
        low = max(low, float(dimension.to_unit(dimension.low / 2)))
    return np.array([low, 1.0 + beyond])


def _is_listed(dimension: Dimension) -> bool:
    """Return whether a dimension has its listed values only."""
    discrete = isinstance(dimension, Levels) and dimension.discrete
    return discrete or dimension.low == dimension.high


def _draw(
    space: ContextSpace,
    ranges: Mapping[str, NDArray[np.float64]],
    n: int,
    seed: int,
    *,
    outside: bool = False,
) -> NDArray[np.float64]:
    """(n, D) contexts, evenly in the ranges of unit coordinates; each beyond the box if asked."""
    box: dict[str, Any] = dict.fromkeys(space.names, Interval(0.0, 1.0))
    drawn = n if space.valid is None else TRIES * n
    shares = ContextSpace.sample(drawn, seed=seed, **box).targets
    units, beyond = np.empty_like(shares), np.zeros(shares.shape, dtype=np.bool_)
    pushed = np.random.default_rng(seed).random(shares.shape)
    for column, (name, ends) in enumerate(ranges.items()):
        dimension = space.dimensions[name]
        if _is_listed(dimension):
            places = np.minimum((shares[:, column] * len(ends)).astype(int), len(ends) - 1)
            units[:, column] = ends[places]
            pushed[:, column] = -1.0
            continue
        low, high = ends[0], ends[-1]
        units[:, column] = low + (high - low) * shares[:, column]
        beyond[:, column] = (units[:, column] < 0.0) | (units[:, column] > 1.0)
    if outside:
        if (pushed < 0).all():
            raise ContextError(
                "Every dimension is discrete or of one value, so nothing lies beyond it. Name a "
                "split in a file."
            )
        # A context inside is moved outside along one dimension, chosen at random.
        for row in np.flatnonzero(~beyond.any(axis=1)):
            column = int(pushed[row].argmax())
            low, high = ranges[space.names[column]]
            share = shares[row, column] * (high - 1.0 - low)  # along both ends together
            units[row, column] = low + share if low + share < 0.0 else 1.0 + (low + share)
    dimensions = space.dimensions.values()
    contexts = np.column_stack([d.from_unit(u) for d, u in zip(dimensions, units.T, strict=True)])
    if space.valid is not None:
        contexts = contexts[space.allows(contexts)][:n]
    if not len(contexts):
        raise ContextError("No context of this split is valid. List some in a file.")
    return contexts
