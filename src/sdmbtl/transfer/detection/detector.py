"""What a detector and a detection are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sdmbtl.errors import StructureError
from sdmbtl.markup import html_lines, html_table
from sdmbtl.transfer import ObservedRows, Slopes
from sdmbtl.transfer.detection.criterion import CriterionResult

#: Names of the paper's structures. A detector of your own may return any other name.
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

    def _repr_html_(self) -> str:
        headers = ("criterion", "holds", "value", "threshold", "finding")
        rows = [
            (
                c.name,
                "yes" if c.passed else "no",
                f"{c.value:.4g}",
                f"{c.threshold:.4g}",
                c.explanation,
            )
            for c in self.criteria
        ]
        lines = html_lines(self.structure, [self.explanation])
        return lines + (html_table(headers, rows) if rows else "")

    def to_dict(self) -> dict[str, Any]:
        """The detection as JSON data."""
        return {
            "structure": self.structure,
            "explanation": self.explanation,
            "criteria": [c.to_dict() for c in self.criteria],
        }


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
