"""Running selectors on the synthetic matrices: many trials, in parallel, resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal, Key
from sdmbtl.benchmarks.metrics import expected_random_curve
from sdmbtl.benchmarks.simulate import simulate
from sdmbtl.benchmarks.synthetic import (
    GRIDS,
    SyntheticConfiguration,
    further_configurations,
    paper_configurations,
)
from sdmbtl.checks import finite_number, whole_number
from sdmbtl.errors import BenchmarkError
from sdmbtl.parallel import computed
from sdmbtl.selectors import make_selector, oracle_sequence, selector_names

#: Baselines that are computed from the whole matrix instead of by ask and tell.
RANDOM, INDEPENDENT = "random", "independent"
MYOPIC, SEQUENTIAL = "myopic-oracle", "sequential-oracle"
DEFAULT_SELECTORS = (RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", MYOPIC)

#: K of the paper's tables.
PAPER_ROUNDS = 50

#: Called with the number of finished and of all pieces of work, and what was finished.
Progress = Callable[[int, int, str], None]


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
        known = {*selector_names(), MYOPIC, SEQUENTIAL}
        for name in self.selectors:
            if name not in known:
                raise BenchmarkError(
                    f"Unknown selector {name!r}. Known are: {', '.join(sorted(known))}."
                )
        ends = [name for name in (RANDOM, MYOPIC) if name not in self.selectors]
        object.__setattr__(self, "selectors", (*self.selectors, *ends))

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
        units = [unit for unit in self._units() if not unit.is_done(journal)]
        total = sum(1 for _ in self._units())
        done = total - len(units)
        if progress:
            progress(done, total, "")
        for unit, records in computed(Unit.compute, units, jobs):
            for key, record in records:
                journal.write(key, record)
            done += 1
            if progress:
                progress(done, total, unit.label)

    def _units(self) -> Iterator[Unit]:
        by_trial = tuple(name for name in self.selectors if name != MYOPIC)
        for configuration in self.configurations:
            for trial in range(self.n_trials):
                yield Unit(configuration, (trial,), by_trial, self.noise, self.rounds)
            trials = tuple(range(self.n_trials))
            yield Unit(configuration, trials, (MYOPIC,), self.noise, self.rounds)


@dataclass(frozen=True)
class Unit:
    """A piece of work: some selectors on one trial, or the Myopic Oracle on all of them."""

    configuration: SyntheticConfiguration
    trials: tuple[int, ...]
    names: tuple[str, ...]
    noise: float
    rounds: int

    @property
    def label(self) -> str:
        """What to show for it."""
        h = self.configuration.h.replace("non-distance", "non-dist.")
        which = f"trial {self.trials[0]}" if self.names != (MYOPIC,) else "oracle"
        return f"f {self.configuration.f[:5]}, g {self.configuration.g[:5]}, h {h}: {which}"

    def keys(self) -> Iterator[Key]:
        """Keys of the records it makes."""
        for trial in self.trials:
            for name in self.names:
                yield record_key(self.configuration, trial, name)

    def is_done(self, journal: Journal) -> bool:
        """Whether all its records exist."""
        return all(key in journal for key in self.keys())

    def compute(self) -> list[tuple[Key, dict[str, Any]]]:
        """Make the records."""
        if self.names == (MYOPIC,):
            return self._myopic_oracle()
        matrix = self.configuration.trial(self.trials[0], self.noise)
        extent = {
            "low": float(matrix.min()),
            "high": float(matrix.max()),
            "all_policies": float(matrix.max(axis=0).mean(dtype=np.float64)),
        }
        return [
            (
                record_key(self.configuration, self.trials[0], name),
                {**extent, **self._one(name, matrix)},
            )
            for name in self.names
        ]

    def _one(self, name: str, matrix: NDArray[np.floating]) -> dict[str, Any]:
        """The record of one selector on one matrix, in raw returns."""
        space = self.configuration.space
        if name == RANDOM:
            return {"curve": expected_random_curve(matrix, self.rounds).tolist()}
        if name == INDEPENDENT:
            return {"curve": [float(np.diagonal(matrix).mean(dtype=np.float64))] * self.rounds}
        if name == SEQUENTIAL:
            indices = oracle_sequence(matrix[None], self.rounds)
            return {"curve": _curves(matrix[None], indices)[0], "indices": indices}
        selector = make_selector(name, space, seed=self.trials[0])
        run = simulate(selector, matrix, self.rounds)
        return {
            "curve": run.curve,
            "indices": run.indices,
            "strategies": run.strategies,
            "structures": run.structures,
        }

    def _myopic_oracle(self) -> list[tuple[Key, dict[str, Any]]]:
        first = self.configuration.trial(self.trials[0], self.noise)
        returns = np.empty((len(self.trials), *first.shape), dtype=first.dtype)
        returns[0] = first
        for number, trial in enumerate(self.trials[1:], start=1):
            returns[number] = self.configuration.trial(trial, self.noise)
        indices = oracle_sequence(returns, self.rounds)
        curves = _curves(returns, indices)
        return [
            (key, {"curve": curve, "indices": indices})
            for key, curve in zip(self.keys(), curves, strict=True)
        ]


def record_key(configuration: SyntheticConfiguration, trial: int, name: str) -> Key:
    """Key of the record of one selector on one trial."""
    return (configuration.name, str(trial), name)


def journal_path(out: Path, benchmark: SyntheticBenchmark) -> Path:
    """Where the records of an unfinished run are."""
    return out / f"{benchmark.name}.partial.jsonl"


def _curves(returns: NDArray[np.floating], indices: list[int]) -> list[list[float]]:
    """For each trial the performance after each round of one sequence; returns is (W, M, N)."""
    best = np.maximum.accumulate(returns[:, indices], axis=1)
    return [row.mean(axis=1, dtype=np.float64).tolist() for row in best]
