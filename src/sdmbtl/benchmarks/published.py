"""The paper's result tables, as data that ships with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from sdmbtl.benchmarks.synthetic import GRIDS, SyntheticConfiguration
from sdmbtl.errors import BenchmarkError

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


@dataclass(frozen=True, slots=True)
class Printed:
    """What the paper prints that stands in one of our tables.

    Attributes:
        cells: Problem -> selector -> value for the same data.
        aggregated: Selector -> aggregate over the same data.
        rows: Title -> selector -> value for the paper's own data, to be compared in kind.
        notes: What to know about them.
    """

    cells: Mapping[str, Mapping[str, PublishedValue]] = field(default_factory=dict)
    aggregated: Mapping[str, PublishedValue] = field(default_factory=dict)
    rows: Mapping[str, Mapping[str, PublishedValue]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def printed_beside(
    settings: Mapping[str, Any], problems: Sequence[str], budget: int, metric: str, trials: int
) -> Printed:
    """What the paper prints for a benchmark of ours.

    Args:
        settings: What the benchmark's matrices depend on, with its "kind".
        problems: Names of its problems; if one of them is not the paper's, nothing is comparable.
        budget: K, the number of policies.
        metric: "final", "auc" or another, which the paper does not have.
        trials: W, the number of trials.
    """
    if settings.get("kind") == "real" and metric in _benchmark_tables():
        return _printed_real(_benchmark_tables()[metric], budget)
    if settings.get("kind") == "synthetic" and metric == "final":
        table = published_table(settings["dim"], settings["noise"])
        if table is not None and table.rounds == budget:
            return _printed_synthetic(table, problems, trials)
    return Printed()


def _printed_synthetic(table: PublishedTable, problems: Sequence[str], trials: int) -> Printed:
    rows = {SyntheticConfiguration(table.dim, r.f, r.g, r.h).name: r.values for r in table.rows}
    if not set(problems) <= set(rows):
        return Printed()
    notes = []
    usual = GRIDS[table.dim][3]
    if table.noise > 0 and trials != usual:
        notes.append(f"The paper has {usual} trials: oracle and aggregate differ with it.")
    if table.note:
        notes.append(table.note)
    return Printed(rows, table.aggregated, notes=tuple(notes))


def _printed_real(table: PublishedBenchmarks, budget: int) -> Printed:
    rows = {f"paper: {row.name}": row.values for row in table.rows if row.rounds == budget}
    if not rows:
        return Printed()
    notes = ["The paper's rows are for its own matrices: to be compared in kind."]
    if table.note is not None:
        notes.append(f"The paper: {table.note}")
    rows["paper: aggregated, K = 12 and 50"] = table.aggregated
    return Printed(rows=rows, notes=tuple(notes))


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
