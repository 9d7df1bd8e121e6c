"""Weights of targets: from numbers, densities of dimensions, or frequencies of logged contexts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import MAX_COUNT, check_int, known_name, short_text
from sdmbtl.contexts.dimension import Categories, Dimension, Interval, Levels
from sdmbtl.contexts.targets import first_of_each
from sdmbtl.errors import ContextError
from sdmbtl.foreign import read_text

if TYPE_CHECKING:
    from sdmbtl.contexts.space import ContextSpace

#: A density as data, such as {"kind": "normal", "mean": 1, "sd": 0.2}, or a function of values.
DensityLike = Mapping[str, Any] | Callable[[NDArray[np.float64]], Any]

#: Bytes that are read of a file of logged contexts.
MAX_LOG = 64 * 2**20


def weighted_mean(values: NDArray[Any], weights: NDArray[np.float64] | None) -> Any:
    """Mean over the last axis, the targets; None for equal weights.

    >>> float(weighted_mean(np.array([0.0, 4.0]), np.array([0.75, 0.25])))
    1.0
    """
    return values.mean(axis=-1) if weights is None else (values * weights).sum(axis=-1)


def check_weights(given: Any, targets: int) -> NDArray[np.float64]:
    """(N,) weights as given, none negative and some above 0."""
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    usable = array.shape == (targets,) and bool(np.isfinite(array).all() and (array >= 0).all())
    if not usable or not 0 < array.sum() < np.inf:
        raise ContextError(
            f"Weights are {targets} finite numbers, one for each target, none of them negative, "
            f"and some above 0. Got {short_text(given)} instead."
        )
    return array


def density_weights(space: ContextSpace, densities: Mapping[str, DensityLike]) -> NDArray[Any]:
    """(N,) products of the densities of dimensions at the targets.

    A density is per unit of the dimension, so it is multiplied by the distance between values: on
    a logarithmic dimension, a target stands for more the larger it is.
    """
    weights = np.ones(len(space))
    for name, density in densities.items():
        known_name("dimension", name, space.names, error=ContextError)
        values, dimension = space.targets[:, space.names.index(name)], space.dimensions[name]
        try:
            if callable(density):
                weights *= np.asarray(density(values), dtype=np.float64) * _width(dimension, values)
                continue
            settings = {k: np.array(v, dtype=float) for k, v in density.items() if k != "kind"}
            known_name("kind", density["kind"], KINDS, error=ContextError)
            if not all(np.isfinite(v).all() for v in settings.values()):
                raise ValueError("its settings must be finite")
            weights *= KINDS[density["kind"]](dimension, values, **settings)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ContextError(
                f"The density of {name!r} is a function of its values, or has a 'kind' "
                f"({', '.join(KINDS)}) and its settings. Got {short_text(density)} instead: {error}"
            ) from None
    return weights


def _uniform(
    dimension: Dimension, values: NDArray[np.float64], low: float = -np.inf, high: float = np.inf
) -> NDArray[np.float64]:
    """(N,) equal weights between two values, whatever the scale."""
    del dimension
    return ((values >= low) & (values <= high)).astype(np.float64)


def _normal(
    dimension: Dimension, values: NDArray[np.float64], mean: float, sd: float
) -> NDArray[np.float64]:
    if not sd > 0:
        raise ValueError("'sd' must be above 0")
    return np.exp(-0.5 * ((values - mean) / sd) ** 2) * _width(dimension, values)


def _log_normal(
    dimension: Dimension, values: NDArray[np.float64], median: float, sigma: float
) -> NDArray[np.float64]:
    if not (median > 0 and sigma > 0 and (values > 0).all()):
        raise ValueError("'median', 'sigma' and the values must be above 0")
    bell = np.exp(-0.5 * (np.log(values / median) / sigma) ** 2)
    return np.asarray(bell / values * _width(dimension, values))


def _histogram(
    dimension: Dimension,
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
    edges: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """(N,) weights by counts between edges, or by one count for each value as it was listed."""
    if edges is None:
        if not isinstance(dimension, Levels) or counts.shape != dimension.values.shape:
            raise ValueError("without 'edges', 'counts' needs one number for each of the values")
        order = np.argsort(dimension.values)
        return np.asarray(counts[order][_nearest_knot(dimension, values)])
    if counts.ndim != 1 or edges.shape != (len(counts) + 1,) or not (np.diff(edges) > 0).all():
        raise ValueError("'edges' ascend, and there is one more of them than 'counts'")
    place = np.searchsorted(edges, values, side="right") - 1
    place[values == edges[-1]] = len(counts) - 1
    inside = (place >= 0) & (place < len(counts))
    height = (counts / np.diff(edges))[np.clip(place, 0, len(counts) - 1)]
    return np.where(inside, height, 0.0) * _width(dimension, values)


#: Densities by kind; their settings are the last arguments.
KINDS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "uniform": _uniform,
    "normal": _normal,
    "log-normal": _log_normal,
    "histogram": _histogram,
}


def _width(dimension: Dimension, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) width of the part of a dimension that each value stands for, up to a factor."""
    if isinstance(dimension, Interval):
        return values if dimension.scale == "log" else np.ones(len(values))
    if len(dimension.knots) == 1:
        return np.ones(len(values))
    return np.asarray(np.gradient(dimension.knots)[_nearest_knot(dimension, values)])


def _nearest_knot(dimension: Dimension, values: NDArray[np.float64]) -> NDArray[np.intp]:
    between = (dimension.knots[1:] + dimension.knots[:-1]) / 2
    return np.searchsorted(between, values)


def frequencies(space: ContextSpace, logged: Iterable[Any]) -> NDArray[np.float64]:
    """(N,) number of logged contexts to which each target is the nearest."""
    from scipy.spatial import cKDTree

    rows = list(logged)
    check_int("number of logged contexts", len(rows), low=1, error=ContextError)
    vectors = np.array([space.vector(row) for row in rows])
    _, nearest = cKDTree(space.unit_targets).query(space.to_unit(vectors), p=1)
    return np.bincount(nearest, minlength=len(space)).astype(np.float64)


def distinct(
    names: Iterable[str], logged: list[dict[str, float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(N, D) different contexts of a log in their order, and (N,) how often each occurs."""
    vectors = np.array([[row[name] for name in names] for row in logged], dtype=np.float64)
    first, place = np.unique(first_of_each(vectors), return_inverse=True)
    return vectors[first], np.bincount(place).astype(np.float64)


def read_log(path: Path, dimensions: Mapping[str, Any]) -> list[dict[str, float]]:
    """Read logged contexts: CSV with a header line, or a JSON object on each line."""
    try:
        text = read_text(path, MAX_LOG)
    except OSError as error:
        raise ContextError(
            f"The logged contexts in {str(path)!r} cannot be read: {error.strerror}. Give the path "
            "of a CSV or JSON Lines file, relative to the TOML file."
        ) from None
    is_json, wanted = path.suffix in (".jsonl", ".json"), list(dimensions)
    lines = filter(str.strip, text.splitlines())
    rows = map(json.loads, lines) if is_json else csv.DictReader(io.StringIO(text))
    try:
        readers = {
            name: d.read if isinstance(d, Categories) else float for name, d in dimensions.items()
        }
        found = [{name: read(row[name]) for name, read in readers.items()} for row in rows]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ContextError(
            f"{path}: each entry needs a value for each of {', '.join(wanted)}: {problem}."
        ) from None
    if not found:
        raise ContextError(f"{path}: there are no logged contexts. Give at least one.")
    check_int("number of logged contexts", len(found), low=1, high=MAX_COUNT, error=ContextError)
    return found
