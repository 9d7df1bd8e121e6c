"""Local corrections of a model, learned from its errors on parts of the space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.cells import space_cells
from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.model import FittedModel, RowPrediction
from sdmbtl.selectors.models.smooth_effect import NOISES, SmoothEffect

#: Parts of the space, each with about as many targets.
PARTS = 64
#: With fewer rows there is nothing to learn from neighbours.
LEAST_ROWS = 10
#: Share of the noise in the errors; the last one means that there is nothing to correct.
ERROR_NOISES = np.append(NOISES, 1.0)


class LocallyCorrected(FittedModel):
    """A model, and what its errors so far say about policies trained near by.

    No model is exactly right. Where policies trained close to one another have similar errors,
    the next policy there is expected to have them too. Only parts of the space are looked
    at, as the errors on single targets are mostly noise.

    Args:
        fitted: The model, fitted to the rows.
        rows: The rows.
    """

    def __init__(self, fitted: FittedModel, rows: CompletedRows) -> None:
        self.fitted = fitted
        self._parts = space_cells(rows.space, PARTS)
        self._ceiling = rows.ceiling
        errors = rows.returns - fitted.predict(rows.sources, slice(None)).mean
        means = self._part_means(errors, ~np.isnan(rows.observed.returns))
        self.correction = SmoothEffect(rows.sources, means, ERROR_NOISES)

    def _part_means(
        self, errors: NDArray[np.float64], evaluated: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """(k, p) mean errors of policies on the parts, 0 where they were not evaluated."""
        order = np.argsort(self._parts, kind="stable")
        starts = np.searchsorted(self._parts[order], np.arange(self._parts.max() + 1))
        sums = np.add.reduceat(np.where(evaluated, errors, 0.0)[:, order], starts, axis=1)
        sizes = np.add.reduceat(evaluated[:, order], starts, axis=1, dtype=np.intp)
        seen = sizes > 0
        means = sums / np.maximum(sizes, 1)
        # How much better or worse a policy is on all parts together is for the model to predict.
        means -= means.sum(axis=1, keepdims=True) / seen.sum(axis=1, keepdims=True)
        return np.where(seen, means, 0.0)

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        plain = self.fitted.predict(sources, targets)
        mean = plain.mean + self.correction.predict(sources)[0][:, self._parts[targets]]
        # Past errors do not justify expecting more than any policy has reached.
        np.minimum(mean, np.maximum(plain.mean, self._ceiling), out=mean)
        return RowPrediction(mean, plain.variance)

    def explain(self) -> str:
        """Describe the finding in a few words."""
        return self.fitted.explain()


def correct_locally(fitted: FittedModel, rows: CompletedRows) -> FittedModel:
    """The model with its local errors corrected, once there are enough rows."""
    return LocallyCorrected(fitted, rows) if len(rows) >= LEAST_ROWS else fitted
