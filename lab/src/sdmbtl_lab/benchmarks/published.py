"""The paper's result tables, as data that ships with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from sdmbtl_lab.benchmarks.synthetic import GRIDS
from sdmbtl_lab.from_json import from_json


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
        note: Remark on the printed table, or None.
    """

    rows: tuple[PublishedRow, ...]
    aggregated: Mapping[str, PublishedValue]
    note: str | None

    def row(self, name: str) -> PublishedRow | None:
        """The row of a problem or benchmark, None if there is none."""
        return next((row for row in self.rows if row.name == name), None)


@dataclass(frozen=True, slots=True)
class Printed:
    """Published values next to ours.

    Attributes:
        cells: Problem -> selector -> value for the same data.
        aggregated: Selector -> aggregate over the same data.
        rows: Title -> selector -> value for the paper's own data, to be compared in kind.
        notes: Remarks on them.
    """

    cells: Mapping[str, Mapping[str, PublishedValue]] = field(default_factory=dict)
    aggregated: Mapping[str, PublishedValue] = field(default_factory=dict)
    rows: Mapping[str, Mapping[str, PublishedValue]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def printed_next_to(
    settings: Mapping[str, Any], problems: Sequence[str], k: int, metric: str, trials: int
) -> Printed:
    """Return the values that the paper prints for a benchmark of ours.

    Nothing is comparable if one of the problems is not the paper's.
    """
    kind = settings.get("kind")
    if kind == "real" and metric in ("final", "auc"):
        return _printed_real(published_benchmarks(metric), k)
    if kind != "synthetic" or metric != "final":
        return Printed()
    dim, noise = settings["dim"], settings["noise"]
    table = published_table(dim, noise)
    if table is None:
        return Printed()
    cells = {row.name: row.values for row in table.rows if row.rounds == k}
    if not set(problems) <= set(cells):
        return Printed()
    usual = GRIDS[dim][3]
    differs = f"The paper has {usual} matrices: oracle and aggregate depend on their number."
    notes = (differs if noise > 0 and trials != usual else None, table.note)
    return Printed(cells, table.aggregated, notes=tuple(filter(None, notes)))


def _printed_real(table: PublishedTable, k: int) -> Printed:
    rows = {f"paper: {row.name}": row.values for row in table.rows if row.rounds == k}
    if not rows:
        return Printed()
    notes = ["The paper's rows are for its own matrices; its aggregate is over K = 12 and 50."]
    if table.note is not None:
        notes.append(f"The paper: {table.note}")
    rows["paper: aggregated"] = table.aggregated
    return Printed(rows=rows, notes=tuple(notes))


def published_table(dim: int, noise: float) -> PublishedTable | None:
    """Return the paper's table for a synthetic data set, or None if there is none."""
    return _tables().get(f"{dim}d, noise {noise:g}")


def published_benchmarks(metric: str = "final") -> PublishedTable:
    """Return the paper's table for CartPole, BipedalWalker, IntersectionZoo and CyclesGym.

    Args:
        metric: "final" for the performance after K rounds, "auc" for its mean over the rounds.

    >>> published_benchmarks().rows[0].values["multi-task"].mean
    0.9967
    """
    return _tables()[f"benchmarks, {metric}"]


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, PublishedTable]:
    """Every table, by what it is about; the 3D ones print "None" for what we call constant."""
    resource = files("sdmbtl_lab.benchmarks") / "data" / "published.json"
    document = json.loads(resource.read_text(encoding="utf-8"))
    tables: Mapping[str, PublishedTable] = from_json(
        Mapping[str, PublishedTable], document["tables"]
    )
    return tables
