"""Detectors and criteria by name, and as JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdmbtl.checks import short_text
from sdmbtl.errors import StructureError
from sdmbtl.json_data import made_from_json
from sdmbtl.transfer.detection.criterion import Criterion
from sdmbtl.transfer.detection.detector import Detector
from sdmbtl.transfer.detection.mountain_detector import MountainDetector
from sdmbtl.transfer.detection.slope_criterion import SlopeCriterion
from sdmbtl.transfer.detection.small_variance_criterion import SmallVarianceCriterion

#: What is accepted as a criterion or a detector: itself, its name, or its name and settings.
CriterionLike = Criterion | str | Mapping[str, Any]
DetectorLike = Detector | str | Mapping[str, Any]

_CRITERIA: dict[str, type[Criterion]] = {
    criterion.name: criterion for criterion in (SmallVarianceCriterion, SlopeCriterion)
}


def make_criterion(given: CriterionLike) -> Criterion:
    """Make a criterion from its name, or from what its `describe()` returns.

    Raises:
        StructureError: If the name or a setting is unknown.
    """
    if isinstance(given, Criterion):
        return given
    return made_from_json("criterion", given, _CRITERIA, StructureError)


def make_detector(given: DetectorLike) -> Detector:
    """Make a detector from its name, or from what its `describe()` returns.

    Raises:
        StructureError: If the name or a setting is unknown.

    Example:
        >>> paper = {"name": "slope", "method": "relative", "symmetry": None}
        >>> detector = make_detector({"name": "mountain", "criteria": ["small variance", paper]})
        >>> detector.describe() == MountainDetector.as_in_the_paper().describe()
        True
    """
    if isinstance(given, Detector):
        return given
    return made_from_json("detector", given, {"mountain": _mountain_detector}, StructureError)


def _mountain_detector(criteria: Sequence[CriterionLike] | None = None) -> MountainDetector:
    if criteria is None:
        return MountainDetector()
    if isinstance(criteria, str | Mapping) or not isinstance(criteria, Sequence) or not criteria:
        raise StructureError(
            f"The 'criteria' of a detector must be a list. Got {short_text(criteria)} instead."
        )
    return MountainDetector([make_criterion(one) for one in criteria])
