"""Structure detection: the paper's criteria and detectors, what was detected and why."""

from sdmbtl.transfer.detection.criteria import (
    Criterion,
    CriterionResult,
    SlopeCriterion,
    SmallVarianceCriterion,
)
from sdmbtl.transfer.detection.detectors import (
    MOUNTAIN,
    NO_STRUCTURE,
    Detection,
    Detector,
    DetectorLike,
    MountainDetector,
    make_detector,
)

__all__ = [
    "MOUNTAIN",
    "NO_STRUCTURE",
    "Criterion",
    "CriterionResult",
    "Detection",
    "Detector",
    "DetectorLike",
    "MountainDetector",
    "SlopeCriterion",
    "SmallVarianceCriterion",
    "make_detector",
]
