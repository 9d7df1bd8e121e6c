"""The default selector: structures that predict, tested on every row, and expected improvement."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.base import Proposal, Selector
from sdmbtl.selectors.choice import best_target
from sdmbtl.selectors.history import History
from sdmbtl.selectors.mountain import MountainSelector
from sdmbtl.structure.additive import FreeQualityStructure, MountainStructure, SlopesStructure
from sdmbtl.structure.base import NO_STRUCTURE
from sdmbtl.structure.contest import PredictionContest
from sdmbtl.structure.improvement import bounded_improvement
from sdmbtl.structure.plateau import PlateauStructure
from sdmbtl.structure.unstructured import NoStructure

FAVOURITE = "plateau"
SOME_TARGETS, FINALISTS = 192, 64


class PredictiveSelector(Selector):
    name: ClassVar[str] = "auto"
    none: ClassVar[bool] = True
    least: ClassVar[float] = 0.15
    structures: ClassVar[tuple] = (MountainStructure, SlopesStructure, FreeQualityStructure, PlateauStructure)

    def __init__(self, space: ContextSpace, *, seed: int = 0) -> None:
        super().__init__(space, seed=seed)
        structures = [s() for s in self.structures]
        if self.none:
            structures.append(NoStructure())
        self.contest = PredictionContest(structures, favourite=FAVOURITE)
        self._first = MountainSelector(space, seed=seed)

    def propose(self, history: History) -> Proposal:
        rows = history.rows
        if not len(rows):
            return self._first.propose(history)
        self.contest.watch(rows)
        free = history.free_targets()
        if len(rows) == 1:
            return self._second(history, free)
        verdict = self.contest.verdict()
        if verdict.structure == NO_STRUCTURE:
            rng = history.rng("no structure")
            index = int(rng.choice(np.flatnonzero(free)))
            return Proposal(self.space.targets[index], NO_STRUCTURE, "random", structure=NO_STRUCTURE)
        index, gain = self._best(history, free, verdict.structure)
        if gain <= 1e-6 * np.ptp(self.contest.rows.returns):
            return self._first.propose(history)
        return Proposal(self.space.targets[index], verdict.structure, verdict.explanation, structure=verdict.structure, numbers={"gain": gain})

    def _best(self, history, free, name):
        contest = self.contest
        units = self.space.unit_targets
        best = contest.rows.best
        candidates = np.flatnonzero(free)
        if len(units) > SOME_TARGETS:
            some = np.sort(history.rng("targets").choice(len(units), SOME_TARGETS, replace=False))
            rough = contest.improvements(name, units[candidates], some, best).mean(axis=1)
            candidates = candidates[np.argsort(-rough, kind="stable")[:FINALISTS]]
        gains = contest.improvements(name, units[candidates], slice(None), best).mean(axis=1)
        values = np.full(len(units), -1.0)
        values[candidates] = gains
        index = best_target(values, free, self.space.tie_rank)
        return index, float(values[index])

    def _second(self, history, free):
        rows = self.contest.rows
        u = self.space.unit_targets
        x, row = rows.sources[0], rows.returns[0]
        d = u - x
        X = np.concatenate([np.ones((len(u), 1)), d, np.abs(d)], 1)
        P = np.eye(X.shape[1]) * 1e-3 * len(u)
        P[0, 0] = 0
        b = np.linalg.solve(X.T @ X + P, X.T @ row)
        width = np.ptp(row) or 1.0
        sl = np.minimum(b[1 + u.shape[1]:], -.05 * width)
        far = (np.abs(d) >= self.least).all(1) & free
        cand = np.flatnonzero(far if far.any() else free)
        mean = row + (np.abs(u[cand][:, None] - u[None]) - np.abs(d)) @ sl
        g = bounded_improvement(mean, np.full((len(cand), 1), .1 * width), row, row.max()).mean(1)
        values = np.full(len(u), -1.0)
        values[cand] = g
        index = best_target(values, free, self.space.tie_rank)
        return Proposal(u[index] * 0 + self.space.targets[index], "mountain", "second")

    def evidence(self) -> list[dict[str, Any]]:
        return self.contest.evidence()
