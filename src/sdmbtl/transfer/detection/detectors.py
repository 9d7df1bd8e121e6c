"""Detectors: observed rows in, the structure and the evidence for it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sdmbtl.checks import short_text
from sdmbtl.errors import StructureError
from sdmbtl.json_data import made_from_json
from sdmbtl.plugins import installed, load
from sdmbtl.transfer import ObservedRows, Slopes
from sdmbtl.transfer.detection.criteria import (
    Criterion,
    CriterionResult,
    SlopeCriterion,
    SmallVarianceCriterion,
)

#: Names of the paper's structures. Your detector may return any other name.
MOUNTAIN = "mountain"
NO_STRUCTURE = "none"


@dataclass(frozen=True)
class Detection:
    """The structure that was detected, and the evidence for it.

    Attributes:
        structure: Name of the structure.
        explanation: Why, in a sentence.
        criteria: The result of each criterion.
    """

    structure: str
    explanation: str
    criteria: tuple[CriterionResult, ...] = field(default=())

    @property
    def slopes(self) -> Slopes | None:
        """The slopes left and right per dimension, if a criterion estimated them."""
        return next((c.slopes for c in self.criteria if c.slopes is not None), None)


class Detector(ABC):
    """The paper's `Detect`: observed rows in, structure with its evidence out."""

    #: Name in the registry: that of its entry point in `sdmbtl.detectors`.
    name: ClassVar[str] = ""
    #: Fewer rows than this tell nothing about a structure.
    min_rows: ClassVar[int] = 2

    @abstractmethod
    def detect(self, rows: ObservedRows) -> Detection:
        """Detect the structure from rows of at least `min_rows` policies."""

    def check_rows(self, rows: ObservedRows) -> None:
        """Refuse rows that are too few to tell."""
        if len(rows) < self.min_rows:
            raise StructureError(
                f"Detection needs the rows of at least {self.min_rows} policies. Got {len(rows)}."
            )

    @property
    @abstractmethod
    def structures(self) -> tuple[str, ...]:
        """Every structure this detector may return."""

    def describe(self) -> dict[str, Any]:
        """The detector and its settings as JSON data, to recognise a configuration by."""
        return {"name": self.name or type(self).__name__}


_CRITERIA: dict[str, type[Criterion]] = {
    criterion.name: criterion for criterion in (SmallVarianceCriterion, SlopeCriterion)
}
#: A criterion: itself, its name, or its name and settings.
CriterionLike = Criterion | str | Mapping[str, Any]


class MountainDetector(Detector):
    """Detects the Mountain structure if every criterion holds.

    Args:
        criteria: The criteria, or their names, or names and settings; by default small variance
            and slope, with unbiased slopes that must be similar on both sides.

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
        on each target); performance falls on both sides in mass
    """

    name = MOUNTAIN

    def __init__(self, criteria: Sequence[CriterionLike] = tuple(_CRITERIA)) -> None:
        if not isinstance(criteria, list | tuple) or not criteria:
            raise StructureError(
                f"The 'criteria' of a detector must be a list. Got {short_text(criteria)} instead."
            )
        self.criteria = tuple(
            one
            if isinstance(one, Criterion)
            else made_from_json("criterion", one, _CRITERIA, StructureError)
            for one in criteria
        )

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
        return Detection(NO_STRUCTURE if failed else MOUNTAIN, explanation, results)

    def describe(self) -> dict[str, Any]:
        """The detector and its settings as JSON data."""
        return {"name": self.name, "criteria": [c.describe() for c in self.criteria]}


#: A detector: itself, its name, or its name and settings.
DetectorLike = Detector | str | Mapping[str, Any]


def make_detector(given: DetectorLike) -> Detector:
    """Make a detector from its name, or from what its `describe()` returns.

    Installed plug-ins of the group `sdmbtl.detectors` have names too.

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
    others = {name: load("detectors", name) for name in installed("detectors")}
    makers: dict[str, Callable[..., Detector]] = {n: m for n, m in others.items() if m is not None}
    return made_from_json("detector", given, {**makers, MOUNTAIN: MountainDetector}, StructureError)
