"""The paper's result tables, as data that ships with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sdmbtl.errors import BenchmarkError

if TYPE_CHECKING:
    from collections.abc import Mapping

Part = Literal["constant", "linear"]
"""How the policy quality f or the task difficulty g varies."""

Dissimilarity = Literal["l1", "non-distance", "non-distance 1", "non-distance 2"]
"""The task dissimilarity h: an L1 distance, or one of the forms that are no distance."""

Metric = Literal["final", "auc"]
"""Performance after the last round, or its mean over the rounds."""


class PublishedValue(NamedTuple):
    """A printed number: mean and half the width of its 95 % interval, None where unknown."""

    mean: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One synthetic configuration of a table.

    Attributes:
        f: Policy quality.
        g: Task difficulty; the 3D tables print "None" for what we, like the 5D one, call constant.
        h: Task dissimilarity.
        mountain: Whether the configuration has the Mountain structure.
        values: Selector name -> printed performance.
    """

    f: Part
    g: Part
    h: Dissimilarity
    mountain: bool
    values: Mapping[str, PublishedValue]


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of the paper on synthetic data.

    Attributes:
        dim: Number of context dimensions.
        noise: Standard deviation of the noise, in units of the return before normalising.
        rounds: Number of decision rounds K.
        rows: Configurations in the printed order.
        aggregated: Selector name -> mean of the normalised performances.
        note: What differs from the printed table, or None.
    """

    dim: int
    noise: float
    rounds: int
    rows: tuple[PublishedRow, ...]
    aggregated: Mapping[str, PublishedValue]
    note: str | None

    def row(self, f: str, g: str, h: str) -> PublishedRow | None:
        """Return the row of a configuration, or None if the table has no such row.

        >>> published_table(3, 5).row("constant", "linear", "l1").mountain
        True
        """
        return next((row for row in self.rows if (row.f, row.g, row.h) == (f, g, h)), None)


@dataclass(frozen=True, slots=True)
class PublishedBenchmark:
    """One benchmark (a real contextual environment) of a table.

    Attributes:
        name: Name of the benchmark as printed, such as "CartPole".
        rounds: Number of decision rounds K.
        values: Selector or baseline name -> printed performance.
    """

    name: str
    rounds: int
    values: Mapping[str, PublishedValue]


@dataclass(frozen=True, slots=True)
class PublishedBenchmarks:
    """One table of the paper on the four benchmarks.

    Attributes:
        metric: What the rows measure.
        rows: Benchmarks in the printed order.
        aggregated: Selector or baseline name -> aggregated performance as printed.
        note: What to know about the printed table, or None.
    """

    metric: Metric
    rows: tuple[PublishedBenchmark, ...]
    aggregated: Mapping[str, PublishedValue]
    note: str | None


def published_table(dim: int, noise: float) -> PublishedTable | None:
    """Return the paper's table for a synthetic data set, or None if there is none.

    The paper prints tables for three dimensions with noise 0, 5 and 30, and for five and seven
    dimensions with noise 5.

    Args:
        dim: Number of context dimensions.
        noise: Standard deviation of the noise.

    Returns:
        The table, or None.

    >>> published_table(3, 5.0).rows[0].values["m/gp-mbtl"]
    PublishedValue(mean=0.7168, half_width=0.001)
    >>> published_table(3, 15.0) is None
    True
    """
    return _synthetic_tables().get((dim, float(noise)))


def published_tables() -> tuple[PublishedTable, ...]:
    """Return all synthetic tables, in order of dimension and noise."""
    return tuple(_synthetic_tables().values())


def published_benchmarks(metric: Metric = "final") -> PublishedBenchmarks:
    """Return the paper's table for CartPole, BipedalWalker, IntersectionZoo and CyclesGym.

    Args:
        metric: "final" for the performance after K rounds, "auc" for its mean over the rounds.

    Returns:
        The table, with the baselines "independent" and "multi-task" beside the selectors.

    Raises:
        BenchmarkError: If there is no such metric.

    >>> published_benchmarks().rows[0].values["multi-task"].mean
    0.9967
    """
    tables = _benchmark_tables()
    if metric not in tables:
        raise BenchmarkError(f"There is no metric {metric!r}; choose one of {sorted(tables)}.")
    return tables[metric]


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    """The JSON document as it is stored."""
    resource = files("sdmbtl.benchmarks") / "data" / "published.json"
    document: dict[str, Any] = json.loads(resource.read_text(encoding="utf-8"))
    return document


@lru_cache(maxsize=1)
def _synthetic_tables() -> dict[tuple[int, float], PublishedTable]:
    """(dimension, noise) -> table."""
    tables = (
        PublishedTable(
            dim=entry["dim"],
            noise=float(entry["noise"]),
            rounds=entry["rounds"],
            rows=tuple(
                PublishedRow(**{**row, "values": _values(row["values"])}) for row in entry["rows"]
            ),
            aggregated=_values(entry["aggregated"]),
            note=entry["note"],
        )
        for entry in _document()["synthetic"]
    )
    return {(table.dim, table.noise): table for table in tables}


@lru_cache(maxsize=1)
def _benchmark_tables() -> dict[str, PublishedBenchmarks]:
    """Metric -> table."""
    return {
        entry["metric"]: PublishedBenchmarks(
            metric=entry["metric"],
            rows=tuple(
                PublishedBenchmark(row["name"], row["rounds"], _values(row["values"]))
                for row in entry["rows"]
            ),
            aggregated=_values(entry["aggregated"]),
            note=entry["note"],
        )
        for entry in _document()["benchmarks"]
    }


def _values(stored: dict[str, list[float | None]]) -> Mapping[str, PublishedValue]:
    """Read-only mapping of selector names to printed values."""
    return MappingProxyType({name: _value(*pair) for name, pair in stored.items()})


def _value(mean: float | None, half_width: float | None) -> PublishedValue:
    """One printed value; the mean is always known."""
    if mean is None:
        raise BenchmarkError("A published mean is missing: the stored tables are damaged.")
    return PublishedValue(mean, half_width)
