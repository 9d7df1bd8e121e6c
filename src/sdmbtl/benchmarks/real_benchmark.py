"""The paper's experiment on matrices of real training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.runner import (
    INDEPENDENT,
    MYOPIC,
    RANDOM,
    SEQUENTIAL,
    Progress,
    Unit,
    run_units,
    units_of,
    with_both_ends,
)
from sdmbtl.checks import whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError
from sdmbtl.matrices import TransferDataset
from sdmbtl.matrices.shipped import load_matrix, matrix_names
from sdmbtl.seeds import derived_seed

#: The paper's selectors and its ablation: each strategy alone, and each with random choice.
REAL_SELECTORS = (
    *(INDEPENDENT, RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl"),
    *("m+random", "gp+random", MYOPIC, SEQUENTIAL),
)
#: K of the tables. The paper has 12 and 50.
BUDGETS = (6, 12, 50)
#: Matrices that are drawn from the seeds, as in the paper.
MATRICES = 100


@dataclass(frozen=True)
class RealBenchmark:
    """Which selectors run on which matrices of real training.

    Attributes:
        data: Names of shipped data sets, or paths; all shipped ones if left out.
        matrices: Number of matrices that are drawn from the seeds of each data set: every row,
            a training run, comes from one of the seeds.
        budgets: Numbers of trained policies that are reported, in order.
        selectors: Names; random and the Myopic Oracle always take part, they set the scale.
    """

    data: tuple[str, ...] = ()
    matrices: int = MATRICES
    budgets: tuple[int, ...] = BUDGETS
    selectors: tuple[str, ...] = REAL_SELECTORS

    def __post_init__(self) -> None:
        if not self.data:
            object.__setattr__(self, "data", matrix_names())
        if not self.data:
            raise BenchmarkError("No matrices ship with this package. Give the paths of some.")
        names = [data.name for data in self.every_data()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BenchmarkError(
                f"Two data sets are called {twice[0]!r}. Give each of them once, and own ones "
                "their own names: the name of their directory."
            )
        whole_number("matrices", self.matrices, low=1, error=BenchmarkError)
        if not self.budgets:
            raise BenchmarkError("There is no number of policies to report: give at least one.")
        for budget in self.budgets:
            whole_number("budgets", budget, low=1, error=BenchmarkError)
        object.__setattr__(self, "budgets", tuple(sorted(set(self.budgets))))
        object.__setattr__(self, "selectors", with_both_ends(self.selectors))

    @property
    def name(self) -> str:
        """Name of the result file, without ending."""
        name = "real"  # what is not the whole must not take its place
        if self.data != matrix_names():
            name += f"-{short_names([data.name for data in self.every_data()])}"
        if set(self.selectors) != set(REAL_SELECTORS):
            chosen = [s for s in self.selectors if s not in (RANDOM, MYOPIC)]
            name += f"-{short_names(chosen or [RANDOM])}"
        if self.matrices != MATRICES:
            name += f"-w{self.matrices}"
        return name if self.budgets == BUDGETS else f"{name}-k{_joined(self.budgets)}"

    @property
    def settings(self) -> dict[str, Any]:
        """What the records of a run depend on, besides the selectors."""
        return {
            "benchmark": "real",
            "matrices": self.matrices,
            "rounds": self.budgets[-1],
            "returns": {data.name: data.fingerprint() for data in self.every_data()},
        }

    def every_data(self) -> list[RealData]:
        """The data sets."""
        return [RealData(name) for name in self.data]

    def rounds(self, data: RealData) -> int:
        """K of a data set: as many policies as are reported, or as there are contexts."""
        return min(self.budgets[-1], len(data.space))

    def run(self, journal: Journal, *, jobs: int = 1, progress: Progress | None = None) -> None:
        """Do all work that the journal does not hold yet.

        Args:
            journal: Where records are kept; afterwards it has them all.
            jobs: Number of processes.
            progress: Called after each piece of work.
        """
        run_units(self._units(), journal, jobs=jobs, progress=progress)

    def _units(self) -> Iterator[Unit]:
        for data in self.every_data():
            yield from units_of(data, self.matrices, self.selectors, self.rounds(data))


@dataclass(frozen=True)
class RealData:
    """Matrices that are drawn from the seeds of a data set.

    Attributes:
        place: Name of a shipped data set, or a path.
    """

    place: str

    @property
    def dataset(self) -> TransferDataset:
        """The data set, kept in memory while others are not asked for."""
        return _loaded(self.place)

    @property
    def name(self) -> str:
        """Its name."""
        return self.dataset.name

    @property
    def label(self) -> str:
        """What to show for it."""
        return self.name

    @property
    def space(self) -> ContextSpace:
        """The contexts."""
        return self.dataset.space

    def matrix(self, trial: int) -> NDArray[np.floating]:
        """(N, N) returns of one trial."""
        return self.dataset.matrices.resampled(derived_seed(0, f"rows of {self.name}", trial))

    def fingerprint(self) -> str:
        """A hash of the returns."""
        return hashlib.sha256(self.dataset.returns.tobytes()).hexdigest()[:16]


def short_names(names: Sequence[str]) -> str:
    """Names in the name of a file; a few in full, many by a hash."""
    if len(names) > 3:
        return f"{len(names)}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:6]}"
    return _joined(name.replace("/", "") for name in names)


def _joined(parts: Iterable[object]) -> str:
    return "-".join(map(str, parts))


@lru_cache(maxsize=2)
def _loaded(place: str) -> TransferDataset:
    return load_matrix(place)
