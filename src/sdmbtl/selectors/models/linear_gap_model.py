"""Models with a linear gap: Mountain, additive, and additive with free policy quality.

J(x, y) = g(y) + f(x) + slopes · |x - y| + noise, with g the difficulty of the target and f the
quality of the policy. The models share the regression and differ in what may vary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_bool, check_float
from sdmbtl.errors import ModelError
from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.model import FittedModel, RowModel, RowPrediction
from sdmbtl.selectors.models.smooth_effect import SmoothEffect
from sdmbtl.transfer import Slopes
from sdmbtl.transfer.detection import MOUNTAIN

#: An explanation names this many dimensions, those with the steepest slopes.
NAMED = 3


@dataclass(frozen=True)
class LinearGapModel(RowModel):
    """Base of the models with a linear gap.

    Attributes:
        ridge: Weight of the ridge, relative to the number of pairs: dimensions that the rows say
            little about get slopes near those presumed rather than extreme ones.
        presume_fall: Whether a dimension in which no two sources differ is presumed to be like
            all of them together; otherwise it is presumed flat.
    """

    ridge: float = 2e-5
    presume_fall: bool = True

    #: Whether policies may differ by the same amount on all targets: noise and a smooth quality.
    free_quality: ClassVar[bool] = False
    #: What it assumes, as the first part of a sentence.
    words: ClassVar[str]

    def __post_init__(self) -> None:
        check_float("ridge", self.ridge, low=0.0, error=ModelError)
        check_bool("presume_fall", self.presume_fall, error=ModelError)

    @abstractmethod
    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """(2 D, p) how the coefficients of the signed differences depend on the free ones."""

    def fit(self, rows: CompletedRows) -> LinearGapFit:
        """Estimate slopes, noise and quality."""
        ridge = self.ridge * len(rows) * len(rows.space)
        normal, moment, squares = rows.gaps.within(free_quality=self.free_quality)
        basis = self.basis(rows.space.n_dimensions)
        presumed = _common_fall(normal, moment, ridge) if self.presume_fall else 0.0 * moment
        inner = basis.T @ normal @ basis
        inner[np.diag_indices_from(inner)] += ridge
        coefficients = presumed + basis @ np.linalg.solve(
            inner, basis.T @ (moment - normal @ presumed)
        )
        left = squares - 2 * coefficients @ moment + coefficients @ normal @ coefficients
        degrees = max((len(rows) - 1) * (len(rows.space) - 1), 1)
        quality = (
            SmoothEffect(rows.sources, rows.gaps.row_residuals(coefficients))
            if self.free_quality
            else None
        )
        return LinearGapFit(
            rows,
            coefficients,
            np.diagonal(normal) > 0,
            quality,
            max(float(left), 0.0) / degrees,
            self,
        )


class MountainModel(LinearGapModel):
    """The same slope on both sides of the source, no policy better than another."""

    name = MOUNTAIN
    words = "performance falls with the distance from the source, equally on both sides"

    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """One slope for each dimension, with opposite signs on its two sides."""
        return np.vstack([-np.eye(dimensions), np.eye(dimensions)])


class AdditiveModel(LinearGapModel):
    """A slope for each side; a policy quality that is linear in x is in the slopes already."""

    name = "additive"
    words = "a policy's return changes steadily with the distance from its source"

    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """Two slopes for each dimension."""
        return np.eye(2 * dimensions)


class AdditiveQualityModel(AdditiveModel):
    """As additive, and each policy is better or worse by the same amount on all targets.

    The quality may be any smooth function of the source, and it varies from run to run.
    """

    name = "additive-quality"
    free_quality = True
    words = (
        "some policies are better than others everywhere, and returns change steadily with the "
        "distance from the source"
    )


class LinearGapFit(FittedModel):
    """Slopes, target means and policy quality, estimated from complete rows.

    Args:
        rows: At least two rows.
        coefficients: (2 D,) of [x - y]_- and [x - y]_+.
        seen: (2 D,) whether the rows say anything about each.
        quality: Smooth policy quality; None if policies differ by the slopes alone.
        variance: Variance of a return around what the model says.
        model: The model that was fitted.

    Attributes:
        slopes: Change of return per unit of distance, negative where performance falls.
    """

    def __init__(
        self,
        rows: CompletedRows,
        coefficients: NDArray[np.float64],
        seen: NDArray[np.bool_],
        quality: SmoothEffect | None,
        variance: float,
        model: LinearGapModel,
    ) -> None:
        self.space = rows.space
        self.slopes = Slopes.of_coefficients(rows.space.names, coefficients, seen)
        self.quality = quality
        self.variance = variance
        self._words = model.words
        # left · [y - x]_+ + right · [x - y]_+ = right · (x - y) - (left + right) · [x - y]_-
        means = rows.gaps.target_means - rows.gaps.target_features @ coefficients / len(rows)
        self._target_part = means - rows.space.unit_targets @ self.slopes.right

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies."""
        units = self.space.unit_targets[targets]
        source_part = sources @ self.slopes.right
        variance = np.full(len(sources), self.variance)
        if self.quality is not None:
            quality, row_variance = self.quality.predict(sources)
            source_part = source_part + quality
            variance = row_variance + variance
        mean = np.add.outer(source_part, self._target_part[targets])
        kinks = self.slopes.left + self.slopes.right
        for d in np.flatnonzero(kinks):
            below = np.subtract.outer(sources[:, d], units[:, d])
            np.minimum(below, 0.0, out=below)
            below *= -kinks[d]
            mean += below
        return RowPrediction(mean, variance)

    def explain(self) -> str:
        """Describe the finding in a few words."""
        sides = zip(self.slopes.names, self.slopes.left, self.slopes.right, strict=True)
        return f"{self._words} ({describe_changes(sides)})"


def describe_changes(sides: Iterable[tuple[str, float, float]]) -> str:
    """Describe the steepest changes of the return across the full range of a dimension.

    Args:
        sides: Name of each dimension, change on targets above the source, and below.
    """
    steepest = sorted(sides, key=lambda side: -max(abs(side[1]), abs(side[2])))[:NAMED]
    changes = [
        f"{name} {above:+.3g}" + ("" if above == below else f" upwards, {below:+.3g} downwards")
        for name, above, below in steepest
    ]
    return f"across the full range: {'; '.join(changes)}"


def _common_fall(
    normal: NDArray[np.float64], moment: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """(2 D,) coefficients if performance fell equally in every dimension, 0 if it does not fall."""
    dimensions = len(moment) // 2
    distance = np.concatenate([-np.ones(dimensions), np.ones(dimensions)])
    slope = (distance @ moment) / (distance @ normal @ distance + ridge)
    return np.asarray(min(slope, 0.0) * distance)
