"""The paper's detector: Mountain, or no structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection.criterion import Criterion
from sdmbtl.transfer.detection.detector import MOUNTAIN, NO_STRUCTURE, Detection, Detector
from sdmbtl.transfer.detection.slope_criterion import SlopeCriterion
from sdmbtl.transfer.detection.small_variance_criterion import SmallVarianceCriterion


class MountainDetector(Detector):
    """Detects the Mountain structure if every criterion holds.

    Args:
        criteria: The criteria; by default small variance and slope, with unbiased slopes
            that must be similar on both sides.

    Example:
        >>> import numpy as np
        >>> from sdmbtl import ContextSpace
        >>> space = ContextSpace(mass=range(9))
        >>> sources = np.array([[2.0], [4.0], [7.0]])
        >>> rows = ObservedRows(space, sources, -abs(sources - space.targets.T))
        >>> detection = MountainDetector().detect(rows)
        >>> print(detection.structure, detection.slopes.left.round(3), detection.explanation)
        mountain [-8.] policies differ less from one another, each on its own context, than one
        policy does from target to target (standard deviations 0.416 and 1.54, relative to the mean
        on each target); performance falls on both sides in every dimension (mass)
    """

    def __init__(self, criteria: Sequence[Criterion] | None = None) -> None:
        if criteria is None:
            criteria = (SmallVarianceCriterion(), SlopeCriterion())
        self.criteria = tuple(criteria)

    @classmethod
    def as_in_the_paper(cls) -> MountainDetector:
        """The same detector with the paper's slope criterion: biased estimate, signs alone."""
        slope = SlopeCriterion(method="relative", symmetry=None)
        return cls((SmallVarianceCriterion(), slope))

    @property
    def structures(self) -> tuple[str, ...]:
        """Mountain and no structure."""
        return (MOUNTAIN, NO_STRUCTURE)

    def detect(self, rows: ObservedRows) -> Detection:
        """Evaluate every criterion on the observed rows."""
        self.check_rows(rows)
        results = tuple(criterion.evaluate(rows) for criterion in self.criteria)
        failed = [r for r in results if not r.passed]
        explanation = "; ".join(r.explanation for r in (failed or results))
        return Detection(
            structure=NO_STRUCTURE if failed else MOUNTAIN,
            explanation=explanation,
            criteria=results,
        )

    def describe(self) -> dict[str, Any]:
        """The detector and its settings as JSON data."""
        return {"name": "mountain", "criteria": [c.describe() for c in self.criteria]}
