"""What a single row says about the next one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.prediction.completed_rows import CompletedRows
from sdmbtl.prediction.model import FittedModel, RowModel, RowPrediction
from sdmbtl.prediction.plateau_model import PlateauShape

#: Weight of the ridge, relative to the number of targets.
RIDGE = 1e-3
#: Performance falls at least by this share of the range of returns along a dimension.
LEAST_FALL = 0.05
#: Standard deviation of the second policy's returns, as a share of the range of the first.
SPREAD = 0.1
#: The return far from the source is that which so large a share of the targets stays below.
FAR_SHARE = 0.2
#: Searches for the reaches of a plateau start from each of these: with one row there are several
#: answers.
STARTS = (2, 4)
#: A plateau is taken for granted unless its squared error is so many times that of slopes.
CLEARLY_WORSE = 1.2


class FirstRowModel(RowModel):
    """Mountain or plateau, whichever the first row looks like.

    One row cannot tell the difficulty of targets from the gap. As Mountain, what changes in one
    direction through the source is taken for difficulty, what falls away on both sides for the
    gap. As plateau, every context can be learnt as well as the best one so far, and a policy is of
    little use far from its source: what a policy of a saturated environment looks like.

    Args:
        falls: (D,) known fall of performance along each dimension, relative to one another; they
            are estimated if left out.
        difficulty: (N,) known part of the returns, such as expected returns of a trained policy.
    """

    name: ClassVar[str] = "first-row"
    min_rows = 1

    def __init__(
        self,
        falls: NDArray[np.float64] | None = None,
        difficulty: NDArray[np.float64] | None = None,
    ) -> None:
        self.falls = falls
        self.difficulty = difficulty

    def fit(self, rows: CompletedRows) -> FirstRowMountain | FirstRowPlateau:
        """Look at the first row; what the user knows speaks of a Mountain."""
        mountain, error = self._mountain(rows)
        knows = self.falls is not None or self.difficulty is not None
        if knows or not np.ptp(rows.returns[0]) > 0:  # a constant row is no plateau of any height
            return mountain
        plateau = FirstRowPlateau(rows)
        return plateau if plateau.error <= CLEARLY_WORSE * error else mountain

    def _mountain(self, rows: CompletedRows) -> tuple[FirstRowMountain, float]:
        """The Mountain with its fall in each dimension, and its mean squared error."""
        row, width = rows.returns[0], float(np.ptp(rows.returns[0])) or 1.0
        returns = row if self.difficulty is None else row - self.difficulty
        differences = rows.space.unit_targets - rows.sources[0]
        gap = np.abs(differences) if self.falls is None else np.abs(differences) @ self.falls
        gap = gap.reshape(len(row), -1)
        features = np.hstack([np.ones((len(row), 1)), differences, gap])
        normal = features.T @ features
        normal[np.diag_indices(len(normal))] += RIDGE * len(row) * (np.arange(len(normal)) > 0)
        coefficients = np.linalg.solve(normal, features.T @ returns)
        falls = np.maximum(-coefficients[1 + differences.shape[1] :], LEAST_FALL * width)
        if self.falls is not None:
            falls = falls[0] * self.falls
        error = float(((returns - features @ coefficients) ** 2).mean())
        return FirstRowMountain(rows, falls, SPREAD * width), error


class FirstRowPlateau(FittedModel):
    """A policy as good around its source as the first one around its own.

    Args:
        rows: The rows, of which the first is used.
    """

    def __init__(self, rows: CompletedRows) -> None:
        first = rows.returns[0]
        level = np.ones(len(rows.space))
        far, near = np.quantile(first, FAR_SHARE) * level, first.max() * level
        source = rows.sources[:1]
        axes = np.eye(rows.space.n_dimensions)
        self.shape = PlateauShape.fitted(
            rows.space, source, rows.returns[:1], far, near, axes, STARTS
        )
        self.error = float(((first - self.shape.returns(source, slice(None))) ** 2).mean())
        self.deviation = SPREAD * float(np.ptp(first))

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        zeros = np.zeros(len(sources))
        mean = self.shape.returns(sources, targets)
        return RowPrediction(mean, zeros, zeros + self.deviation**2)

    def explain(self) -> str:
        """What was found, in words."""
        return f"by the first row alone, a plateau: {self.shape.explain()}"


class FirstRowMountain(FittedModel):
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
        return (
            f"by the first row alone, Mountain: performance falls along each dimension by {listed}"
        )
