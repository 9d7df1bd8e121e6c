"""The paper's result tables, as data that ships with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from sdmbtl.benchmarks.synthetic import GRIDS, SyntheticConfiguration
from sdmbtl.errors import BenchmarkError


class PublishedValue(NamedTuple):
    """A printed number: mean and half the width of its 95 % interval, None where unknown."""

    mean: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a table.

    Attributes:
        name: Name of the synthetic problem, or of the benchmark as printed, such as "CartPole".
        rounds: Number of decision rounds K.
        values: Selector or baseline name -> printed performance.
    """

    name: str
    rounds: int
    values: Mapping[str, PublishedValue]


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of the paper.

    Attributes:
        rows: In the printed order.
        aggregated: Selector or baseline name -> aggregated performance.
        note: What to know about the printed table or differs from it, or None.
    """

    rows: tuple[PublishedRow, ...]
    aggregated: Mapping[str, PublishedValue]
    note: str | None

    def row(self, name: str) -> PublishedRow | None:
        """The row of a problem or benchmark, None if there is none.

        >>> published_table(3, 5).row("3d-f-constant-g-linear-h-l1").values["m-mbtl"].mean
        0.7038
        """
        return next((row for row in self.rows if row.name == name), None)


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
        return _printed_synthetic(settings["dim"], settings["noise"], problems, budget, trials)
    return Printed()


def _printed_synthetic(
    dim: int, noise: float, problems: Sequence[str], budget: int, trials: int
) -> Printed:
    table = published_table(dim, noise)
    if table is None:
        return Printed()
    cells = {row.name: row.values for row in table.rows if row.rounds == budget}
    if not set(problems) <= set(cells):
        return Printed()
    notes = () if table.note is None else (table.note,)
    usual = GRIDS[dim][3]
    if noise > 0 and trials != usual:
        differs = f"The paper has {usual} trials: oracle and aggregate differ with it."
        notes = (differs, *notes)
    return Printed(cells, table.aggregated, notes=notes)


def _printed_real(table: PublishedTable, budget: int) -> Printed:
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

    >>> published_table(3, 15.0) is None
    True
    """
    return _synthetic_tables().get((dim, float(noise)))


def published_benchmarks(metric: str = "final") -> PublishedTable:
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
    """(dimension, noise) -> table; the 3D ones print "None" for what we call constant."""
    tables = {}
    for entry in _document()["synthetic"]:
        dim = entry["dim"]
        names = [SyntheticConfiguration(dim, r["f"], r["g"], r["h"]).name for r in entry["rows"]]
        rows = zip(names, entry["rows"], strict=True)
        tables[dim, float(entry["noise"])] = PublishedTable(
            tuple(PublishedRow(n, entry["rounds"], _values(r["values"])) for n, r in rows),
            _values(entry["aggregated"]),
            entry["note"],
        )
    return tables


@lru_cache(maxsize=1)
def _benchmark_tables() -> dict[str, PublishedTable]:
    """Metric -> table."""
    return {
        entry["metric"]: PublishedTable(
            tuple(
                PublishedRow(r["name"], r["rounds"], _values(r["values"])) for r in entry["rows"]
            ),
            _values(entry["aggregated"]),
            entry["note"],
        )
        for entry in _document()["benchmarks"]
    }


def _values(stored: dict[str, tuple[float, float | None]]) -> Mapping[str, PublishedValue]:
    """Read-only mapping of selector names to printed values."""
    return MappingProxyType({name: PublishedValue(*pair) for name, pair in stored.items()})
