"""Structure detection: the paper's criteria and detectors, what was detected and why."""

from sdmbtl.detection.criterion import Criterion, CriterionResult
from sdmbtl.detection.detector import MOUNTAIN, NO_STRUCTURE, Detection, Detector
from sdmbtl.detection.mountain_detector import MountainDetector
from sdmbtl.detection.registry import DetectorLike, make_criterion, make_detector
from sdmbtl.detection.slope_criterion import SlopeCriterion
from sdmbtl.detection.small_variance_criterion import SmallVarianceCriterion

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
    "make_criterion",
    "make_detector",
]
