"""Track record of a model: how good its predictions were, and the model corrected by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.model import FittedModel, RowPrediction

#: After this many further predictions an outcome counts half.
HALF_LIFE = 2.0
#: Shares that came are averaged as this power: 1 would be their mean, close to 0 the geometric one,
#: which is 0 as soon as one of them is.
POWER = 1 / 3
#: A share that came counts as at most this: next to nothing may have been expected.
LARGEST_SHARE = 10.0
#: A standard deviation is never taken to be smaller than this share of the range of returns.
LEAST_SPREAD = 1e-4
#: A standard deviation is never taken to be larger than this many ranges of the returns: after
#: rows that are all equal, any error looks infinitely large.
LARGEST_SPREAD = 10.0


@dataclass(frozen=True)
class Outcome:
    """Outcome of one prediction.

    Attributes:
        rows: Number of rows that were known then, failed runs not counted.
        score: How well the improvements were predicted, 0 to 1.
        error: Mean squared error of the returns.
        variance: Variance of the returns that was expected.
        expected: Mean improvement that was expected.
        gain: Mean improvement that came, on the best of the training runs that did not fail.
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


@dataclass(frozen=True)
class TrackRecord:
    """Outcomes of one model so far.

    Attributes:
        outcomes: What became of each of its predictions.
    """

    outcomes: tuple[Outcome, ...] = ()

    def added(self, outcome: Outcome) -> TrackRecord:
        """The record with one more outcome."""
        return TrackRecord((*self.outcomes, outcome))

    @property
    def score(self) -> float | None:
        """Mean of the scores; None before the first."""
        return float(np.mean([o.score for o in self.outcomes])) if self.outcomes else None

    @property
    def typical_error(self) -> float:
        """Geometric mean of the errors: one early failure must not dominate."""
        logarithms = [np.log(max(o.error, 1e-300)) for o in self.outcomes]
        return float(np.exp(0.5 * np.mean(logarithms)))

    @property
    def calibration(self) -> float | None:
        """Ratio of squared errors to those expected; None before the first."""
        if not self.outcomes:
            return None
        errors = sum(o.error for o in self.outcomes)
        return errors / sum(o.variance for o in self.outcomes)

    @property
    def realised_share(self) -> float:
        """Share of the expected gains to count on, by the shares realised so far.

        Shares fall: early gains are large and easy to foresee, later ones are neither. So recent
        ones count more, and each of them as a share, whatever the size of the gain. They come in
        jumps, so their typical size is taken, a power mean. Before the first one, everything is
        supposed to have come once; that is forgotten like the rest.
        """
        came = [o.gain / o.expected for o in self.outcomes if o.expected > 0]
        roots = np.minimum([1.0, *came], LARGEST_SHARE) ** POWER
        ages = np.arange(len(roots))[::-1]
        return float(np.average(roots, weights=0.5 ** (ages / HALF_LIFE)) ** (1 / POWER))

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
        above = mean - seen
        np.maximum(above, 0.0, out=above)
        above *= trust
        above += seen
        return above


class CalibratedModel(FittedModel):
    """A model whose uncertainty and highest return follow its errors so far.

    Args:
        fitted: The model, fitted to the rows.
        record: How it has done so far.
        rows: The rows.
    """

    def __init__(self, fitted: FittedModel, record: TrackRecord, rows: CompletedRows) -> None:
        self.fitted = fitted
        self.record = record
        self._rows = rows

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        return self.calibrated(self.fitted.predict(sources, targets))

    def calibrated(self, plain: RowPrediction) -> RowPrediction:
        """Return the plain prediction with the variance and the ceiling of the record."""
        return RowPrediction(
            plain.mean,
            self._variance(np.maximum(plain.variance, least_variance(self._rows))),
            self.record.ceiling(plain.mean, self._rows.ceiling),
        )

    def _variance(self, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,) variance of single returns, as large as past errors say."""
        calibration, rows = self.record.calibration, self._rows
        if calibration is None:  # never tested: at least as much as policies differ
            between_policies = float((rows.returns - rows.gaps.target_means).var())
            return np.maximum(expected, between_policies)
        largest = (LARGEST_SPREAD * rows.width) ** 2
        calibrated = np.minimum(expected * calibration, largest)
        return np.asarray(np.maximum(calibrated, least_variance(rows)))

    def explain(self) -> str:
        """Describe the finding in a few words."""
        return self.fitted.explain()


def least_variance(rows: CompletedRows) -> float:
    """The smallest variance a return is taken to have: rounding must not look like certainty."""
    return max(LEAST_SPREAD * rows.width, 1e-150) ** 2
