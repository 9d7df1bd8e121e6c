"""The source plays no role: every policy is predicted to get what policies get on average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.model import FittedModel, RowModel, RowPrediction
from sdmbtl.transfer.detection import NO_STRUCTURE


class UnstructuredModel(RowModel):
    """The baseline for the other models: where a policy was trained plays no role."""

    name = NO_STRUCTURE

    def fit(self, rows: CompletedRows) -> UnstructuredFit:
        """Estimate the mean of each target and the spread of policies."""
        return UnstructuredFit(rows)


class UnstructuredFit(FittedModel):
    """Means of the targets, and how much policies differ.

    Args:
        rows: At least two rows.
    """

    def __init__(self, rows: CompletedRows) -> None:
        self.means = rows.gaps.target_means
        residuals = rows.returns - self.means
        row_means = residuals.mean(axis=1)
        self.row_variance = float(row_means.var(ddof=1))
        self.variance = float((residuals - row_means[:, None]).var())

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        means = self.means[targets]
        return RowPrediction(
            np.broadcast_to(means, (len(sources), len(means))),
            np.full(len(sources), self.row_variance + self.variance),
        )

    def explain(self) -> str:
        """Describe the finding in a few words."""
        return "where a policy was trained says nothing about where it will be good"
