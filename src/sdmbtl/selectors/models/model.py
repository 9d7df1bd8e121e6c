"""Models of rows: they predict the row of a policy that does not exist yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.json_data import as_json
from sdmbtl.selectors.models.completed_rows import CompletedRows


@dataclass(frozen=True)
class RowPrediction:
    """Expected returns of policies that were not trained yet.

    Attributes:
        mean: (m, n) expected returns of m policies on n targets.
        variance: (m,) variance of each return: what all returns of a row share (quality of
            the policy, run-to-run variance) and what single returns differ by around it.
        ceiling: The highest return to count on, for all or as (m, n).
    """

    mean: NDArray[np.floating]
    variance: NDArray[np.float64]
    ceiling: NDArray[np.floating] | float = np.inf


class FittedModel(ABC):
    """A model with its parameters estimated from some rows."""

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
        """Describe the finding in a few words."""


class RowModel(ABC):
    """A kind of regularity of transfer matrices, such as "performance falls with distance".

    A model with settings is a frozen dataclass of them: what an ablation varies is a field, with
    its default.
    """

    name: ClassVar[str]
    #: Fewer rows than this tell nothing about it.
    min_rows: ClassVar[int] = 2

    @abstractmethod
    def fit(self, rows: CompletedRows) -> FittedModel:
        """Estimate its parameters from at least `min_rows` rows."""

    def describe(self) -> dict[str, Any]:
        """The model and its settings as JSON data, to recognise a configuration by.

        Override it if your model has settings and is not a dataclass.
        """
        return {"name": self.name, **(as_json(self) if is_dataclass(self) else {})}
