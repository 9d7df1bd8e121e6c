"""Running selectors on known transfer matrices: many trials, in parallel, resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal, Key
from sdmbtl.benchmarks.metrics import expected_random_curve
from sdmbtl.benchmarks.simulate import simulate
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError
from sdmbtl.matrices.margins import sequence_curves
from sdmbtl.parallel import computed
from sdmbtl.selectors import make_selector, oracle_sequence, selector_names

#: Baselines that are computed from the whole matrix instead of by ask and tell.
RANDOM, INDEPENDENT = "random", "independent"
MYOPIC, SEQUENTIAL = "myopic-oracle", "sequential-oracle"

#: Called with the number of finished and of all pieces of work, and what was finished.
Progress = Callable[[int, int, str], None]


class Work(Protocol):
    """A piece of work: it makes records for the journal."""

    @property
    def label(self) -> str:
        """What to show for it."""

    def is_done(self, journal: Journal) -> bool:
        """Whether all its records exist."""

    def compute(self) -> list[tuple[Key, dict[str, Any]]]:
        """Make the records."""


class Benchmark(Protocol):
    """Selectors that run on some data."""

    @property
    def selectors(self) -> tuple[str, ...]:
        """Names, with those that set the scale."""

    @property
    def settings(self) -> dict[str, Any]:
        """What the records of a run depend on, besides the selectors."""

    def run(self, journal: Journal, *, jobs: int = 1, progress: Progress | None = None) -> None:
        """Do all work that the journal does not hold yet."""


class MatrixData(Protocol):
    """Transfer matrices of one kind, one for each trial."""

    @property
    def name(self) -> str:
        """A short unique name."""

    @property
    def label(self) -> str:
        """What to show for it."""

    @property
    def space(self) -> ContextSpace:
        """The contexts."""

    def matrix(self, trial: int) -> NDArray[np.floating]:
        """(N, N) returns of one trial."""


def with_both_ends(selectors: Iterable[str]) -> tuple[str, ...]:
    """Selectors, and random and the Myopic Oracle, which set the scale.

    Raises:
        BenchmarkError: If a name is unknown.
    """
    names = tuple(selectors)
    known = {*selector_names(), MYOPIC, SEQUENTIAL}
    for name in names:
        if name not in known:
            raise BenchmarkError(
                f"Unknown selector {name!r}. Known are: {', '.join(sorted(known))}."
            )
    return (*names, *(name for name in (RANDOM, MYOPIC) if name not in names))


def run_units(
    units: Iterable[Work], journal: Journal, *, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Do all work that the journal does not hold yet.

    Args:
        units: All the work.
        journal: Where records are kept; afterwards it has them all.
        jobs: Number of processes.
        progress: Called after each piece of work.
    """
    every = list(units)
    todo = [unit for unit in every if not unit.is_done(journal)]
    done = len(every) - len(todo)
    if progress:
        progress(done, len(every), "")
    for unit, records in computed(_records, todo, jobs):
        for key, record in records:
            journal.write(key, record)
        done += 1
        if progress:
            progress(done, len(every), unit.label)


def _records(unit: Work) -> list[tuple[Key, dict[str, Any]]]:
    return unit.compute()


def units_of(
    data: MatrixData, trials: int, selectors: Iterable[str], rounds: int
) -> Iterator[Unit]:
    """The work on one kind of matrices."""
    by_trial = tuple(name for name in selectors if name != MYOPIC)
    for trial in range(trials):
        yield Unit(data, (trial,), by_trial, rounds)
    yield Unit(data, tuple(range(trials)), (MYOPIC,), rounds)


@dataclass(frozen=True)
class Unit:
    """A piece of work: some selectors on one trial, or the Myopic Oracle on all of them."""

    data: MatrixData
    trials: tuple[int, ...]
    names: tuple[str, ...]
    rounds: int

    @property
    def label(self) -> str:
        """What to show for it."""
        which = f"trial {self.trials[0]}" if self.names != (MYOPIC,) else "oracle"
        return f"{self.data.label}: {which}"

    def keys(self) -> Iterator[Key]:
        """Keys of the records it makes."""
        for trial in self.trials:
            for name in self.names:
                yield record_key(self.data.name, trial, name)

    def is_done(self, journal: Journal) -> bool:
        """Whether all its records exist."""
        return all(key in journal for key in self.keys())

    def compute(self) -> list[tuple[Key, dict[str, Any]]]:
        """Make the records."""
        if self.names == (MYOPIC,):
            return self._myopic_oracle()
        matrix = self.data.matrix(self.trials[0])
        extent = {
            "low": float(matrix.min()),
            "high": float(matrix.max()),
            "all_policies": float(matrix.max(axis=0).mean(dtype=np.float64)),
        }
        return [
            (
                record_key(self.data.name, self.trials[0], name),
                {**extent, **self._one(name, matrix)},
            )
            for name in self.names
        ]

    def _one(self, name: str, matrix: NDArray[np.floating]) -> dict[str, Any]:
        """The record of one selector on one matrix, in raw returns."""
        space = self.data.space
        if name == RANDOM:
            return {"curve": expected_random_curve(matrix, self.rounds).tolist()}
        if name == INDEPENDENT:
            return {"curve": [float(np.diagonal(matrix).mean(dtype=np.float64))] * self.rounds}
        if name == SEQUENTIAL:
            indices = oracle_sequence(matrix[None], self.rounds)
            return {"curve": sequence_curves(matrix[None], indices)[0].tolist(), "indices": indices}
        selector = make_selector(name, space, seed=self.trials[0])
        run = simulate(selector, matrix, self.rounds)
        return {
            "curve": run.curve,
            "indices": run.indices,
            "strategies": run.strategies,
            "structures": run.structures,
        }

    def _myopic_oracle(self) -> list[tuple[Key, dict[str, Any]]]:
        first = self.data.matrix(self.trials[0])
        returns = np.empty((len(self.trials), *first.shape), dtype=first.dtype)
        returns[0] = first
        for number, trial in enumerate(self.trials[1:], start=1):
            returns[number] = self.data.matrix(trial)
        indices = oracle_sequence(returns, self.rounds)
        curves = sequence_curves(returns, indices).tolist()
        return [
            (key, {"curve": curve, "indices": indices})
            for key, curve in zip(self.keys(), curves, strict=True)
        ]


def record_key(data: str, trial: int, selector: str) -> Key:
    """Key of the record of one selector on one trial of some data."""
    return (data, str(trial), selector)


def journal_path(out: Path, benchmark: str) -> Path:
    """Where the records of an unfinished benchmark are."""
    return out / f"{benchmark}.partial.jsonl"
