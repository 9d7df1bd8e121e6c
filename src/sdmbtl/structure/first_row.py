"""What a single row says, if the Mountain structure is taken for granted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.structure.base import MOUNTAIN
from sdmbtl.structure.completed import CompletedRows
from sdmbtl.structure.predictive import FittedStructure, RowPrediction, Structure

#: Weight of the ridge, relative to the number of targets.
RIDGE = 1e-3
#: Performance falls at least by this share of the range of returns along a dimension.
LEAST_FALL = 0.05
#: Standard deviation of the second policy's returns, as a share of the range of the first.
SPREAD = 0.1


class FirstRowStructure(Structure):
    """Mountain from one row: what falls on both sides of the source is the gap.

    One row cannot tell the difficulty of targets from the gap. What changes in one direction
    through the source is taken for difficulty, what falls away on both sides for the gap.

    Args:
        falls: (D,) known fall of performance along each dimension, relative to one another; they
            are estimated if left out.
        difficulty: (N,) known part of the returns, such as expected returns of a trained policy.
    """

    name = MOUNTAIN
    min_rows = 1

    def __init__(
        self,
        falls: NDArray[np.float64] | None = None,
        difficulty: NDArray[np.float64] | None = None,
    ) -> None:
        self.falls = falls
        self.difficulty = difficulty

    def fit(self, rows: CompletedRows) -> FirstRowFit:
        """Estimate the fall in each dimension from the first row."""
        row, width = rows.returns[0], float(np.ptp(rows.returns[0])) or 1.0
        returns = row if self.difficulty is None else row - self.difficulty
        differences = rows.space.unit_targets - rows.sources[0]
        gap = np.abs(differences) if self.falls is None else np.abs(differences) @ self.falls
        gap = gap.reshape(len(row), -1)
        features = np.hstack([np.ones((len(row), 1)), differences, gap])
        normal = features.T @ features
        normal[np.diag_indices(len(normal))] += RIDGE * len(row) * (np.arange(len(normal)) > 0)
        slopes = np.linalg.solve(normal, features.T @ returns)[1 + differences.shape[1] :]
        falls = np.maximum(-slopes, LEAST_FALL * width)
        if self.falls is not None:
            falls = falls[0] * self.falls
        return FirstRowFit(rows, falls, SPREAD * width)


class FirstRowFit(FittedStructure):
    """The first row, moved to another source.

    Args:
        rows: The rows, of which the first is used.
        falls: (D,) fall of the returns along each dimension.
        deviation: Standard deviation of a return around what is expected.
    """

    def __init__(self, rows: CompletedRows, falls: NDArray[np.float64], deviation: float) -> None:
        self.space = rows.space
        self.falls = falls
        self.deviation = deviation
        self._peaks = rows.returns[0] + np.abs(self.space.unit_targets - rows.sources[0]) @ falls

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        units = self.space.unit_targets[targets]
        mean = np.tile(self._peaks[targets], (len(sources), 1))
        for d, fall in enumerate(self.falls):
            mean -= fall * np.abs(np.subtract.outer(sources[:, d], units[:, d]))
        zeros = np.zeros(len(sources))
        return RowPrediction(mean, zeros, zeros + self.deviation**2)

    def explain(self) -> str:
        """What was found, in words."""
        pairs = zip(self.space.names, self.falls, strict=True)
        listed = ", ".join(f"{name} {fall:.3g}" for name, fall in pairs)
        return f"from the first row alone, performance falls along each dimension by {listed}"
