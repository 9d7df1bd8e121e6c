"""Context spaces from a small TOML file, or from another description of one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdmbtl.checks import check_return_range, did_you_mean, short_text
from sdmbtl.contexts.dimension import Levels
from sdmbtl.contexts.grid import check_grid
from sdmbtl.contexts.ranges import Range
from sdmbtl.contexts.space import ContextSpace
from sdmbtl.errors import ContextError
from sdmbtl.limits import naming
from sdmbtl.reading import check_data, read_text

#: A space, its `to_dict()`, or the path of a TOML file; of a family also the name of a space.
SpaceLike = ContextSpace | Mapping[str, Any] | str | Path


#: Keys of a dimension: its values, and what of a Gymnasium environment they are.
_VALUES = ("values", "low", "high", "levels", "scale", "discrete", "unit")
_PLACE = ("path", "factor")


def load_space(path: str | Path) -> tuple[ContextSpace, dict[str, Any]]:
    """Read a context space from a TOML file.

    ```toml
    [dimensions.mass]
    values = [0.1, 1, 10]     # the values, with an optional scale ...
    discrete = false          # true if there is nothing between them, as of a number of lanes;
                              # [true, false] is so by itself
    unit = "kg"               # optional: shown beside the values
    [dimensions.length]
    low = 0.05                # ... or a range
    high = 5.0
    levels = 8
    scale = "log"
    path = "unwrapped.l"      # for gym: environments: the argument or attribute that is set,
    factor = false            # or multiplied, if the values are shares of its usual value
    [returns]                 # optional: lowest and highest return of an episode
    min = 0
    max = 500
    ```

    Returns:
        The space, and what else the file says: `{"return_range": (min, max)}`, and
        `{"dimensions": {"length": {"path": "unwrapped.l", "factor": False}}}`; or `{}`.

    Raises:
        ContextError: If the file cannot be read or does not describe a space; the message names
            the file and the place.
        LimitError: If the file, or the space, is larger than is allowed.
    """
    path = Path(path)
    try:
        data = tomllib.loads(read_text(path, "toml_bytes"))
        check_data(data, str(path))
    except OSError as error:
        raise ContextError(
            f"The context space {str(path)!r} cannot be read: {error.strerror}. Give the path of "
            "a TOML file with a table [dimensions.NAME] for each dimension."
        ) from None
    except UnicodeDecodeError:
        raise ContextError(f"{path}: this is not UTF-8 text, so it is not a TOML file.") from None
    except ValueError as error:  # of TOML, or of Python for a number of thousands of digits
        raise ContextError(f"{path}: this is not valid TOML: {error}.") from None
    except RecursionError:
        raise ContextError(f"{path}: this is nested too deeply to be read.") from None
    try:
        _check_keys("The file", data, ("dimensions", "returns"))
        tables = data.get("dimensions")
        with naming(path):
            return _dimensions(tables), {**_returns(data), **_places(tables)}
    except ContextError as error:
        raise ContextError(f"{path}: {error}") from None


def read_space(given: SpaceLike) -> tuple[ContextSpace, dict[str, Any]]:
    """Make a space from any description of one; a TOML file may say more, which is returned too.

    Raises:
        ContextError: If it does not describe a space.
    """
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


def _dimensions(tables: object) -> ContextSpace:
    if not isinstance(tables, Mapping) or not tables:
        raise ContextError(
            "A context space needs at least one table [dimensions.NAME], with 'values', or with "
            f"'low', 'high' and 'levels'. Got {short_text(tables)} instead."
        )
    check_grid({name: n for name, t in tables.items() if (n := _declared_levels(t)) is not None})
    dimensions: dict[str, object] = {}
    for name, table in tables.items():
        try:
            dimensions[name] = _dimension(table)
        except ContextError as error:
            raise ContextError(f"[dimensions.{name}]: {error}") from None
    return ContextSpace(**dimensions)


def _declared_levels(table: object) -> int | None:
    """How many values a table says that its range has; None if it says nothing usable."""
    levels = table.get("levels") if isinstance(table, Mapping) else None
    return levels if type(levels) is int and levels > 0 else None


def _dimension(table: object) -> Levels:
    if not isinstance(table, Mapping):
        raise ContextError(
            "A dimension is a table with 'values', or with 'low', 'high' and 'levels'. "
            f"Got {short_text(table)} instead."
        )
    _check_keys("A dimension", table, (*_VALUES, *_PLACE))
    discrete = table.get("discrete")
    ranged = [key for key in ("low", "high", "levels") if key in table]
    if "values" in table:
        if ranged:
            raise ContextError(
                f"A dimension has either 'values' or a range. Got 'values' and {ranged[0]!r}. "
                "Drop one of them."
            )
        if not isinstance(table["values"], list):
            raise ContextError(
                f"'values' must be a list of numbers. Got {short_text(table['values'])} instead."
            )
        scale, unit = table.get("scale", "steps"), table.get("unit")
        return Levels(table["values"], scale=scale, discrete=discrete, unit=unit)
    missing = [key for key in ("low", "high", "levels") if key not in table]
    if missing:
        raise ContextError(
            f"A range needs 'low', 'high' and 'levels'. {missing[0]!r} is missing. "
            "Or give 'values'."
        )
    spaced = Range(**{k: v for k, v in table.items() if k not in ("discrete", *_PLACE)})
    return Levels(spaced.values, scale=spaced.scale, discrete=discrete, unit=spaced.unit)


def _places(tables: Any) -> dict[str, Any]:
    """What the dimensions are in an environment, where the file says so."""
    places = {n: {k: t[k] for k in _PLACE if k in t} for n, t in tables.items()}
    found = {name: place for name, place in places.items() if place}
    return {"dimensions": found} if found else {}


def _returns(data: Mapping[str, Any]) -> dict[str, Any]:
    if "returns" not in data:
        return {}
    table = data["returns"]
    if not isinstance(table, Mapping):
        raise ContextError(
            f"[returns] is a table with 'min' and 'max'. Got {short_text(table)} instead."
        )
    _check_keys("[returns]", table, ("min", "max"))
    for key in ("min", "max"):
        if key not in table:
            raise ContextError(f"[returns] needs 'min' and 'max'. {key!r} is missing.")
    return {"return_range": check_return_range((table["min"], table["max"]), error=ContextError)}


def _check_keys(what: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ContextError(
                f"{what} has {', '.join(map(repr, known))}; there is no {key!r}."
                f"{did_you_mean(key, known)}"
            )
