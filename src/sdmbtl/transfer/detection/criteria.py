"""The paper's criteria: questions about the observed rows, each with its answer and evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float, known_name
from sdmbtl.errors import StructureError
from sdmbtl.transfer import ObservedRows, Slopes
from sdmbtl.transfer.slopes import PairSums, SlopeMethod


@dataclass(frozen=True)
class CriterionResult:
    """Finding of one criterion.

    Attributes:
        name: Name of the criterion.
        passed: True if it holds.
        value: The number it looked at.
        threshold: The number it compared with.
        explanation: The finding as a sentence.
        slopes: The slopes it estimated, if it did.
    """

    name: str
    passed: bool
    value: float
    threshold: float
    explanation: str
    slopes: Slopes | None = None


class Criterion(ABC):
    """A question about the observed rows that can be answered with yes or no."""

    name: ClassVar[str]

    @abstractmethod
    def evaluate(self, rows: ObservedRows) -> CriterionResult:
        """Answer it for rows of at least two policies."""

    def describe(self) -> dict[str, Any]:
        """The criterion and its settings as JSON data, to recognise a configuration by.

        Override it if your criterion has settings.
        """
        return {"name": self.name}


class SmallVarianceCriterion(Criterion):
    """The paper's small-variance criterion (Lemma 1).

    Holds if the relative returns of the policies on their own sources, std_x(J̄(pi_x, x)), vary
    less than the relative returns of one policy over the targets, E_x[std_y(J̄(pi_x, y))].
    """

    name: ClassVar[str] = "small variance"

    def evaluate(self, rows: ObservedRows) -> CriterionResult:
        """Compare the two standard deviations."""
        on_source = rows.source_returns - rows.target_means[rows.source_positions]
        on_source = on_source[~np.isnan(on_source)]
        quality = float(np.std(on_source)) if len(on_source) > 1 else np.inf
        dissimilarity = float(np.nanmean(np.nanstd(rows.relative, axis=1)))
        # Where every policy does the same, rounding must not decide.
        rounding = 64 * float(np.finfo(np.float64).eps) * float(np.nanmax(np.abs(rows.returns)))
        passed = quality < dissimilarity and dissimilarity > rounding
        verb = "differ less" if passed else "do not differ less"
        return CriterionResult(
            name=self.name,
            passed=passed,
            value=quality,
            threshold=dissimilarity,
            explanation=(
                f"policies {verb} from one another, each on its own context, than one "
                f"policy does from target to target (standard deviations {quality:.3g} and "
                f"{dissimilarity:.3g}, relative to the mean on each target)"
            ),
        )


class SlopeCriterion(Criterion):
    """The paper's slope criterion: performance falls on both sides in most dimensions.

    A distance is symmetric, so one side must not fall much more steeply than the other: policies
    that are better towards one end tilt the ridge, and a tilted ridge is not a Mountain.

    Args:
        method: Estimate of the slopes; "within" is unbiased, "relative" is the paper's.
        majority: The share of dimensions that must be exceeded.
        symmetry: Largest ratio of the slopes of both sides; None for any: the
            paper's criterion looks at the signs alone.
    """

    name: ClassVar[str] = "slope"

    def __init__(
        self,
        method: SlopeMethod = "within",
        majority: float = 0.5,
        symmetry: float | None = 3.0,
    ) -> None:
        known_name("method", method, get_args(SlopeMethod), error=StructureError)
        self.method = method
        self.majority = check_float("majority", majority, low=0, error=StructureError)
        self.symmetry = symmetry
        if symmetry is not None:
            self.symmetry = check_float("symmetry", symmetry, low=1, error=StructureError)
        self._sums = PairSums()

    def evaluate(self, rows: ObservedRows) -> CriterionResult:
        """Estimate the slopes and count the dimensions in which both sides fall similarly.

        Dimensions without evidence in the rows do not count.
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
    kinds = {
        "falls on both sides": holds,
        "falls on both sides but much more on one": slopes.known & slopes.falling & ~holds,
        "does not fall on both sides": slopes.known & ~slopes.falling,
        "is not known": ~slopes.known,
    }
    names = np.array(slopes.names)
    parts = [f"{what} in {', '.join(names[which])}" for what, which in kinds.items() if which.any()]
    return f"performance {', '.join(parts)}"
