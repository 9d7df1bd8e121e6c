"""Additive structures: difficulty of the target, quality of the policy, slopes of the gap.

J(x, y) = g(y) + f(x) + slopes · |x - y| + noise. The three differ in what may vary:

* Mountain: the same slope on both sides, no policy better than another.
* Additive: a slope for each side. A quality f that is linear in x is in the slopes already.
* Additive with free policy quality: f may be any smooth function, and each policy has its luck.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.detection.detector import MOUNTAIN
from sdmbtl.prediction.completed_rows import CompletedRows
from sdmbtl.prediction.model import FittedModel, RowModel, RowPrediction
from sdmbtl.prediction.smooth_effect import SmoothEffect

#: Weight of the ridge, relative to the number of pairs: dimensions that the rows say little
#: about get slopes near 0 rather than wild ones.
RIDGE = 2e-5


class AdditiveFit(FittedModel):
    """Slopes, target means and policy quality, estimated from complete rows.

    Args:
        rows: At least two rows.
        coefficients: (2 D,) of [x - y]_- and [x - y]_+.
        quality: Smooth policy quality; None if policies differ by the slopes alone.
        variance: Variance of a return around what the structure says.
        words: Which structure this is, in words.
    """

    def __init__(
        self,
        rows: CompletedRows,
        coefficients: NDArray[np.float64],
        quality: SmoothEffect | None,
        variance: float,
        words: str,
    ) -> None:
        self.space = rows.space
        self.quality = quality
        self.variance = variance
        self._words = words
        dimensions = rows.space.n_dimensions
        self.left, self.right = coefficients[:dimensions], coefficients[dimensions:]
        # left · [x - y]_- + right · [x - y]_+ = right · (x - y) + (left - right) · [x - y]_-
        means = rows.gaps.target_means - rows.gaps.target_features @ coefficients / len(rows)
        self._target_part = means - rows.space.unit_targets @ self.right

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        units = self.space.unit_targets[targets]
        source_part = sources @ self.right
        row_variance = np.zeros(len(sources))
        if self.quality is not None:
            quality, row_variance = self.quality.predict(sources)
            source_part = source_part + quality
        mean = np.add.outer(source_part, self._target_part[targets])
        for d in np.flatnonzero(self.left != self.right):
            below = np.subtract.outer(sources[:, d], units[:, d])
            np.minimum(below, 0.0, out=below)
            below *= self.left[d] - self.right[d]
            mean += below
        return RowPrediction(mean, row_variance, np.full(len(sources), self.variance))

    def explain(self) -> str:
        """What was found, in words."""
        # The left slope belongs to a negative difference: along the distance its sign turns.
        falls = zip(self.space.names, self.left, -self.right, strict=True)
        listed = ", ".join(f"{name} {left:.3g}/{right:.3g}" for name, left, right in falls)
        return f"{self._words}; from one end of a dimension to the other (left/right): {listed}"


class LinearGapModel(RowModel):
    """What the additive structures have in common: the regression."""

    #: Whether policies may differ on all targets alike, by luck and by a smooth quality.
    free_quality: ClassVar[bool] = False
    #: What it says about performance.
    words: ClassVar[str]

    @abstractmethod
    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """(2 D, p) how the coefficients of the signed differences depend on the free ones."""

    def fit(self, rows: CompletedRows) -> FittedModel:
        """Estimate slopes, noise and quality."""
        sums = rows.gaps
        pairs = len(rows) * len(rows.space)
        normal, moment, squares = sums.regression(free_quality=self.free_quality)
        basis = self.basis(rows.space.n_dimensions)
        presumed = _common_fall(normal, moment, RIDGE * pairs)
        inner = basis.T @ normal @ basis
        inner[np.diag_indices_from(inner)] += RIDGE * pairs
        coefficients = presumed + basis @ np.linalg.solve(
            inner, basis.T @ (moment - normal @ presumed)
        )
        left = squares - 2 * coefficients @ moment + coefficients @ normal @ coefficients
        degrees = max((len(rows) - 1) * (len(rows.space) - 1), 1)
        variance = max(float(left), 0.0) / degrees
        if not self.free_quality:
            return AdditiveFit(rows, coefficients, None, variance, self.words)
        quality = SmoothEffect(rows.sources, sums.row_residuals(coefficients))
        return AdditiveFit(rows, coefficients, quality, variance, self.words)


class MountainModel(LinearGapModel):
    """Performance falls with the distance to the source, alike on both sides."""

    name = MOUNTAIN
    words = "performance falls with the distance, alike on both sides"

    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """One slope for each dimension, with opposite signs on its two sides."""
        return np.vstack([-np.eye(dimensions), np.eye(dimensions)])


class AdditiveModel(LinearGapModel):
    """Performance changes along each dimension, on each side with a slope of its own."""

    name = "additive"
    words = "difficulty of the target plus a slope for each side of the source"

    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """Two slopes for each dimension."""
        return np.eye(2 * dimensions)


class AdditiveQualityModel(AdditiveModel):
    """As additive, and each policy is better or worse on all targets alike."""

    name = "additive-quality"
    free_quality = True
    words = "difficulty of the target plus quality of the policy plus a slope for each side"


def _common_fall(
    normal: NDArray[np.float64], moment: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """(2 D,) coefficients if performance fell alike in every dimension, 0 if it does not fall.

    It is what a dimension is presumed to be like in which no two sources differ.
    """
    dimensions = len(moment) // 2
    distance = np.concatenate([-np.ones(dimensions), np.ones(dimensions)])
    slope = (distance @ moment) / (distance @ normal @ distance + ridge)
    return np.asarray(min(slope, 0.0) * distance)
