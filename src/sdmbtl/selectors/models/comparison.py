"""Comparison of models by how well they predicted each new row.

Every model predicts each new row from the rows before it. What a selector needs to know is
where a new policy will improve on the best so far, so that is what counts: the predicted
improvements on the targets are compared with the real ones. Their scale is left out: a model
that expects twice the gain everywhere still points to the right context.

Models are judged by their own predictions. Only the one that is used is then corrected by
its errors so far: with corrections even wrong models come close to the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import ModelError
from sdmbtl.selectors.models.cells import space_cells
from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.failures import find_failed_runs
from sdmbtl.selectors.models.local_errors import correct_locally
from sdmbtl.selectors.models.model import FittedModel, RowModel, RowPrediction
from sdmbtl.selectors.models.track_record import (
    CalibratedModel,
    Outcome,
    TrackRecord,
    least_variance,
)
from sdmbtl.transfer import ObservedRows

#: Improvements are compared cell by cell, so that noise on single targets averages out.
CELLS = 16
#: Scores that differ by less count as equal: the model listed first is then used.
TOLERANCE = 0.03
#: A model whose errors are more than this many times the smallest is not used.
LARGEST_ERROR_RATIO = 2.0
#: Why a model with a higher score is not used.
COUNTED_AS_EQUAL = "higher, but counted as equal"
LARGE_ERRORS = "higher, but with too large errors"
#: What was learned from this many other sets of rows is kept: a row that was called a failure may
#: turn out to be sound with the next one.
SETS_KEPT = 3
#: So is what was learned from all but the last rows, for up to this many of them: of training runs
#: side by side a later one may be reported first, and rows have the order in which they were asked.
STEPS_KEPT = 16
#: While every score is below this, nothing predicts the rows.
NO_SCORE = 0.05


#: Improvement that is expected of predicted rows on the (n,) best returns so far, (m, n).
Acquisition = Callable[[RowPrediction, NDArray[np.float64]], NDArray[np.floating]]
#: Rows, the track record of each model on them, and the models fitted to them.
_Learnt = tuple[CompletedRows, dict[str, TrackRecord], dict[str, FittedModel]]


@dataclass(frozen=True)
class ModelChoice:
    """The model to use, and the evidence for it.

    Attributes:
        name: Name of the model.
        model: The model, fitted to all rows, its local errors corrected, calibrated.
        record: How it has done so far.
        best: (N,) best return so far on each target, the predicted one where not evaluated.
        explanation: Why this one, in a sentence.
        scores: Score of each model, None for one that was not tested yet.
        passed_over: Why models with a higher score are not used -> these models, the highest
            score first.
    """

    name: str
    model: CalibratedModel
    record: TrackRecord
    best: NDArray[np.float64]
    explanation: str
    scores: dict[str, float | None]
    passed_over: dict[str, list[str]]


class ModelComparison:
    """Keeps the models side by side and says which one predicted the rows best.

    Args:
        models: The models, each with a name of its own. Of those that did about equally well,
            and while nothing is known, the first one is used.
        acquisition: What is made of predictions: the improvements that the models are judged by.
    """

    def __init__(self, models: Sequence[RowModel], acquisition: Acquisition) -> None:
        names = [model.name for model in models]
        if not names or len(set(names)) < len(names):
            raise ModelError(f"Models must have different names. Got {names}.")
        self.models = tuple(models)
        self.acquisition = acquisition
        self._begin()
        #: What was learned from other sets of rows, the latest first.
        self._earlier: list[_Learnt] = []
        #: What was learned from fewer of the same rows, the most last.
        self._steps: list[_Learnt] = []
        self._seen: ObservedRows | None = None
        #: (k,) which of the policies come from a training run that has probably failed.
        self.failed: NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def _begin(self) -> None:
        self.rows: CompletedRows | None = None
        self.records = {model.name: TrackRecord() for model in self.models}
        self.fits: dict[str, FittedModel] = {}
        self._calibrated: dict[str, CalibratedModel] = {}

    def watch(self, rows: ObservedRows) -> CompletedRows:
        """Test the models on all rows so far; what was seen before is not computed again.

        Rows of training runs that have probably failed are left out. If it turns out only now
        that one has failed, all predictions are made again without it.

        Args:
            rows: At least one row.

        Returns:
            The rows of the other training runs, completed.
        """
        if not len(rows):
            raise ModelError("Models need at least one observed row. Got none.")
        if self._seen is None or len(self._seen) < len(rows) or not rows.continues(self._seen):
            if self._seen is None:  # an error of a model may have left things half done
                self._begin()
            self._seen = None
            self.failed = find_failed_runs(rows)
            self._watch_sound(rows.only(~self.failed))
            self._seen = rows
        return self._watched()

    def _watch_sound(self, rows: ObservedRows) -> None:
        if self.rows is not None and not rows.continues(self.rows.observed):
            self._change_to(rows)
        for count in range(1 if self.rows is None else len(self.rows) + 1, len(rows) + 1):
            some = CompletedRows.of(
                rows.only(slice(count)), self.rows, self._expected_row(rows, count)
            )
            if self.rows is not None:
                step = (self.rows, dict(self.records), self.fits)
                self._steps = [*self._steps[1 - STEPS_KEPT :], step]
                self._test(self.rows, some)
            self.rows = some
            self.fits = {m.name: m.fit(some) for m in self.models if count >= m.min_rows}
            self._calibrated = {}

    def _change_to(self, rows: ObservedRows) -> None:
        """Continue from what was learned from the most of these rows, if anything was."""
        left = (self._watched(), self.records, self.fits)
        self._begin()
        self._steps = [step for step in self._steps if rows.continues(step[0].observed)]
        known = [one for one in self._earlier if rows.continues(one[0].observed)]
        if known or self._steps:
            most = max([*known, *self._steps], key=lambda learned: len(learned[0]))
            self.rows, self.records, self.fits = most[0], dict(most[1]), most[2]
            self._earlier = [one for one in self._earlier if one is not most]
            self._steps = [step for step in self._steps if len(step[0]) < len(most[0])]
        self._earlier = [left, *self._earlier[: SETS_KEPT - 1]]

    def _expected_row(self, rows: ObservedRows, count: int) -> NDArray[np.float64] | None:
        """(N,) what is expected of a row that was evaluated in part; None if nothing is."""
        if not self.fits or not np.isnan(rows.returns[count - 1]).any():
            return None
        prediction = self.choose().model.predict(rows.unit_sources[count - 1][None], slice(None))
        return np.asarray(prediction.mean[0], dtype=np.float64)

    @property
    def best(self) -> NDArray[np.float64]:
        """(N,) best return so far on each target, failed runs included."""
        best = self._watched().best
        if self._seen is None or not self.failed.any():
            return best
        return np.asarray(np.fmax(best, self._seen.only(self.failed).best))

    def choose(self) -> ModelChoice:
        """The model to use, once there are enough rows for one."""
        if not self.fits:
            raise ModelError("No model can be fitted to so few rows.")
        scores = {name: self.records[name].score for name in self.fits}
        tested = {name: score for name, score in scores.items() if score is not None}
        passed_over: dict[str, list[str]] = {}
        if not tested:
            name = next(iter(self.fits))
            text = f"No model has been tested yet, so the first one listed is used: {name}."
        else:
            name, passed_over = self._best_of(tested)
            text = _explain_choice(name, tested, passed_over)
        model, record = self.calibrated(name), self.records[name]
        return ModelChoice(name, model, record, self.best, text, scores, passed_over)

    def _best_of(self, tested: dict[str, float]) -> tuple[str, dict[str, list[str]]]:
        """The first model with a score close to the highest, and why higher ones are not used."""
        close = self._close_enough(tested)
        highest = max(close.values())
        name = next(name for name in close if close[name] >= highest - TOLERANCE)
        higher = sorted((o for o in tested if tested[o] > tested[name]), key=lambda o: -tested[o])
        passed_over: dict[str, list[str]] = {}
        for other in higher:
            why = COUNTED_AS_EQUAL if other in close else LARGE_ERRORS
            passed_over.setdefault(why, []).append(other)
        return name, passed_over

    def _close_enough(self, tested: dict[str, float]) -> dict[str, float]:
        """Scores of the models whose errors are not far larger than the smallest."""
        errors = {name: self.records[name].typical_error for name in tested}
        limit = LARGEST_ERROR_RATIO * min(errors.values())
        return {name: score for name, score in tested.items() if errors[name] <= limit}

    def calibrated(self, name: str) -> CalibratedModel:
        """A model for predictions of what comes next: local errors corrected, calibrated."""
        if name not in self._calibrated:
            rows = self._watched()
            corrected = correct_locally(self.fits[name], rows)
            self._calibrated[name] = CalibratedModel(corrected, self.records[name], rows)
        return self._calibrated[name]

    def _test(self, before: CompletedRows, after: CompletedRows) -> None:
        """Compare the last row with what each model expected of it."""
        source, row = after.sources[-1:], after.returns[-1]
        gains = np.maximum(row - before.best, 0.0)
        for name, fitted in self.fits.items():
            record = self.records[name]
            plain = fitted.predict(source, slice(None))
            prediction = CalibratedModel(fitted, record, before).calibrated(plain)
            expected = self.acquisition(prediction, before.best)[0]
            above = plain.mean[0] > before.ceiling
            outcome = Outcome(
                rows=len(before),
                score=_likeness(self._by_cell(expected), self._by_cell(gains)),
                error=float(((row - plain.mean[0]) ** 2).mean()),
                variance=max(float(plain.variance[0]), least_variance(before)),
                expected=float(expected.mean()),
                gain=float(gains.mean()),
                above=float((row[above] > before.ceiling).mean()) if above.any() else None,
            )
            self.records[name] = record.added(outcome)

    def _by_cell(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        cells = space_cells(self._watched().space, CELLS)
        return np.asarray(np.bincount(cells, weights=values), dtype=np.float64)

    def _watched(self) -> CompletedRows:
        if self.rows is None:
            raise ModelError("No rows yet. Call watch(rows) first.")
        return self.rows


def _explain_choice(name: str, tested: dict[str, float], passed_over: dict[str, list[str]]) -> str:
    """Explain in a sentence why a model is used."""
    if max(tested.values()) < NO_SCORE:
        return (
            f"No model predicts the rows yet (every score is below {NO_SCORE:g}): {name} is tried."
        )
    others = sorted((o for o in tested if o != name), key=lambda other: -tested[other])
    remarks = [
        f"{why}: {', '.join(f'{other} {tested[other]:.2f}' for other in names)}"
        for why, names in (passed_over or {"next": others[:1]}).items()
        if names
    ]
    return f"Best predictor so far: {name} ({'; '.join([f'score {tested[name]:.2f}', *remarks])})."


def _likeness(expected: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    """The share of the squared gains that a multiple of the expected ones explains."""
    sizes = float(np.linalg.norm(expected) * np.linalg.norm(gains))
    return (float(expected @ gains) / sizes) ** 2 if sizes > 0 else 0.0
