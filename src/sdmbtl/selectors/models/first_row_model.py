"""Prediction of the second row from the first one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.linear_gap_model import describe_changes
from sdmbtl.selectors.models.model import FittedModel, RowModel, RowPrediction
from sdmbtl.selectors.models.plateau_model import PlateauModel, PlateauShape


@dataclass(frozen=True, eq=False)
class FirstRowModel(RowModel):
    """Mountain or plateau, whichever the first row looks like.

    One row cannot tell the difficulty of targets from the gap. As Mountain, what changes in one
    direction through the source is taken for difficulty, what falls away on both sides for the
    gap. As plateau, every context can be learned as well as the best one so far, and a policy is of
    little use far from its source: what a policy of a saturated environment looks like.

    Attributes:
        ridge: Weight of the ridge, relative to the number of targets.
        least_fall: Performance falls at least by this share of the range of returns along a
            dimension.
        spread: Standard deviation of the second policy's returns, as a share of the range of the
            first.
        far_share: The return far from the source is that which this share of the targets stays
            below.
        starts: Reaches that the searches for a plateau start from: with one row there are several
            answers.
        clearly_worse: A plateau is assumed unless its squared error is more than this many times
            that of slopes.
    """

    ridge: float = 1e-3
    least_fall: float = 0.05
    spread: float = 0.1
    far_share: float = 0.2
    starts: tuple[float, ...] = (0.2, 0.8)
    clearly_worse: float = 1.2

    name: ClassVar[str] = "first-row"
    min_rows: ClassVar[int] = 1

    def fit(self, rows: CompletedRows) -> FirstRowMountain | FirstRowPlateau:
        """Look at the first row."""
        mountain, error = self._mountain(rows)
        if not np.ptp(rows.returns[0]) > 0:  # a constant row has no plateau
            return mountain
        plateau = FirstRowPlateau(rows, self)
        return plateau if plateau.error <= self.clearly_worse * error else mountain

    def _mountain(self, rows: CompletedRows) -> tuple[FirstRowMountain, float]:
        """The Mountain with its fall in each dimension, and its mean squared error."""
        row, width = rows.returns[0], float(np.ptp(rows.returns[0])) or 1.0
        differences = rows.space.unit_targets - rows.sources[0]
        features = np.hstack([np.ones((len(row), 1)), differences, np.abs(differences)])
        normal = features.T @ features
        normal[np.diag_indices(len(normal))] += self.ridge * len(row) * (np.arange(len(normal)) > 0)
        coefficients = np.linalg.solve(normal, features.T @ row)
        falls = np.maximum(-coefficients[1 + differences.shape[1] :], self.least_fall * width)
        error = float(((row - features @ coefficients) ** 2).mean())
        return FirstRowMountain(rows, -falls, self.spread * width), error


class FirstRowPlateau(FittedModel):
    """A policy as good around its source as the first one around its own.

    Args:
        rows: The rows, of which the first is used.
        model: The model with its settings.
    """

    def __init__(self, rows: CompletedRows, model: FirstRowModel) -> None:
        first = rows.returns[0]
        level = np.ones(len(rows.space))
        far, near = np.quantile(first, model.far_share) * level, first.max() * level
        source = rows.sources[:1]
        dimensions_alone = PlateauModel(starts=model.starts, combine_up_to=0)
        self.shape = PlateauShape.fit(
            rows.space, source, rows.returns[:1], far, near, dimensions_alone
        )
        self.error = float(((first - self.shape.returns(source, slice(None))) ** 2).mean())
        self.deviation = model.spread * float(np.ptp(first))

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        mean = self.shape.returns(sources, targets)
        return RowPrediction(mean, np.full(len(sources), self.deviation**2))

    def explain(self) -> str:
        """Describe the finding in a few words."""
        return f"judged by the first policy alone, {self.shape.explain()}"


class FirstRowMountain(FittedModel):
    """The first row, moved to another source.

    Args:
        rows: The rows, of which the first is used.
        slopes: (D,) change of the returns per unit of distance, negative where they fall.
        deviation: Standard deviation of a return around what is expected.
    """

    def __init__(self, rows: CompletedRows, slopes: NDArray[np.float64], deviation: float) -> None:
        self.space = rows.space
        self.slopes = slopes
        self.deviation = deviation
        self._peaks = rows.returns[0] - np.abs(self.space.unit_targets - rows.sources[0]) @ slopes

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        units = self.space.unit_targets[targets]
        mean = np.tile(self._peaks[targets], (len(sources), 1))
        for d, slope in enumerate(self.slopes):
            mean += slope * np.abs(np.subtract.outer(sources[:, d], units[:, d]))
        return RowPrediction(mean, np.full(len(sources), self.deviation**2))

    def explain(self) -> str:
        """Describe the finding in a few words."""
        sides = zip(self.space.names, self.slopes, self.slopes, strict=True)
        return (
            "judged by the first policy alone, performance falls with the distance from the "
            f"source, as on a Mountain ({describe_changes(sides)})"
        )
