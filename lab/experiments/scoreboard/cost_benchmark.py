"""What a round of a selector costs: CPU time and memory, by the number of targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoreboard.selection_cost import Measurement
from sdmbtl.fingerprint import code_fingerprint
from sdmbtl.json_data import as_json
from sdmbtl.software import versions
from sdmbtl_lab.benchmarks.columns import titles, with_both_ends, without_baselines
from sdmbtl_lab.benchmarks.journal import Journal, Key, Progress, Record
from sdmbtl_lab.benchmarks.tables import Cell, Table, TableRow

#: Number of targets -> rounds that are run; fewer where a round takes long.
ROUNDS = {512: 50, 3125: 50, 16384: 20}
#: Rounds are counted from here on: before it hardly anything is fitted.
FIRST_COUNTED = 3
#: Key in the result -> what to call the matrix.
KINDS = {"mountain": "Mountain", "not_mountain": "not Mountain"}
#: Key in the result -> what to call it in the table.
FIGURES = {"median_ms": "median ms", "slowest_ms": "slowest ms", "peak_mib": "peak MiB"}
#: Key in the result -> digits behind the point in tables.
DIGITS = {"median_ms": 1, "slowest_ms": 1, "peak_mib": 0}


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
        object.__setattr__(self, "selectors", tuple(without_baselines(known)))

    @property
    def heading(self) -> dict[str, Any]:
        """What the records of a run depend on."""
        code = code_fingerprint("sdmbtl.selectors", __name__)
        return {"benchmark": "cost", "rounds": as_json(self.rounds), "code": code}

    def run(
        self, journal: Journal, *, jobs: int = 1, progress: Progress | None = None
    ) -> CostResult:
        """Do all work that the journal does not hold yet.

        Args:
            journal: Where records are kept; afterwards it has them all.
            jobs: Number of processes; never more than one is used, two would slow each other down.
            progress: Called after each piece of work.
        """
        del jobs
        journal.complete(map(CostUnit, self._measurements()), progress=progress)
        measured = tuple(
            Cost(
                targets,
                rounds,
                {
                    name: {kind: _figures(journal[str(targets), kind, name]) for kind in KINDS}
                    for name in self.selectors
                },
            )
            for targets, rounds in self.rounds.items()
        )
        return CostResult(self.selectors, measured, journal.heading["code"], versions())

    def _measurements(self) -> Iterator[Measurement]:
        for targets, rounds in self.rounds.items():
            for name in self.selectors:
                for kind in KINDS:
                    yield Measurement(name, targets, rounds, kind == "mountain")


@dataclass(frozen=True)
class CostUnit:
    """One measurement as a piece of work."""

    measurement: Measurement

    @property
    def label(self) -> str:
        """What to show for it."""
        return f"{self.measurement.targets} targets: {self.measurement.selector}"

    def keys(self) -> list[Key]:
        """Key of its record."""
        kind = "mountain" if self.measurement.mountain else "not_mountain"
        return [(str(self.measurement.targets), kind, self.measurement.selector)]

    def compute(self) -> list[tuple[Key, Record]]:
        """Make the record."""
        return [(self.keys()[0], self.measurement.in_own_process())]


@dataclass(frozen=True)
class Cost:
    """The cost of a round on a number of targets.

    Attributes:
        targets: N.
        rounds: Rounds that were run.
        selectors: Selector -> kind of matrix -> figure -> number.
    """

    targets: int
    rounds: int
    selectors: Mapping[str, Mapping[str, Mapping[str, float]]]

    def highest(self, selector: str, figure: str) -> float:
        """A figure of a selector, of the kind of matrix where it is largest."""
        return max(self.selectors[selector][kind][figure] for kind in KINDS)


@dataclass(frozen=True)
class CostResult:
    """What rounds of selectors cost.

    Attributes:
        selectors: Their names.
        measured: By number of targets.
        code: Fingerprint of the code that was measured.
        versions: Of Python and of the packages.
    """

    selectors: tuple[str, ...]
    measured: tuple[Cost, ...]
    code: str
    versions: Mapping[str, str]

    def table(self) -> Table:
        """Time per round and peak memory of every selector, by number of targets and matrix."""
        rows = [
            TableRow(
                (str(cost.targets), KINDS[kind], f"{FIRST_COUNTED}..{cost.rounds}", text),
                tuple(
                    Cell(cost.selectors[name][kind][figure], digits=DIGITS[figure])
                    for name in self.selectors
                ),
            )
            for cost in self.measured
            for kind in KINDS
            for figure, text in FIGURES.items()
        ]
        return Table(
            title="Cost of a round",
            label_headers=("targets", "matrix", "rounds", "figure"),
            columns=titles(self.selectors),
            rows=tuple(rows),
            notes=(
                "CPU time of ask and tell on one thread, on synthetic matrices with noise 5. Rows "
                "are made when they are asked for: the memory is that of the process without a "
                "matrix.",
            ),
        )


def _figures(record: Record) -> dict[str, float]:
    milliseconds = 1e3 * np.array(record["seconds"][FIRST_COUNTED - 1 :])
    return {
        "median_ms": float(np.median(milliseconds)),
        "slowest_ms": float(milliseconds.max()),
        "peak_mib": record["peak_mib"],
    }
