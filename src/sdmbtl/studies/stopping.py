"""When a study is done."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sdmbtl.checks import check_float, check_int
from sdmbtl.errors import StudyError
from sdmbtl.wording import counted, gain_text

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study

#: Finished policies below which the gain of further ones is not estimated.
LEAST_POLICIES = 3
#: Names of the facts: rules of the last run, as keywords of `Study.run`, and why it stopped.
STOP_RULES, STOPPED = "stop_rules", "stopped"


def mean_gain(performances: Sequence[float], policies: int) -> float:
    """Return the mean gain of each of the last policies, at most this many of at least two."""
    count = min(policies, len(performances) - 1)
    return (performances[-1] - performances[-1 - count]) / count


class StopRule(ABC):
    """Decides, between two policies, whether to stop."""

    #: Whether it stops a study that has pending trials; usually these are finished first.
    even_if_pending: ClassVar[bool] = False

    @abstractmethod
    def reason(self, study: Study) -> str | None:
        """Return the reason to stop now, in words; None to continue."""


class Budget(StopRule):
    """Stop when this many policies are finished, counting those of earlier runs."""

    def __init__(self, policies: int) -> None:
        self.policies = check_int("budget", policies, low=1, error=StudyError)

    def reason(self, study: Study) -> str | None:
        """Return the reason to stop now."""
        if study.n_finished >= self.policies:
            return f"the budget of {counted(self.policies, 'policy', 'policies')} is used"
        return None


class TotalSteps(StopRule):
    """Stop when this many environment steps are used, earlier runs and evaluation included.

    The last policy may go beyond.
    """

    def __init__(self, steps: int) -> None:
        self.steps = check_int("total_steps", steps, low=1, error=StudyError)

    def reason(self, study: Study) -> str | None:
        """Return the reason to stop now."""
        if study.steps >= self.steps:
            return f"{study.steps:,} of {self.steps:,} environment steps are used"
        return None


class TimeLimit(StopRule):
    """Stop when the next policy would probably end after the time limit."""

    even_if_pending = True

    def __init__(self, seconds: float) -> None:
        self.seconds = check_float("time_limit", seconds, low=0.0, error=StudyError)
        self._begun = time.monotonic()
        #: Time and number of finished policies when it was asked first.
        self._first: tuple[float, int] | None = None

    def reason(self, study: Study) -> str | None:
        """Return the reason to stop now."""
        now, done = time.monotonic(), study.n_finished
        if self._first is None:
            self._first = now, done
        begun, before = self._first
        pace = (now - begun) / (done - before) if done > before else 0.0
        left = self.seconds - (now - self._begun)
        if left <= 0 or left < pace * study.configuration.batch:
            return f"the time of {self.seconds:g} s is used, or too short for one more policy"
        return None


class NoGain(StopRule):
    """Stop when further policies add next to nothing.

    If the selector estimates what the next `patience` policies will add, that must be too little.
    An estimate can be wrong, above all an early one, so experience must not contradict it: the
    last `patience` policies must have added less, each on average, than is asked of the next ones
    together.

    If the selector does not estimate it, the last `patience` policies together must have added too
    little.

    Either way, nothing is said before three policies are finished, unless no target could do
    better. Policies whose training has probably failed are not counted: that they add nothing
    says nothing about the next ones.

    Args:
        min_gain: Share of the range of returns by which the mean best return must rise.
        patience: Number of policies that together must reach it.
    """

    def __init__(self, min_gain: float, patience: int = 3) -> None:
        self.min_gain = check_float("min_gain", min_gain, low=0.0, error=StudyError)
        if self.min_gain > 1:
            raise StudyError(
                "'min_gain' is a share of the range of returns, 0 to 1; 0.005 is half a percent. "
                f"Got {min_gain!r} instead."
            )
        self.patience = check_int("patience", patience, low=1, error=StudyError)

    def reason(self, study: Study) -> str | None:
        """Return the reason to stop now."""
        returns, known = study.selector.expected_returns, study.return_range
        if not len(returns):
            return None
        curve = np.maximum.accumulate(returns, axis=0)
        if known is not None and (curve[-1] >= known[1]).all():
            return "every target has the highest return there is"
        if len(curve) < LEAST_POLICIES:
            return None
        finished, failed = (
            [t.id for t in study.trials if t.row is not None],
            study.selector.failed_runs(),
        )
        sound = [
            float(study.space.mean(best))
            for number, best in zip(finished, curve, strict=True)
            if number not in failed
        ]
        asked_for = self.min_gain * study.return_span
        if len(sound) < LEAST_POLICIES or mean_gain(sound, self.patience) >= asked_for:
            return None
        gain, which = study.selector.remaining_gain(self.patience), "expected of the next"
        if gain is None and len(sound) > self.patience:
            gain, which = mean_gain(sound, self.patience) * self.patience, "from the last"
        if gain is None or gain >= asked_for:
            return None
        span = None if known is None else study.return_span
        policies = counted(self.patience, "policy", "policies")
        limit = gain_text(asked_for, span).removeprefix("+")
        return f"{gain_text(gain, span)} {which} {policies}, less than {limit}"
