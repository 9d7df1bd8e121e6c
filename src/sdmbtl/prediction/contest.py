"""Which structure foretold the rows that then came?

Every structure predicts each new row from the rows before it. What a selector needs to know is
where a new policy will improve on the best so far, so that is what counts: the predicted
improvements on the targets are compared with the real ones. Their scale is left out: a structure
that expects twice the gain everywhere still points to the right context.

Structures are judged by what they say themselves. Only the one that is used is then corrected by
its errors so far: with corrections even wrong structures come close to the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import StructureError
from sdmbtl.prediction.cells import space_cells
from sdmbtl.prediction.completed_rows import CompletedRows
from sdmbtl.prediction.failures import failed_trainings
from sdmbtl.prediction.improvement import LEAST_SPREAD, bounded_improvement
from sdmbtl.prediction.local_errors import locally_corrected
from sdmbtl.prediction.model import FittedModel, RowModel, RowPrediction
from sdmbtl.transfer import ObservedRows

#: Improvements are compared cell by cell, so that noise on single targets averages out.
CELLS = 16
#: Scores that differ by less say nothing: the structure that stands first is then kept.
TOLERANCE = 0.03
#: A structure whose errors are so many times larger than another's is out of the question.
FAR_OFF = 2.0
#: What was learnt from so many other sets of rows is kept: a row that was called a failure may be
#: found sound with the next one.
SETS_KEPT = 3
#: A standard deviation is never taken to be larger than so many ranges of the returns: after
#: rows that are all alike, any error looks infinitely large.
LARGEST_SPREAD = 10.0


@dataclass(frozen=True)
class Outcome:
    """What became of one prediction.

    Attributes:
        rows: Number of rows that were known then, failed trainings not counted.
        score: How well the improvements were foretold, 0 to 1.
        error: Mean squared error of the returns.
        variance: Variance of the returns that was expected.
        expected: Mean improvement that was expected.
        gain: Mean improvement that came, on the best of the trainings that did not fail.
        above: Where more was expected than the largest return so far, on which share of the
            targets it came; None if nowhere.
    """

    rows: int
    score: float
    error: float
    variance: float
    expected: float
    gain: float
    above: float | None


@dataclass
class Record:
    """How one structure has done so far.

    Attributes:
        outcomes: What became of each of its predictions.
    """

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def score(self) -> float | None:
        """Mean of the scores; None before the first."""
        return float(np.mean([o.score for o in self.outcomes])) if self.outcomes else None

    @property
    def typical_error(self) -> float:
        """Geometric mean of the errors: one failure early on must not count for ever."""
        logarithms = [np.log(max(o.error, 1e-300)) for o in self.outcomes]
        return float(np.exp(0.5 * np.mean(logarithms)))

    @property
    def calibration(self) -> float | None:
        """How many times larger the squared errors were than expected; None before the first."""
        if not self.outcomes:
            return None
        errors = sum(o.error for o in self.outcomes)
        return errors / sum(o.variance for o in self.outcomes)

    @property
    def optimism(self) -> float:
        """How many times larger the expected improvements were than those that came.

        It is 1 as long as nothing was expected or nothing came.
        """
        expected, gains = (
            sum(getattr(o, key) for o in self.outcomes) for key in ("expected", "gain")
        )
        return expected / gains if expected > 0 and gains > 0 else 1.0

    def ceiling(self, mean: NDArray[np.floating], seen: float) -> NDArray[np.floating]:
        """(m, n) the highest return to count on.

        It is the largest one seen, and more where more is expected, as long as such expectations
        were met: in a saturated environment they never are.

        Args:
            mean: (m, n) expected returns.
            seen: The largest return so far.
        """
        kept = [o.above for o in self.outcomes if o.above is not None]
        trust = (1 + sum(kept)) / (1 + len(kept))
        return np.asarray(seen + trust * np.maximum(mean - seen, 0.0))


#: Rows, how each structure has done on them, and the structures fitted to them.
_Learnt = tuple[CompletedRows, dict[str, Record], dict[str, FittedModel]]


@dataclass(frozen=True)
class Verdict:
    """The structure to go on with, and the evidence for it.

    Attributes:
        structure: Name of the structure.
        fitted: The structure, fitted to all rows, its local errors corrected.
        explanation: Why this one, in words.
        scores: Score of each structure, None for one that was not tested yet.
    """

    structure: str
    fitted: FittedModel
    explanation: str
    scores: dict[str, float | None]


class PredictionContest:
    """Keeps the structures side by side and says which one foretold the rows best.

    Args:
        structures: The structures, each with a name of its own. Of those that did about equally
            well, and while nothing is known, the first one is used.
    """

    def __init__(self, structures: Sequence[RowModel]) -> None:
        names = [s.name for s in structures]
        if not names or len(set(names)) < len(names):
            raise StructureError(f"Structures must have different names. Got {names}.")
        self.structures = tuple(structures)
        self._begin()
        #: What was learnt from other sets of rows, the latest first.
        self._earlier: list[_Learnt] = []
        self._seen: ObservedRows | None = None
        #: (k,) which of the policies come from a training that has probably failed.
        self.failed: NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def _begin(self) -> None:
        self.rows: CompletedRows | None = None
        self.records = {s.name: Record() for s in self.structures}
        self.fits: dict[str, FittedModel] = {}
        self._corrected: dict[str, FittedModel] = {}

    def watch(self, rows: ObservedRows) -> CompletedRows:
        """Take notice of all rows so far; what was seen before is not computed again.

        Rows of trainings that have probably failed are left out. If it turns out only now that
        one has, all predictions are made again without it.

        Args:
            rows: At least one row.

        Returns:
            The rows of the other trainings, completed.
        """
        if not len(rows):
            raise StructureError("Structures need at least one observed row. Got none.")
        if self._seen is None or len(self._seen) < len(rows) or not rows.continues(self._seen):
            if self._seen is None:  # an error of a structure may have left things half done
                self._begin()
            self._seen = None
            self.failed = failed_trainings(rows)
            self._watch_sound(rows.only(~self.failed))
            self._seen = rows
        return self._watched()

    def _watch_sound(self, rows: ObservedRows) -> None:
        if self.rows is not None and not rows.continues(self.rows.observed):
            self._change_to(rows)
        for count in range(1 if self.rows is None else len(self.rows) + 1, len(rows) + 1):
            some = CompletedRows.of(rows.first(count), self.rows, self._expected_row(rows, count))
            if self.rows is not None:
                self._test(self.rows, some)
            self.rows = some
            self.fits = {s.name: s.fit(some) for s in self.structures if count >= s.min_rows}
            self._corrected = {}

    def _change_to(self, rows: ObservedRows) -> None:
        """Go on from what was learnt from some of these rows, if anything was."""
        left = (self._watched(), self.records, self.fits)
        self._begin()
        for index, (earlier, records, fits) in enumerate(self._earlier):
            if rows.continues(earlier.observed):
                self.rows, self.records, self.fits = earlier, records, fits
                del self._earlier[index]
                break
        self._earlier = [left, *self._earlier[: SETS_KEPT - 1]]

    def _expected_row(self, rows: ObservedRows, count: int) -> NDArray[np.float64] | None:
        """(N,) what is expected of a row that was evaluated in part; None if nothing is."""
        if not self.fits or not np.isnan(rows.returns[count - 1]).any():
            return None
        prediction = self.verdict().fitted.predict(rows.unit_sources[count - 1][None], slice(None))
        return np.asarray(prediction.mean[0], dtype=np.float64)

    @property
    def best(self) -> NDArray[np.float64]:
        """(N,) best return so far on each target, failed trainings included."""
        best = self._watched().best
        if self._seen is None or not self.failed.any():
            return best
        return np.asarray(np.fmax(best, self._seen.only(self.failed).best))

    def verdict(self) -> Verdict:
        """The structure to go on with, once there are rows enough for one."""
        if not self.fits:
            raise StructureError("No structure can be fitted to so few rows.")
        scores = {name: self.records[name].score for name in self.fits}
        tested = {name: score for name, score in scores.items() if score is not None}
        if not tested:
            name = next(iter(self.fits))
            text = "is assumed, as no structure was put to the test yet"
            return Verdict(name, self.corrected(name), text, scores)
        close = self._close_enough(tested)
        highest = max(close.values())
        name = next(name for name in close if close[name] >= highest - TOLERANCE)
        others = {other: score for other, score in tested.items() if other != name}
        text = f"foretold the gains of the rows so far as well as any, score {tested[name]:.2f}"
        if others:
            second = max(others, key=lambda other: others[other])
            doubt = "" if second in close else " with far larger errors"
            text += f" ({second} {others[second]:.2f}{doubt})"
        return Verdict(name, self.corrected(name), text, scores)

    def _close_enough(self, tested: dict[str, float]) -> dict[str, float]:
        """Scores of the structures whose errors are not far larger than the smallest."""
        errors = {name: self.records[name].typical_error for name in tested}
        limit = FAR_OFF * min(errors.values())
        return {name: score for name, score in tested.items() if errors[name] <= limit}

    def corrected(self, name: str) -> FittedModel:
        """A structure with its local errors corrected, for predictions of what comes next."""
        if name not in self._corrected:
            self._corrected[name] = locally_corrected(self.fits[name], self._watched())
        return self._corrected[name]

    def improvements(
        self,
        name: str,
        sources: NDArray[np.float64],
        targets: NDArray[np.intp] | slice,
        best: NDArray[np.float64],
    ) -> NDArray[np.floating]:
        """Improvement on each target that a structure expects of new policies.

        Args:
            name: The structure.
            sources: (m, D) contexts to train on, in unit coordinates.
            targets: Which n targets.
            best: (N,) best return so far on every target.

        Returns:
            (m, n) expected improvements.
        """
        prediction = self.corrected(name).predict(sources, targets)
        return self._improvements(name, prediction, best[targets], self._watched())

    def _improvements(
        self,
        name: str,
        prediction: RowPrediction,
        best: NDArray[np.float64],
        rows: CompletedRows,
    ) -> NDArray[np.floating]:
        ceiling = self.records[name].ceiling(prediction.mean, rows.ceiling)
        deviation = np.sqrt(self._variance(name, prediction, rows))[:, None]
        return bounded_improvement(prediction.mean, deviation, best, ceiling)

    def _variance(
        self, name: str, prediction: RowPrediction, rows: CompletedRows
    ) -> NDArray[np.float64]:
        """(m,) variance of single returns, as large as past errors say."""
        expected = np.maximum(prediction.total_variance, least_variance(rows))
        calibration = self.records[name].calibration
        if calibration is None:  # never tested: at least as much as policies differ
            between_policies = float((rows.returns - rows.gaps.target_means).var())
            return np.maximum(expected, between_policies)
        largest = (LARGEST_SPREAD * float(np.ptp(rows.returns))) ** 2
        calibrated = np.minimum(expected * calibration, largest)
        return np.asarray(np.maximum(calibrated, least_variance(rows)))

    def _test(self, before: CompletedRows, after: CompletedRows) -> None:
        """Compare the last row with what each structure expected of it."""
        source, row = after.sources[-1:], after.returns[-1]
        gains = np.maximum(row - before.best, 0.0)
        for name, fitted in self.fits.items():
            prediction = fitted.predict(source, slice(None))
            expected = self._improvements(name, prediction, before.best, before)[0]
            above = prediction.mean[0] > before.ceiling
            errors = row - prediction.mean[0]
            self.records[name].outcomes.append(
                Outcome(
                    rows=len(before),
                    score=_likeness(self._by_cell(expected), self._by_cell(gains)),
                    error=float((errors**2).mean()),
                    variance=max(float(prediction.total_variance[0]), least_variance(before)),
                    expected=float(expected.mean()),
                    gain=float(gains.mean()),
                    above=float((row[above] > before.ceiling).mean()) if above.any() else None,
                )
            )

    def _by_cell(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        cells = space_cells(self._watched().space, CELLS)
        return np.asarray(np.bincount(cells, weights=values), dtype=np.float64)

    def _watched(self) -> CompletedRows:
        if self.rows is None:
            raise StructureError("The contest has seen no rows yet. Call watch(rows) first.")
        return self.rows


def least_variance(rows: CompletedRows) -> float:
    """The smallest variance a return is taken to have: rounding must not look like certainty."""
    return max(LEAST_SPREAD * float(np.ptp(rows.returns)), 1e-150) ** 2


def _likeness(expected: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    """The share of the squared gains that a multiple of the expected ones explains."""
    sizes = float(expected @ expected) * float(gains @ gains)
    return float(expected @ gains) ** 2 / sizes if sizes > 0 else 0.0
