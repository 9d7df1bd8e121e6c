"""What a round of a selector costs: CPU time and memory, by the number of targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdmbtl.benchmarks.journal import Journal, Key
from sdmbtl.benchmarks.layout import choosing, titles
from sdmbtl.benchmarks.runner import Progress, run_units, with_both_ends
from sdmbtl.benchmarks.selection_cost import Measurement
from sdmbtl.benchmarks.summary import provenance
from sdmbtl.benchmarks.tables import Cell, Table, TableRow

#: Number of targets -> rounds that are run; fewer where a round takes long.
ROUNDS = {512: 50, 3125: 50, 16384: 20}
#: Rounds are counted from here on: before it hardly anything is fitted.
FIRST_COUNTED = 3
#: Key in the result -> what to call the matrix.
KINDS = {"mountain": "Mountain", "not_mountain": "not Mountain"}
#: Key in the result -> what to call it in the table.
FIGURES = {"median_ms": "median ms", "slowest_ms": "slowest ms", "peak_mib": "peak MiB"}


@dataclass(frozen=True)
class CostBenchmark:
    """Which selectors are measured on how many targets.

    Attributes:
        selectors: Names; what sets the scale costs nothing worth measuring.
        rounds: Number of targets -> rounds.
    """

    selectors: tuple[str, ...]
    rounds: Mapping[int, int] = field(default_factory=lambda: dict(ROUNDS))

    def __post_init__(self) -> None:
        known = with_both_ends(self.selectors)  # refuses unknown names
        object.__setattr__(self, "selectors", tuple(choosing(known)))

    @property
    def settings(self) -> dict[str, Any]:
        """What the records of a run depend on, besides the selectors."""
        return {"benchmark": "cost", "rounds": {str(n): k for n, k in self.rounds.items()}}

    def run(self, journal: Journal, *, jobs: int = 1, progress: Progress | None = None) -> None:
        """Do all work that the journal does not hold yet.

        Args:
            journal: Where records are kept; afterwards it has them all.
            jobs: Number of processes; never more than one is used, two would slow each other down.
            progress: Called after each piece of work.
        """
        run_units(self.units(), journal, jobs=min(jobs, 1), progress=progress)

    def units(self) -> list[CostUnit]:
        """The measurements."""
        return [
            CostUnit(Measurement(name, targets, rounds, kind == "mountain"))
            for targets, rounds in self.rounds.items()
            for name in self.selectors
            for kind in KINDS
        ]


@dataclass(frozen=True)
class CostUnit:
    """One measurement as a piece of work."""

    measurement: Measurement

    @property
    def label(self) -> str:
        """What to show for it."""
        return f"{self.measurement.targets} targets: {self.measurement.selector}"

    @property
    def key(self) -> Key:
        """Key of its record."""
        kind = "mountain" if self.measurement.mountain else "not_mountain"
        return (str(self.measurement.targets), kind, self.measurement.selector)

    def is_done(self, journal: Journal) -> bool:
        """Whether its record exists."""
        return self.key in journal

    def compute(self) -> list[tuple[Key, dict[str, Any]]]:
        """Make the record."""
        return [(self.key, self.measurement.in_own_process())]


def summarise(benchmark: CostBenchmark, journal: Journal) -> dict[str, Any]:
    """Everything worth keeping of a finished run, as JSON data."""
    return {
        **benchmark.settings,
        "selectors": list(benchmark.selectors),
        **provenance(journal.heading["code"]),
        "first_counted": FIRST_COUNTED,
        "measured": [
            {
                "targets": targets,
                "rounds": rounds,
                "selectors": {
                    name: {kind: _figures(journal[str(targets), kind, name]) for kind in KINDS}
                    for name in benchmark.selectors
                },
            }
            for targets, rounds in benchmark.rounds.items()
        ],
    }


def _figures(record: dict[str, Any]) -> dict[str, float]:
    milliseconds = 1e3 * np.array(record["seconds"][FIRST_COUNTED - 1 :])
    return {
        "median_ms": float(np.median(milliseconds)),
        "slowest_ms": float(milliseconds.max()),
        "peak_mib": record["peak_mib"],
    }


def costliest(measured: dict[str, Any], selector: str, figure: str) -> float:
    """A figure of a selector on so many targets, of the kind of matrix where it is largest.

    Args:
        measured: One of the entries `measured` of a result.
        selector: Its name.
        figure: One of `FIGURES`.
    """
    return float(max(measured["selectors"][selector][kind][figure] for kind in KINDS))


def cost_table(result: dict[str, Any]) -> Table:
    """Time per round and peak memory of every selector, by number of targets and matrix."""
    rows = [
        TableRow(
            (str(measured["targets"]), KINDS[kind], f"{FIRST_COUNTED}..{measured['rounds']}", text),
            tuple(
                Cell(measured["selectors"][name][kind][figure], None)
                for name in result["selectors"]
            ),
        )
        for measured in result["measured"]
        for kind in KINDS
        for figure, text in FIGURES.items()
    ]
    return Table(
        title="Cost of a round",
        label_headers=("targets", "matrix", "rounds", "figure"),
        columns=titles(result["selectors"]),
        rows=tuple(rows),
        notes=(
            "CPU time of ask and tell on one thread, on synthetic matrices with noise 5. Rows are "
            "made when they are asked for: the memory is that of the process without a matrix.",
        ),
    )
