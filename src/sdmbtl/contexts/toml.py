"""Context spaces from a small TOML file, or from another description of one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdmbtl.checks import check_int, check_return_range, did_you_mean, short_text
from sdmbtl.contexts.dimension import Dimension, Interval, dimension_from_dict
from sdmbtl.contexts.space import ContextSpace
from sdmbtl.contexts.targets import check_grid
from sdmbtl.contexts.weights import density_weights, distinct, read_log
from sdmbtl.errors import ContextError
from sdmbtl.foreign import check_depth, read_text

#: Bytes that are read of a TOML file.
MAX_TOML = 4 * 2**20

#: A space, its `to_dict()`, or the path of a TOML file; of a family also the name of a space.
SpaceLike = ContextSpace | Mapping[str, Any] | str | Path


#: Keys of a dimension: its values, and what of a Gymnasium environment they are.
_VALUES = ("values", "low", "high", "levels", "scale", "discrete", "unit")
_PLACE = ("path", "factor")
_DENSITY = "density"


def load_space(path: str | Path) -> tuple[ContextSpace, dict[str, Any]]:
    """Read a context space from a TOML file.

    For example::

        valid = "mass * length < 20"     # optional: combinations that exist
        [dimensions.ground]
        values = ["road", "ice"]  # categories: no order, nothing between them
        [dimensions.mass]
        values = [0.1, 1, 10]     # the values, with an optional scale ...
        discrete = false          # true if there is nothing between them, as for a number of lanes
        unit = "kg"               # optional: shown next to the values
        [dimensions.length]
        low = 0.05                # ... or a range
        high = 5.0
        levels = 8
        scale = "log"
        path = "unwrapped.l"      # for gym: environments: the argument or attribute that is set,
        factor = false            # or multiplied, if the values are shares of its usual value
        density = {kind = "log-normal", median = 1.0, sigma = 0.5}    # optional: how often values
                                  # occur: also uniform (low, high), normal (mean, sd), or
                                  # histogram (counts, edges; without edges a count per value)
        [returns]                 # optional: lowest and highest return of an episode
        min = 0
        max = 500
        [targets]                 # optional: other targets than all combinations; ranges need no
        sample = 200              # levels then. Either this many, evenly in the box,
        seed = 0
        list = [{mass = 1, length = 2, weight = 3}, {mass = 3, length = 0.1}]   # or exactly these
        logged = "contexts.csv"   # optional: weights by the frequencies of logged contexts; without
                                  # levels, sample or list, these contexts are the targets
        [splits.heavy]            # optional: what `sdmbtl evaluate --split FILE` takes
        mass = [10, 20]

    Returns:
        The space, and the rest of the file: `{"return_range": (min, max)}`, and
        `{"dimensions": {"length": {"path": "unwrapped.l", "factor": False}}}`; or `{}`.

    Raises:
        ContextError: If the file cannot be read or does not describe a space; the message names
            the file and the place.
        LimitError: If the file is too large.
    """
    path = Path(path)
    try:
        data = read_toml(path)
    except OSError as error:
        raise ContextError(
            f"The context space {str(path)!r} cannot be read: {error.strerror}. Give the path of "
            "a TOML file with a table [dimensions.NAME] for each dimension."
        ) from None
    try:
        keys = ("dimensions", "returns", "targets", "splits", "valid")
        _check_keys("The file", data, keys)
        tables: Any = data.get("dimensions")
        space = _space(tables, data.get("targets"), data.get("valid"), path.parent)
        extras = _returns(data)
        places = {n: {k: t[k] for k in _PLACE if k in t} for n, t in tables.items()}
        if any(places.values()):
            extras["dimensions"] = {name: place for name, place in places.items() if place}
        return space, extras
    except ContextError as error:
        raise ContextError(f"{path}: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        data = tomllib.loads(read_text(path, MAX_TOML))
        check_depth(data)
    except (ValueError, RecursionError) as error:  # also of texts that are not UTF-8
        raise ContextError(f"{path}: this is not valid TOML: {error}.") from None
    return data


def read_space(given: SpaceLike) -> tuple[ContextSpace, dict[str, Any]]:
    """Make a space from any description of one; the rest of a TOML file is returned too."""
    if isinstance(given, ContextSpace):
        return given, {}
    if isinstance(given, str | Path):
        return load_space(given)
    if isinstance(given, Mapping):
        return ContextSpace.from_dict(given), {}
    raise ContextError(
        "A space is a ContextSpace, its to_dict(), or the path of a TOML file. "
        f"Got {short_text(given)} instead."
    )


def _space(tables: object, targets: object, valid: object, folder: Path) -> ContextSpace:
    """Make the space of tables of dimensions, and of one of targets if there is one."""
    if not isinstance(valid, str | None):
        raise ContextError(
            f"'valid' is an expression in quotes, such as \"mass < 40\". Got {valid!r} instead."
        )
    if targets is None:
        return _weighted(ContextSpace(valid=valid, **_dimensions(tables, is_grid=True)), tables)
    made_by = {"sample", "list"} & set(targets) if isinstance(targets, Mapping) else set()
    if not isinstance(targets, Mapping) or len(made_by) > 1 or not (made_by or "logged" in targets):
        raise ContextError(
            "[targets] is a table with 'sample', a number of targets, or with 'list', a list of "
            f"contexts; or with 'logged', a file of contexts. Got {short_text(targets)} instead."
        )
    _check_keys("[targets]", targets, ("sample", "seed", "list", "logged"))
    dimensions = _dimensions(tables, is_grid=False)
    logged = read_log(folder / targets["logged"], dimensions) if "logged" in targets else None
    try:
        if "list" in targets:
            space = _listed(targets["list"], dimensions, valid)
        elif "sample" in targets:
            seed = check_int("seed", targets.get("seed", 0), low=0, error=ContextError)
            space = ContextSpace.sample(targets["sample"], seed=seed, valid=valid, **dimensions)
        elif any(isinstance(d, Interval) for d in dimensions.values()):
            contexts, counts = distinct(dimensions, logged or [])
            space, logged = ContextSpace(contexts, valid=valid, **dimensions).weighted(counts), None
        else:
            space = ContextSpace(valid=valid, **dimensions)
        return _weighted(space if logged is None else space.weighted(logged), tables)
    except ContextError as error:
        raise ContextError(f"[targets]: {error}") from None


def _listed(contexts: Any, dimensions: Mapping[str, Any], valid: str | None) -> ContextSpace:
    """Make the space of a list of contexts, each of which may have a 'weight', usually 1."""
    has_weights = "weight" not in dimensions and isinstance(contexts, list)
    if not has_weights or not all(isinstance(context, dict) for context in contexts):
        return ContextSpace(contexts, valid=valid, **dimensions)
    weights = [context.pop("weight", 1.0) for context in contexts]
    return ContextSpace(contexts, valid=valid, **dimensions).weighted(weights)


def _weighted(space: ContextSpace, tables: Any) -> ContextSpace:
    """Multiply the weights of targets by the densities of dimensions, if there are any."""
    densities = {name: table[_DENSITY] for name, table in tables.items() if _DENSITY in table}
    if not densities:
        return space
    earlier = 1.0 if space.weights is None else space.weights
    return space.weighted(earlier * density_weights(space, densities))


def _dimensions(tables: object, *, is_grid: bool) -> dict[str, object]:
    if not isinstance(tables, Mapping) or not tables:
        raise ContextError(
            "A context space needs at least one table [dimensions.NAME], with 'values', or with "
            f"'low', 'high' and 'levels'. Got {short_text(tables)} instead."
        )
    levels = [t.get("levels") if isinstance(t, Mapping) else None for t in tables.values()]
    # Before any value is made: a file of one line could ask for all memory.
    check_grid([n for n in levels if type(n) is int and n > 0])
    dimensions: dict[str, object] = {}
    for name, table in tables.items():
        try:
            dimensions[name] = _dimension(table, is_grid=is_grid)
        except ContextError as error:
            raise ContextError(f"[dimensions.{name}]: {error}") from None
    return dimensions


def _dimension(table: object, *, is_grid: bool) -> Dimension:
    if not isinstance(table, Mapping):
        raise ContextError(
            "A dimension is a table with 'values', or with 'low', 'high' and 'levels'. "
            f"Got {short_text(table)} instead."
        )
    _check_keys("A dimension", table, (*_VALUES, *_PLACE, _DENSITY))
    ranged = [key for key in ("low", "high", "levels") if key in table]
    if "values" in table and (ranged or not isinstance(table["values"], list)):
        raise ContextError(
            "A dimension has either 'values', a list of numbers or of texts, or a range. Got "
            f"{short_text(table)} instead."
        )
    needed = ("low", "high", "levels") if is_grid or table.get("discrete") else ("low", "high")
    missing = [key for key in needed if key not in table]
    if "values" not in table and missing:
        raise ContextError(
            f"A range needs 'low', 'high' and 'levels'. {missing[0]!r} is missing. "
            "Or give 'values'."
        )
    return dimension_from_dict({key: table[key] for key in _VALUES if key in table})


def _returns(data: Mapping[str, Any]) -> dict[str, Any]:
    if "returns" not in data:
        return {}
    table = data["returns"]
    if not isinstance(table, Mapping) or set(table) != {"min", "max"}:
        raise ContextError(
            f"[returns] is a table with 'min' and 'max'. Got {short_text(table)} instead."
        )
    return {"return_range": check_return_range((table["min"], table["max"]), error=ContextError)}


def _check_keys(what: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ContextError(
                f"{what} has {', '.join(map(repr, known))}; there is no {key!r}."
                f"{did_you_mean(key, known)}"
            )
