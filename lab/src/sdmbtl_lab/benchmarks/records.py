"""The work of a benchmark: what selectors and baselines do on one matrix, in raw returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.make import make_selector
from sdmbtl_lab.benchmarks.columns import INDEPENDENT, MYOPIC, RANDOM, SEQUENTIAL
from sdmbtl_lab.benchmarks.journal import Key, Record
from sdmbtl_lab.benchmarks.problem import Problem
from sdmbtl_lab.benchmarks.simulate import simulate
from sdmbtl_lab.matrices.margins import (
    expected_random_curve,
    oracle_sequence,
    sequence_curves,
)


def units_of(
    problem: Problem, trials: int, selectors: Iterable[str], rounds: int
) -> Iterator[Unit]:
    """The work on one problem."""
    by_trial = tuple(name for name in selectors if name != MYOPIC)
    for trial in range(trials):
        yield Unit(problem, (trial,), by_trial, rounds)
    yield Unit(problem, tuple(range(trials)), (MYOPIC,), rounds)


def record_key(problem: str, trial: int, selector: str) -> Key:
    """Key of the record of one selector on one matrix of a problem."""
    return (problem, str(trial), selector)


@dataclass(frozen=True)
class Unit:
    """A piece of work: some selectors on one matrix, or the Myopic Oracle on all of them.

    Attributes:
        problem: The problem.
        trials: Numbers of the matrices.
        names: The selectors.
        rounds: K, the number of trained policies.
    """

    problem: Problem
    trials: tuple[int, ...]
    names: tuple[str, ...]
    rounds: int

    @property
    def label(self) -> str:
        """Label in the progress display."""
        which = f"matrix {self.trials[0]}" if self.names != (MYOPIC,) else "oracle"
        return f"{self.problem.label}: {which}"

    def keys(self) -> Iterator[Key]:
        """Keys of the records it makes."""
        for trial in self.trials:
            for name in self.names:
                yield record_key(self.problem.name, trial, name)

    def compute(self) -> list[tuple[Key, Record]]:
        """Make the records."""
        if self.names == (MYOPIC,):
            return self._myopic_oracle()
        matrix = self.problem.matrix(self.trials[0])
        extent = {
            "low": float(matrix.min()),
            "high": float(matrix.max()),
            "all_policies": float(matrix.max(axis=0).mean(dtype=np.float64)),
        }
        return [
            (key, {**extent, **self._one(name, matrix)})
            for key, name in zip(self.keys(), self.names, strict=True)
        ]

    def _one(self, name: str, matrix: NDArray[np.floating]) -> Record:
        """The record of one selector on one matrix, in raw returns."""
        if name == RANDOM:
            return {"curve": expected_random_curve(matrix, self.rounds).tolist()}
        if name == INDEPENDENT:
            return {"curve": [float(np.diagonal(matrix).mean(dtype=np.float64))] * self.rounds}
        if name == SEQUENTIAL:
            indices = oracle_sequence(matrix[None], self.rounds)
            return {"curve": sequence_curves(matrix[None], indices)[0].tolist(), "indices": indices}
        selector = make_selector(name, self.problem.space, seed=self.trials[0])
        return vars(simulate(selector, matrix, self.rounds))

    def _myopic_oracle(self) -> list[tuple[Key, Record]]:
        first = self.problem.matrix(self.trials[0])
        returns = np.empty((len(self.trials), *first.shape), dtype=first.dtype)
        returns[0] = first
        for number, trial in enumerate(self.trials[1:], start=1):
            returns[number] = self.problem.matrix(trial)
        indices = oracle_sequence(returns, self.rounds)
        curves = sequence_curves(returns, indices).tolist()
        return [
            (key, {"curve": curve, "indices": indices})
            for key, curve in zip(self.keys(), curves, strict=True)
        ]
