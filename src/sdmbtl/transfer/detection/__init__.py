"""Structure detection: the paper's criteria and detectors, what was detected and why."""

from sdmbtl.transfer.detection.criterion import Criterion, CriterionResult
from sdmbtl.transfer.detection.detector import MOUNTAIN, NO_STRUCTURE, Detection, Detector
from sdmbtl.transfer.detection.mountain_detector import MountainDetector
from sdmbtl.transfer.detection.registry import DetectorLike, make_criterion, make_detector
from sdmbtl.transfer.detection.slope_criterion import SlopeCriterion
from sdmbtl.transfer.detection.small_variance_criterion import SmallVarianceCriterion

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
