"""When a study is done."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sdmbtl.checks import finite_number, whole_number
from sdmbtl.errors import StudyError


@dataclass(frozen=True)
class Standing:
    """Where a study stands, for a rule to judge.

    Attributes:
        performances: Mean best return after each finished policy.
        span: Width of the range of returns: the known one, otherwise of those seen.
        best_possible: Whether no target could do better.
        seconds_per_policy: Mean time for one policy so far in this run, None before the first.
        batch: Number of policies that are begun at once.
    """

    performances: Sequence[float]
    span: float
    best_possible: bool
    seconds_per_policy: float | None
    batch: int = 1


class StopRule(ABC):
    """Decides, between two policies, whether to stop.

    Attributes:
        even_if_pending: Whether it stops a study that has candidates to be trained still; usually
            these are finished first.
    """

    even_if_pending: ClassVar[bool] = False

    @abstractmethod
    def reason(self, standing: Standing) -> str | None:
        """Why to stop now, in words; None to go on."""


class Budget(StopRule):
    """Stop when so many policies are finished, counting those of earlier runs."""

    def __init__(self, policies: int) -> None:
        self.policies = whole_number("budget", policies, low=1, error=StudyError)

    def reason(self, standing: Standing) -> str | None:
        """Why to stop now."""
        if len(standing.performances) >= self.policies:
            plural = "policy" if self.policies == 1 else "policies"
            return f"the budget of {self.policies} {plural} is used"
        return None


class TimeLimit(StopRule):
    """Stop when the next policy would probably end after so many seconds from now."""

    even_if_pending = True

    def __init__(self, seconds: float) -> None:
        self.seconds = finite_number("time_limit", seconds, low=0.0, error=StudyError)
        self._begun = time.monotonic()

    def reason(self, standing: Standing) -> str | None:
        """Why to stop now."""
        left = self.seconds - (time.monotonic() - self._begun)
        if left <= 0 or left < (standing.seconds_per_policy or 0.0) * standing.batch:
            return f"the time of {self.seconds:g} s is used, or too short for one more policy"
        return None


class NoGain(StopRule):
    """Stop when further policies add next to nothing.

    Args:
        min_gain: Share of the range of returns by which the mean best return must rise.
        patience: Number of policies that together must reach it.
    """

    def __init__(self, min_gain: float, patience: int = 3) -> None:
        self.min_gain = finite_number("min_gain", min_gain, low=0.0, error=StudyError)
        self.patience = whole_number("patience", patience, low=1, error=StudyError)

    def reason(self, standing: Standing) -> str | None:
        """Why to stop now."""
        if standing.best_possible:
            return "every target has the highest return there is"
        if len(standing.performances) <= self.patience:
            return None
        gain = standing.performances[-1] - standing.performances[-1 - self.patience]
        if gain < self.min_gain * standing.span:
            return (
                f"the mean best return rose by {gain:.4g} in the last {self.patience} rounds, "
                f"less than {self.min_gain:g} of the range of {standing.span:.4g}"
            )
        return None
