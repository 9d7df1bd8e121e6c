"""Does performance fall on both sides of the source, as a distance would have it?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sdmbtl.structure.base import Criterion, CriterionResult
from sdmbtl.structure.slopes import RunningPairSums, SlopeMethod, Slopes, checked_method
from sdmbtl.transfer import ObservedRows


class SlopeCriterion(Criterion):
    """The paper's slope criterion: performance falls on both sides in most dimensions.

    Args:
        method: How the slopes are estimated; "within" is unbiased, "relative" is the paper's.
        majority: The share of dimensions that must be exceeded.
    """

    name: ClassVar[str] = "slope"

    def __init__(self, method: SlopeMethod = "within", majority: float = 0.5) -> None:
        self.method = checked_method(method)
        self.majority = majority
        self._sums = RunningPairSums()

    def evaluate(self, rows: ObservedRows) -> CriterionResult:
        """Estimate the slopes and count the dimensions in which both fall."""
        slopes = self._sums.slopes(rows, self.method)
        share = float(np.mean(slopes.falling))
        return CriterionResult(
            name=self.name,
            passed=share > self.majority,
            value=share,
            threshold=self.majority,
            explanation=_explained(slopes),
            slopes=slopes,
        )

    def describe(self) -> dict[str, Any]:
        """The criterion and its settings as JSON data."""
        return {"name": self.name, "method": self.method, "majority": self.majority}


def _explained(slopes: Slopes) -> str:
    falling = [n for n, falls in zip(slopes.names, slopes.falling, strict=True) if falls]
    others = [n for n in slopes.names if n not in falling]
    if not others:
        return f"performance falls on both sides in every dimension ({', '.join(falling)})"
    if not falling:
        return f"performance falls on both sides in no dimension ({', '.join(others)})"
    return f"performance falls on both sides in {', '.join(falling)} but not in {', '.join(others)}"
