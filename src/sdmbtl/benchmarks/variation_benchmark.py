"""Selectors on the variations: a set to develop on and a set to check with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.runner import Progress, Unit, run_units, units_of, with_both_ends
from sdmbtl.benchmarks.variations import Variation
from sdmbtl.checks import whole_number
from sdmbtl.errors import BenchmarkError

#: W, trials of each variation, and K, trained policies, at most half of all.
TRIALS, ROUNDS = 10, 50


@dataclass(frozen=True)
class VariationBenchmark:
    """Which selectors run on which variations.

    Attributes:
        variations: Kinds of matrices.
        selectors: Names; random and the Myopic Oracle always take part, they set the scale.
        trials: W.
    """

    variations: tuple[Variation, ...]
    selectors: tuple[str, ...]
    trials: int = TRIALS

    def __post_init__(self) -> None:
        whole_number("trials", self.trials, low=1, error=BenchmarkError)
        object.__setattr__(self, "selectors", with_both_ends(self.selectors))

    @property
    def settings(self) -> dict[str, Any]:
        """What the records of a run depend on, besides the selectors."""
        return {
            "benchmark": "variations",
            "names": [variation.name for variation in self.variations],
            "trials": self.trials,
            "rounds": ROUNDS,
        }

    @staticmethod
    def rounds(variation: Variation) -> int:
        """K of a variation."""
        return min(ROUNDS, len(variation.space) // 2)

    def run(self, journal: Journal, *, jobs: int = 1, progress: Progress | None = None) -> None:
        """Do all work that the journal does not hold yet.

        Args:
            journal: Where records are kept; afterwards it has them all.
            jobs: Number of processes.
            progress: Called after each piece of work.
        """
        run_units(self._units(), journal, jobs=jobs, progress=progress)

    def _units(self) -> Iterator[Unit]:
        for variation in self.variations:
            yield from units_of(variation, self.trials, self.selectors, self.rounds(variation))
