"""Does performance fall on both sides of the source, as a distance would have it?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float
from sdmbtl.errors import StructureError
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection.criterion import Criterion, CriterionResult
from sdmbtl.transfer.slopes import RunningPairSums, SlopeMethod, Slopes, check_method


class SlopeCriterion(Criterion):
    """The paper's slope criterion: performance falls on both sides in most dimensions.

    A distance is symmetric, so one side must not fall much more steeply than the other: policies
    that are better towards one end tilt the ridge, and a tilted ridge is not a Mountain.

    Args:
        method: How the slopes are estimated; "within" is unbiased, "relative" is the paper's.
        majority: The share of dimensions that must be exceeded.
        symmetry: How many times steeper one side may be; None for any number of times: the
            paper's criterion looks at the signs alone.
    """

    name: ClassVar[str] = "slope"

    def __init__(
        self,
        method: SlopeMethod = "within",
        majority: float = 0.5,
        symmetry: float | None = 3.0,
    ) -> None:
        self.method = check_method(method)
        self.majority = check_float("majority", majority, low=0, error=StructureError)
        self.symmetry = (
            None
            if symmetry is None
            else check_float("symmetry", symmetry, low=1, error=StructureError)
        )
        self._sums = RunningPairSums()

    def evaluate(self, rows: ObservedRows) -> CriterionResult:
        """Estimate the slopes and count the dimensions in which both sides fall similarly.

        Dimensions that the rows say nothing about do not count.
        """
        slopes = self._sums.slopes(rows, self.method)
        holds = slopes.falling & slopes.known
        if self.symmetry is not None:
            holds &= slopes.steepness <= self.symmetry
        share = float(holds.sum() / max(slopes.known.sum(), 1))
        return CriterionResult(
            name=self.name,
            passed=share > self.majority,
            value=share,
            threshold=self.majority,
            explanation=_explain(slopes, holds),
            slopes=slopes,
        )

    def describe(self) -> dict[str, Any]:
        """The criterion and its settings as JSON data."""
        return {
            "name": self.name,
            "method": self.method,
            "majority": self.majority,
            "symmetry": self.symmetry,
        }


def _explain(slopes: Slopes, holds: NDArray[np.bool_]) -> str:
    def listed(which: NDArray[np.bool_]) -> str:
        return ", ".join(name for name, chosen in zip(slopes.names, which, strict=True) if chosen)

    tilted = slopes.known & slopes.falling & ~holds
    other = slopes.known & ~slopes.falling
    if not slopes.known.any():
        return "the rows say nothing about any dimension yet"
    if (holds == slopes.known).all():
        text = f"performance falls on both sides in every dimension ({listed(holds)})"
    elif not slopes.falling.any():
        text = f"performance does not fall on both sides in any dimension ({listed(other)})"
    else:
        parts = []
        if holds.any():
            parts.append(f"falls on both sides in {listed(holds)}")
        if tilted.any():
            parts.append(f"falls on both sides but much more on one in {listed(tilted)}")
        if other.any():
            parts.append(f"does not fall on both sides in {listed(other)}")
        text = "performance " + ", ".join(parts)
    if not slopes.known.all():
        text += f"; nothing is known about {listed(~slopes.known)}"
    return text
