"""When a study is done."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sdmbtl.checks import check_float, check_int
from sdmbtl.errors import StudyError
from sdmbtl.json_data import as_json
from sdmbtl.wording import counted, gain_text

if TYPE_CHECKING:
    from sdmbtl.studies.store import StudyStore
    from sdmbtl.studies.study import Study

#: Finished policies below which the gain of further ones is not estimated.
LEAST_POLICIES = 3
#: Names of the facts: rules of the last run, as keywords of `Study.run`, and why it stopped.
STOP_RULES, STOPPED = "stop_rules", "stopped"


@dataclass(frozen=True)
class RunState:
    """Figures of a study, for a rule to judge.

    Attributes:
        performances: Mean best return after each finished policy.
        span: Width of the range of returns: the known one, otherwise of those seen.
        best_possible: Whether no target could do better.
        seconds_per_policy: Mean time for one policy so far in this run, None before the first.
        steps: Environment steps so far, of training and of evaluation.
        batch: Number of policies that are begun at once.
        remaining_gain: Expected rise of the mean best return by this many more policies,
            None if the selector cannot tell. A function, for only some rules ask and it takes time.
        range_known: Whether the span is that of the known range, so that gains are coverage.
        failed: Positions, among the finished policies, of those whose training has probably
            failed. A function, for the same reason.
    """

    performances: Sequence[float]
    span: float
    best_possible: bool
    seconds_per_policy: float | None
    batch: int = 1
    steps: int = 0
    remaining_gain: Callable[[int], float | None] = lambda _: None
    range_known: bool = False
    failed: Callable[[], Collection[int]] = lambda: ()

    @classmethod
    def of(cls, study: Study, seconds_per_policy: float | None) -> Self:
        """Return the figures of a study now."""
        returns, known = study.selector.expected_returns, study.return_range
        curve = np.maximum.accumulate(returns, axis=0) if len(returns) else returns

        def failed() -> set[int]:
            finished = [t.id for t in study.trials if t.row is not None]
            ids = set(study.selector.failed_runs())
            return {position for position, number in enumerate(finished) if number in ids}

        return cls(
            performances=[float(study.space.mean(best)) for best in curve],
            span=study.return_span,
            best_possible=known is not None
            and len(curve) > 0
            and bool((curve[-1] >= known[1]).all()),
            seconds_per_policy=seconds_per_policy,
            steps=study.steps,
            batch=study.configuration.batch,
            remaining_gain=study.remaining_gain,
            range_known=known is not None,
            failed=failed,
        )


def mean_gain(performances: Sequence[float], policies: int) -> float:
    """Return the mean gain of each of the last policies, at most this many of at least two."""
    count = min(policies, len(performances) - 1)
    return (performances[-1] - performances[-1 - count]) / count


class StopRule(ABC):
    """Decides, between two policies, whether to stop.

    Attributes:
        even_if_pending: Whether it stops a study that has pending trials; usually these are
            finished first.
    """

    even_if_pending: ClassVar[bool] = False

    @abstractmethod
    def reason(self, state: RunState) -> str | None:
        """Return the reason to stop now, in words; None to continue."""


class Budget(StopRule):
    """Stop when this many policies are finished, counting those of earlier runs."""

    def __init__(self, policies: int) -> None:
        self.policies = check_int("budget", policies, low=1, error=StudyError)

    def reason(self, state: RunState) -> str | None:
        """Return the reason to stop now."""
        if len(state.performances) >= self.policies:
            return f"the budget of {counted(self.policies, 'policy', 'policies')} is used"
        return None


class TotalSteps(StopRule):
    """Stop when this many environment steps are used, earlier runs and evaluation included.

    The last policy may go beyond.
    """

    def __init__(self, steps: int) -> None:
        self.steps = check_int("total_steps", steps, low=1, error=StudyError)

    def reason(self, state: RunState) -> str | None:
        """Return the reason to stop now."""
        if state.steps >= self.steps:
            return f"{state.steps:,} of {self.steps:,} environment steps are used"
        return None


class TimeLimit(StopRule):
    """Stop when the next policy would probably end after the time limit."""

    even_if_pending = True

    def __init__(self, seconds: float) -> None:
        self.seconds = check_float("time_limit", seconds, low=0.0, error=StudyError)
        self._begun = time.monotonic()

    def reason(self, state: RunState) -> str | None:
        """Return the reason to stop now."""
        left = self.seconds - (time.monotonic() - self._begun)
        if left <= 0 or left < (state.seconds_per_policy or 0.0) * state.batch:
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

    def reason(self, state: RunState) -> str | None:
        """Return the reason to stop now."""
        if state.best_possible:
            return "every target has the highest return there is"
        asked_for = self.min_gain * state.span
        if len(state.performances) < LEAST_POLICIES:
            return None
        failed = state.failed()
        sound = [mean for i, mean in enumerate(state.performances) if i not in failed]
        if len(sound) < LEAST_POLICIES or mean_gain(sound, self.patience) >= asked_for:
            return None
        gain, which = state.remaining_gain(self.patience), "expected of the next"
        if gain is None and len(sound) > self.patience:
            gain, which = mean_gain(sound, self.patience) * self.patience, "from the last"
        if gain is None or gain >= asked_for:
            return None
        span = state.span if state.range_known else None
        policies = counted(self.patience, "policy", "policies")
        limit = gain_text(asked_for, span).removeprefix("+")
        return f"{gain_text(gain, span)} {which} {policies}, less than {limit}"


def record_rules(
    store: StudyStore,
    budget: int | None,
    total_steps: int | None,
    min_gain: float | None,
    patience: int,
) -> None:
    """Record that a run begins, and what it is asked to stop at but its own time.

    Of budgets the largest is kept. A run that has none of these rules changes none.
    """
    rules = {"budget": budget, "total_steps": total_steps, "min_gain": min_gain}
    given = {name: as_json(value) for name, value in rules.items() if value is not None}
    with store.transaction():
        store.set_fact(STOPPED, None)
        if not given:
            return
        before = store.facts().get(STOP_RULES, {}).get("budget", 0)
        if before or budget:
            given["budget"] = max(int(budget or 0), before)
        if min_gain is not None:
            given["patience"] = int(patience)
        store.set_fact(STOP_RULES, given)


def stop_rules(
    rules: Iterable[StopRule],
    budget: int | None,
    total_steps: int | None,
    time_limit: float | None,
    min_gain: float | None,
    patience: int,
) -> list[StopRule]:
    """Make the rules of a run, as `Study.run` takes them."""
    kinds: list[tuple[Callable[[Any], StopRule], float | None]] = [
        *((Budget, budget), (TotalSteps, total_steps), (TimeLimit, time_limit)),
        (lambda gain: NoGain(gain, patience), min_gain),
    ]
    stops = [*rules, *(make(value) for make, value in kinds if value is not None)]
    if not stops:
        raise StudyError(
            "A run needs a 'budget', 'total_steps', a 'time_limit', a 'min_gain' or a rule."
        )
    return stops
