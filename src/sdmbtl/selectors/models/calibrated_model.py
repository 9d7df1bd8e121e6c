"""A model corrected by its track record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.model import FittedModel, RowPrediction
from sdmbtl.selectors.models.track_record import TrackRecord

#: A standard deviation is never taken to be smaller than this share of the range of returns.
LEAST_SPREAD = 1e-4
#: A standard deviation is never taken to be larger than this many ranges of the returns: after
#: rows that are all equal, any error looks infinitely large.
LARGEST_SPREAD = 10.0


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
        """What the model itself predicts, with the variance and the ceiling of its record."""
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
        """What was found, in words."""
        return self.fitted.explain()


def least_variance(rows: CompletedRows) -> float:
    """The smallest variance a return is taken to have: rounding must not look like certainty."""
    return max(LEAST_SPREAD * rows.width, 1e-150) ** 2
