"""A question about the observed rows, and its answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from sdmbtl.transfer import ObservedRows, Slopes


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
