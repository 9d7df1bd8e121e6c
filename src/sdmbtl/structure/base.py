"""What a criterion, a detector and a detection are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sdmbtl.errors import StructureError
from sdmbtl.structure.slopes import Slopes
from sdmbtl.transfer import ObservedRows

#: Names of the paper's structures. A detector of your own may return any other name.
MOUNTAIN = "mountain"
NO_STRUCTURE = "none"


@dataclass(frozen=True)
class CriterionResult:
    """What one criterion found.

    Attributes:
        name: Name of the criterion.
        passed: Whether it holds.
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

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data; None for a value that is infinite, which JSON has not."""
        data: dict[str, Any] = {
            "name": self.name,
            "passed": self.passed,
            "value": self.value if math.isfinite(self.value) else None,
            "threshold": self.threshold,
            "explanation": self.explanation,
        }
        if self.slopes is not None:
            data["slopes"] = self.slopes.to_dict()
        return data


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

    def to_dict(self) -> dict[str, Any]:
        """The detection as JSON data."""
        return {
            "structure": self.structure,
            "explanation": self.explanation,
            "criteria": [c.to_dict() for c in self.criteria],
        }


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


class Detector(ABC):
    """The paper's `Detect`: observed rows in, structure with its evidence out."""

    #: Fewer rows than this tell nothing about a structure.
    min_rows: ClassVar[int] = 2

    @abstractmethod
    def detect(self, rows: ObservedRows) -> Detection:
        """Detect the structure from rows of at least `min_rows` policies."""

    def check_rows(self, rows: ObservedRows) -> None:
        """Refuse rows that are too few to tell.

        Raises:
            StructureError: If there are fewer than `min_rows`.
        """
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
        return {"name": type(self).__name__}
