"""Which structure foretold the rows that then came?

Every structure predicts each new row from the rows before it. What a selector needs to know is
where a new policy will improve on the best so far, so that is what counts: the predicted
improvements on the targets are compared with the real ones. Their scale is left out: a structure
that expects twice the gain everywhere still points to the right context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import StructureError
from sdmbtl.structure.completed import CompletedRows
from sdmbtl.structure.improvement import LEAST_SPREAD, bounded_improvement
from sdmbtl.structure.predictive import FittedStructure, RowPrediction, Structure
from sdmbtl.transfer import ObservedRows

#: A row counts this much less for each row that came after it.
MEMORY = 0.9
HOMO = False
CELLS = 0
TOL = 0.0
CEIL = True
_cache = {}
def _cells(space, count):
    key=(space,count)
    if key in _cache: return _cache[key]
    groups=[np.arange(len(space))]
    u=space.unit_targets
    while len(groups)<count:
        groups.sort(key=len)
        g=groups.pop()
        if len(g)<2:
            groups.append(g); break
        d=int(np.ptp(u[g],axis=0).argmax()); o=g[np.argsort(u[g][:,d],kind="stable")]
        groups+= [o[:len(o)//2],o[len(o)//2:]]
    m=np.zeros((len(groups),len(u)))
    for i,g in enumerate(groups): m[i,g]=1
    _cache[key]=m
    return m


@dataclass
class Record:
    """How one structure has done so far.

    Attributes:
        structure: The structure.
        rounds: Numbers of the rows it was tested on: how many rows were known then.
        scores: How well it foretold the improvements by each of them, 0 to 1.
        errors: Mean squared error of the returns of each of them.
        variances: Variance of the returns that it expected of each of them.
        expected: Mean improvement it expected of each of them.
        gains: Mean improvement that each of them brought.
    """

    structure: Structure
    rounds: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    above: list[float] = field(default_factory=list)

    def ceiling(self, mean, seen):
        if not CEIL: return seen
        trust = (1 + sum(self.above)) / (1 + len(self.above))
        return seen + trust * np.maximum(mean - seen, 0.0)

    @property
    def score(self) -> float | None:
        """Mean of the scores, recent ones count more; None before the first."""
        if not self.scores:
            return None
        weights = MEMORY ** np.arange(len(self.scores))[::-1]
        return float(np.average(self.scores, weights=weights))

    @property
    def calibration(self) -> float | None:
        """How many times larger the squared errors were than expected; None before the first."""
        if not self.errors:
            return None
        return float(np.mean(self.errors) / np.mean(self.variances))


@dataclass(frozen=True)
class Verdict:
    """The structure to go on with, and the evidence for it.

    Attributes:
        structure: Name of the structure.
        fitted: The structure, fitted to all rows.
        explanation: Why this one, in words.
        scores: Score of each structure, None for one that was not tested yet.
    """

    structure: str
    fitted: FittedStructure
    explanation: str
    scores: dict[str, float | None]


class PredictionContest:
    """Keeps the structures side by side and says which one foretold the rows best.

    Args:
        structures: The structures, of equally good ones the first counts. None of them may have
            the same name as another.
        favourite: Name of the structure to go on with while nothing is known.
    """

    def __init__(self, structures: Sequence[Structure], favourite: str) -> None:
        names = [s.name for s in structures]
        if len(set(names)) < len(names) or favourite not in names:
            raise StructureError(
                f"The structures need different names, among them {favourite!r}, the one to begin "
                f"with. Got {names}."
            )
        self.structures = tuple(structures)
        self.favourite = favourite
        self._clear()

    def _clear(self) -> None:
        self.rows: CompletedRows | None = None
        self.records = {s.name: Record(s) for s in self.structures}
        self.fits: dict[str, FittedStructure] = {}

    def watch(self, rows: ObservedRows) -> None:
        """Take notice of all rows so far; what was seen before is not computed again."""
        if self.rows is not None and not rows.continues(self.rows.observed):
            self._clear()
        known = 0 if self.rows is None else len(self.rows)
        for count in range(known + 1, len(rows) + 1):
            some = CompletedRows.of(rows.first(count), self.rows)
            if self.rows is not None:
                self._test(self.rows, some)
            self.rows = some
            self.fits = {s.name: s.fit(some) for s in self.structures if count >= s.min_rows}

    def verdict(self) -> Verdict:
        """The structure to go on with, after at least as many rows as its minimum."""
        scores = {name: self.records[name].score for name in self.fits}
        tested = {name: score for name, score in scores.items() if score is not None}
        if not self.fits:
            raise StructureError("No structure can be fitted to so few rows.")
        if not tested:
            name = self.favourite if self.favourite in self.fits else next(iter(self.fits))
            return Verdict(name, self.fits[name], "nothing was put to the test yet", scores)
        top = max(tested.values())
        name = next(n for n in tested if tested[n] >= top - TOL)
        others = {n: s for n, s in tested.items() if n != name}
        text = f"foretold the gains of the last rows best (score {tested[name]:.2f}"
        if others:
            second = max(others, key=lambda n: others[n])
            text += f"; {second} {others[second]:.2f}"
        return Verdict(name, self.fits[name], text + ")", scores)

    def deviation(self, name: str, prediction: RowPrediction) -> NDArray[np.float64]:
        """(m, 1) standard deviation of single returns, as large as past errors say."""
        assert self.rows is not None
        least = self._least_variance(self.rows)
        expected = np.maximum(prediction.total_variance, least)
        calibration = self.records[name].calibration
        if calibration is None:
            spread = float((self.rows.returns - self.rows.gaps.target_means).var())
            return np.sqrt(np.maximum(expected, spread))[:, None]
        if HOMO: return np.full((len(expected),1),np.sqrt(max(np.mean(self.records[name].errors),least)))
        return np.sqrt(np.maximum(expected * calibration, least))[:, None]

    def improvements(
        self, name: str, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice,
        best: NDArray[np.float64],
    ) -> NDArray[np.floating]:
        """(m, n) improvement on each target that a structure expects of new policies."""
        assert self.rows is not None
        prediction = self.fits[name].predict(sources, targets)
        deviation = self.deviation(name, prediction)
        ceiling = self.records[name].ceiling(prediction.mean, self.rows.ceiling)
        return bounded_improvement(prediction.mean, deviation, best[targets], ceiling)

    def evidence(self) -> list[dict[str, Any]]:
        """What became of each prediction: one entry for each structure and tested row."""
        return [
            {
                "structure": name,
                "rows": rounds,
                "score": score,
                "error": float(np.sqrt(error)),
                "expected": expected,
                "gain": gain,
            }
            for name, record in self.records.items()
            for rounds, score, error, expected, gain in zip(
                record.rounds, record.scores, record.errors, record.expected, record.gains,
                strict=True,
            )
        ]

    def _least_variance(self, rows):
        return max(LEAST_SPREAD * float(np.ptp(rows.returns)), 1e-150) ** 2

    def _test(self, before: CompletedRows, after: CompletedRows) -> None:
        """Compare the last row with what each structure expected of it."""
        source, row = after.sources[-1:], after.returns[-1]
        gains = np.maximum(row - before.best, 0.0)
        everything = slice(None)
        for name, fitted in self.fits.items():
            prediction = fitted.predict(source, everything)
            record = self.records[name]
            expected = bounded_improvement(
                prediction.mean,
                self.deviation(name, prediction),
                before.best,
                record.ceiling(prediction.mean, before.ceiling),
            )[0]
            above = prediction.mean[0] > before.ceiling
            if above.any():
                record.above.append(float((row[above] > before.ceiling).mean()))
            record.rounds.append(len(before))
            if CELLS:
                c = _cells(after.space, CELLS)
                record.scores.append(_likeness(c @ expected, c @ gains))
            else:
                record.scores.append(_likeness(expected, gains))
            record.errors.append(float(((row - prediction.mean[0]) ** 2).mean()))
            least = self._least_variance(before)
            record.variances.append(max(float(prediction.total_variance[0]), least))
            record.expected.append(float(expected.mean()))
            record.gains.append(float(gains.mean()))


def _likeness(expected: NDArray[np.floating], gains: NDArray[np.float64]) -> float:
    """The share of the squared gains that a multiple of the expected ones explains."""
    sizes = float(expected @ expected) * float(gains @ gains)
    return float(expected @ gains) ** 2 / sizes if sizes > 0 else 0.0
