"""Structure detection: criteria, detectors, what was detected and why."""

from sdmbtl.structure.base import (
    MOUNTAIN,
    NO_STRUCTURE,
    Criterion,
    CriterionResult,
    Detection,
    Detector,
)
from sdmbtl.structure.mountain import MountainDetector
from sdmbtl.structure.slope_criterion import SlopeCriterion
from sdmbtl.structure.slopes import SlopeMethod, Slopes, estimate_slopes
from sdmbtl.structure.small_variance import SmallVarianceCriterion

__all__ = [
    "MOUNTAIN",
    "NO_STRUCTURE",
    "Criterion",
    "CriterionResult",
    "Detection",
    "Detector",
    "MountainDetector",
    "SlopeCriterion",
    "SlopeMethod",
    "Slopes",
    "SmallVarianceCriterion",
    "estimate_slopes",
]
