"""Models of rows: they predict the row of a policy that does not exist yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.json_data import as_json
from sdmbtl.selectors.models.smooth_effect import SmoothEffect

#: A standard deviation is never taken to be smaller than this share of the range of returns:
#: rounding must not look like certainty.
LEAST_SPREAD = 1e-4


@dataclass(frozen=True)
class KnownRows:
    """Rows of the policies so far, as models see them.

    Attributes:
        space: The context space.
        sources: (k, D) contexts the policies were trained on, in unit coordinates.
        returns: (k, N) expected returns on every target.
        own: (k,) the return of each policy on its own context.
    """

    space: ContextSpace
    sources: NDArray[np.float64]
    returns: NDArray[np.float64]
    own: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.returns)

    def only(self, which: slice | NDArray[np.bool_]) -> KnownRows:
        """Return some of these rows."""
        return KnownRows(self.space, self.sources[which], self.returns[which], self.own[which])

    def shared(self, other: KnownRows) -> int:
        """Count the rows at the start that are the same in both."""
        count = min(len(self), len(other))
        same = (self.sources[:count] == other.sources[:count]).all(axis=1)
        same &= (self.returns[:count] == other.returns[:count]).all(axis=1)
        same &= self.own[:count] == other.own[:count]
        return count if same.all() else int(same.argmin())

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """(N,) best return so far on each target."""
        return np.asarray(self.returns.max(axis=0))

    @cached_property
    def ceiling(self) -> float:
        """The largest return seen."""
        return float(self.returns.max())

    @cached_property
    def least_variance(self) -> float:
        """The smallest variance that a return is taken to have."""
        return max(LEAST_SPREAD * float(np.ptp(self.returns)), 1e-150) ** 2


class Shape(ABC):
    """Returns of policies as a function of source and target, without their quality."""

    @abstractmethod
    def returns(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> NDArray[np.float64]:
        """(m, n) expected returns on n targets of policies trained on (m, D) unit coordinates."""

    @abstractmethod
    def explain(self) -> str:
        """Describe the finding in a few words."""


class RowModel(ABC):
    """A kind of regularity of transfer matrices, such as "returns fall with the distance"."""

    name: ClassVar[str]

    @abstractmethod
    def fit(self, rows: KnownRows) -> Shape:
        """Estimate the shape from at least one row."""

    def describe(self) -> dict[str, Any]:
        """The model and its settings as JSON data: it is a frozen dataclass of them."""
        return {"name": self.name, **as_json(self)}


class FittedModel:
    """J(x, y) = shape(x, y) + quality(x) + noise.

    The quality is a smooth function of the source, the same on all targets. Runs vary around it.
    `variance` is that of a single return around the rest of its row.
    """

    def __init__(self, model: RowModel, rows: KnownRows) -> None:
        self.shape = model.fit(rows)
        residuals = rows.returns - self.shape.returns(rows.sources, slice(None))
        means = residuals.mean(axis=1)
        residuals -= means[:, None]
        # A shape has a level for each target: one row's worth of freedom.
        freedom = max(len(rows) - 1, 1) * max(len(rows.space) - 1, 1)
        self.variance = max(float((residuals**2).sum()) / freedom, rows.least_variance)
        self._quality = SmoothEffect(rows.sources, means)

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(m, n) expected returns of (m, D) sources, and the (m,) variance each row shares."""
        quality, row_variance = self._quality.predict(sources)
        mean = self.shape.returns(sources, targets)
        mean += quality[:, None]
        return mean, row_variance
