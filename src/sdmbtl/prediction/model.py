"""A structure as a predictive model: what will the next policy's row look like?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.prediction.completed_rows import CompletedRows


@dataclass(frozen=True)
class RowPrediction:
    """What a structure expects of policies that were not trained yet.

    Attributes:
        mean: (m, n) expected returns of m policies on n targets.
        row_variance: (m,) variance that a whole row shares: quality and training luck.
        variance: (m,) variance of each return around its row, independent between targets.
    """

    mean: NDArray[np.floating]
    row_variance: NDArray[np.float64]
    variance: NDArray[np.float64]

    @property
    def total_variance(self) -> NDArray[np.float64]:
        """(m,) variance of a single return."""
        return self.row_variance + self.variance


class FittedModel(ABC):
    """A structure with its parameters estimated from some rows."""

    @abstractmethod
    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """Predict the returns of policies.

        Args:
            sources: (m, D) contexts to train on, in unit coordinates.
            targets: Which n targets to predict the returns on.
        """

    @abstractmethod
    def explain(self) -> str:
        """What was found, in words."""


class RowModel(ABC):
    """A kind of regularity of transfer matrices, such as "performance falls with distance"."""

    name: ClassVar[str]
    #: Fewer rows than this tell nothing about it.
    min_rows: ClassVar[int] = 2

    @abstractmethod
    def fit(self, rows: CompletedRows) -> FittedModel:
        """Estimate its parameters from at least `min_rows` rows."""
