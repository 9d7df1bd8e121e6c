"""The paper's experiment on synthetic matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.runner import (
    MYOPIC,
    RANDOM,
    Progress,
    Unit,
    run_units,
    units_of,
    with_both_ends,
)
from sdmbtl.benchmarks.synthetic import (
    GRIDS,
    SyntheticConfiguration,
    further_configurations,
    paper_configurations,
)
from sdmbtl.checks import finite_number, whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError

DEFAULT_SELECTORS = (RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", MYOPIC)

#: K of the paper's tables.
PAPER_ROUNDS = 50


@dataclass(frozen=True)
class SyntheticBenchmark:
    """Which selectors run on which synthetic matrices.

    Attributes:
        dim: Number of dimensions: 3, 5 or 7.
        noise: Standard deviation of the noise.
        trials: W; the paper's number if None. Without noise all trials are equal: one is run.
        rounds: K, the number of trained policies.
        selectors: Names; random and the Myopic Oracle always take part, they set the scale.
        configurations: Kinds of matrices; the paper's if left out.
    """

    dim: int
    noise: float
    trials: int | None = None
    rounds: int = PAPER_ROUNDS
    selectors: tuple[str, ...] = DEFAULT_SELECTORS
    configurations: tuple[SyntheticConfiguration, ...] = field(default=())

    def __post_init__(self) -> None:
        paper = paper_configurations(self.dim)  # refuses other dimensions
        if not self.configurations:
            object.__setattr__(self, "configurations", paper)
        if any(c.dim != self.dim for c in self.configurations):
            raise BenchmarkError(f"Every configuration must have {self.dim} dimensions.")
        finite_number("noise", self.noise, low=0, error=BenchmarkError)
        trials = GRIDS[self.dim][3] if self.trials is None else self.trials
        whole_number("trials", trials, low=1, error=BenchmarkError)
        object.__setattr__(self, "trials", trials if self.noise > 0 else 1)
        targets = len(self.configurations[0].space)
        if not 1 <= self.rounds <= targets:
            raise BenchmarkError(
                f"The number of rounds must be between 1 and {targets}, the number of targets. "
                f"Got {self.rounds} instead."
            )
        object.__setattr__(self, "selectors", with_both_ends(self.selectors))

    @property
    def n_trials(self) -> int:
        """W, the number of trials that are run."""
        return self.trials or 1

    @property
    def name(self) -> str:
        """Name of the result file, without ending."""
        kinds = {paper_configurations(self.dim): "", further_configurations(self.dim): "-further"}
        name = f"synthetic-{self.dim}d-noise{self.noise:g}{kinds.get(self.configurations, '-some')}"
        # A quick look must not take the place of the paper's experiment.
        if self.noise > 0 and self.n_trials != GRIDS[self.dim][3]:
            name += f"-w{self.n_trials}"
        return name if self.rounds == PAPER_ROUNDS else f"{name}-k{self.rounds}"

    @property
    def settings(self) -> dict[str, Any]:
        """What the records of a run depend on, besides the selectors."""
        return {
            "benchmark": "synthetic",
            "dim": self.dim,
            "noise": self.noise,
            "trials": self.n_trials,
            "rounds": self.rounds,
        }

    def run(self, journal: Journal, *, jobs: int = 1, progress: Progress | None = None) -> None:
        """Do all work that the journal does not hold yet.

        Args:
            journal: Where records are kept; afterwards it has them all.
            jobs: Number of processes.
            progress: Called after each piece of work.
        """
        run_units(self._units(), journal, jobs=jobs, progress=progress)

    def _units(self) -> Iterator[Unit]:
        for configuration in self.configurations:
            data = SyntheticData(configuration, self.noise)
            yield from units_of(data, self.n_trials, self.selectors, self.rounds)


@dataclass(frozen=True)
class SyntheticData:
    """The matrices of one configuration."""

    configuration: SyntheticConfiguration
    noise: float

    @property
    def name(self) -> str:
        """A short unique name."""
        return self.configuration.name

    @property
    def label(self) -> str:
        """What to show for it."""
        h = self.configuration.h.replace("non-distance", "non-dist.")
        return f"f {self.configuration.f[:5]}, g {self.configuration.g[:5]}, h {h}"

    @property
    def space(self) -> ContextSpace:
        """The contexts."""
        return self.configuration.space

    def matrix(self, trial: int) -> NDArray[np.floating]:
        """(N, N) returns of one trial."""
        return self.configuration.trial(trial, self.noise)
