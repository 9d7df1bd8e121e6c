"""What every display of a run says: the same words on a terminal, in a notebook and in a log."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from sdmbtl.callbacks.event import Event
from sdmbtl.wording import chosen_by, duration, figure, gain_figure, printable

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.studies import Study


class RunDisplay(ABC):
    """A callback that shows a run: a line for each policy, and what happens now.

    Args:
        study: The study that is run.
        budget: Policies to be finished in all, if known.
        time_limit: Seconds for this run, if limited.
    """

    def __init__(
        self, study: Study, *, budget: int | None = None, time_limit: float | None = None
    ) -> None:
        self._study, self._budget, self._time_limit = study, budget, time_limit
        self._done = self._done_before = study.n_finished
        self._performance = study.performance
        self._earlier_pace = _earlier_pace(study)
        self._begun = self._latest = self._policy_begun = time.monotonic()
        # Before anything happens, a run continues with a policy that was interrupted.
        self._event = next((Event("asked", trial) for trial in study.pending), None)

    def __call__(self, event: Event) -> None:
        """Take note of an event and show it."""
        if self._event is None or event.trial.id != self._event.trial.id:
            self._policy_begun = time.monotonic()
        self._event = event
        if event.stage == "finished":
            self._finished(event.trial, event.warning)
        elif event.stage == "failed":
            self._failed(event.trial)
        elif event.stage == "lost":
            self._lost(event.trial)
        elif event.stage == "continued":
            self._continued(event)
        else:
            self.update()

    # -- what a display implements -------------------------------------------------------------

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @abstractmethod
    def add_line(self, number: str, *parts: str, warning: bool = False) -> None:
        """Show a line that stays.

        Args:
            number: How many policies are finished; blanks if that did not change.
            *parts: The text, in parts that belong together.
            warning: Whether something went wrong.
        """

    @abstractmethod
    def update(self) -> None:
        """Show what happens now."""

    # -- lines that stay -----------------------------------------------------------------------

    def _finished(self, trial: Trial, warning: str | None) -> None:
        before, self._performance = self._performance, self._study.performance
        self._done += 1
        self._latest = time.monotonic()
        trained = None if trial.run is None else trial.run.training_return
        self.add_line(
            self._round(self._done),
            f"{self._named(trial)}  own return {figure(trained)}",
            f"{covered(self._study, self._performance)}{self._gain(before, trial)}  "
            f"{chosen_by(trial.strategy, trial.structure, trial.model)}",
        )
        if warning is not None:
            self.add_line(" " * len(self._round(self._done)), printable(warning), warning=True)

    def _failed(self, trial: Trial) -> None:
        given_up = trial.status == "failed"
        errors = () if trial.run is None else trial.run.errors
        then = "the context is given up" if given_up else "trying again with another seed"
        self.add_line(
            " " * len(self._round(self._done)),
            f"{self._named(trial)}  attempt {len(errors)} failed, {then}: {printable(errors[-1])}",
            warning=True,
        )

    def _lost(self, trial: Trial) -> None:
        lost = () if trial.run is None else trial.run.lost
        self.add_line(
            " " * len(self._round(self._done)),
            f"{self._named(trial)}  begun again: {printable(lost[-1])}",
            warning=True,
        )

    def _continued(self, event: Event) -> None:
        more = "" if event.policies == 1 else f" and {event.policies - 1} more"
        self.add_line(
            " " * len(self._round(self._done)),
            f"continues policy {event.trial.id}{more} at {event.steps:,} of "
            f"{event.total_steps:,} steps",
        )

    def _round(self, number: int) -> str:
        if self._budget is None:
            return f"{number:>3}"
        return f"{number:>{len(str(self._budget))}}/{self._budget}"

    def _named(self, trial: Trial) -> str:
        """The policy and its source, with the steps that were taken, not those asked for."""
        source = trial.source
        if source.steps is not None:
            source = replace(source, steps=None if trial.run is None else trial.run.steps)
        return f"policy {trial.id}  {self._study.space.describe(source)}"

    def _gain(self, before: float, trial: Trial) -> str:
        """By how much the mean best return rose, and was expected to."""
        gain, expected = self._performance - before, trial.expected_gain
        if math.isnan(gain):
            return ""
        span = None if self._study.return_range is None else self._study.return_span
        text = gain_figure(gain, span)
        if expected is not None:
            text += f", expected {gain_figure(expected, span)}"
        return f" ({text})"

    # -- what happens now, in words ------------------------------------------------------------

    def current_event(self) -> Event | None:
        """What was told last of a policy that is not finished; None while one is chosen."""
        event = self._event
        return None if event is None or event.stage == "finished" else event

    def headline(self, event: Event) -> str:
        """Which policy it is, of how many."""
        of = "" if self._budget is None else f" of {self._budget}"
        more = "" if event.policies == 1 else f"  and {event.policies - 1} more side by side"
        return f"Round {self._done + 1}{of}  {self._named(event.trial)}{more}"

    def figures(self, event: Event) -> list[str]:
        """What is known of a training run beside its steps."""
        found = []
        if not math.isnan(event.steps_per_second):
            found.append(f"{event.steps_per_second:,.0f} steps/s")
        if not math.isnan(event.mean_return):
            found.append(f"return {figure(event.mean_return)}")
        if event.seconds_left is not None and event.steps < event.total_steps:
            found.append(f"about {duration(event.seconds_left)} left")
        return found

    def run_seconds_left(self) -> float | None:
        """Seconds until the budget or the time is used, if either is known."""
        now, limits = time.monotonic(), []
        if self._time_limit is not None:
            limits.append(self._begun + self._time_limit - now)
        if self._budget is not None:
            to_come = self._seconds_for(self._budget - self._done, now)
            limits += [] if to_come is None else [to_come]
        return max(min(limits), 0.0) if limits else None

    def _seconds_for(self, policies: int, now: float) -> float | None:
        """By the pace of the policies before; for the first by its own, as far as it is known."""
        event, trained = self.current_event(), self._done - self._done_before
        own = None if event is None else event.seconds_left
        pace = (self._latest - self._begun) / trained if trained else self._earlier_pace
        if pace is not None:
            return max(self._latest + pace * policies - now, own or 0.0)
        if event is None or own is None:
            return None
        rounds_after = policies / event.policies - 1
        return own + max(rounds_after, 0.0) * (now - self._policy_begun + own)

    def footer(self) -> str:
        """Where the run stands."""
        parts = [f"{duration(time.monotonic() - self._begun)} so far"]
        if not math.isnan(self._performance):
            parts.insert(0, covered(self._study, self._performance))
        left = self.run_seconds_left()
        if left is not None:
            parts.append(f"about {duration(left)} left in all")
        return ", ".join(parts)


def activity(event: Event) -> str:
    """What is done with a policy at the moment."""
    if event.stage in ("training", "continued") and event.total_steps:
        return f"{event.steps:,} of {event.total_steps:,} steps"
    if event.stage == "evaluating" and event.total_steps:
        return f"evaluating {event.steps:,} of {event.total_steps:,} targets"
    if event.stage == "compiling":
        return "compiling ..."
    if event.stage == "waiting":
        return "another process works on it ..."
    training = ("asked", "failed", "lost", "continued", "training")
    return "training ..." if event.stage in training else "evaluating ..."


def covered(study: Study, performance: float) -> str:
    """How well the targets are covered, in words."""
    coverage, best = study.share(performance), study.selector.rows.best
    evaluated = int((best == best).sum())  # NaN where no policy was
    over = "" if evaluated == len(best) else f" on {evaluated} of {len(best)} targets"
    if coverage is None:
        return f"mean best return {figure(performance)}{over}"
    return f"coverage {coverage:.3f}{over}"


def _earlier_pace(study: Study) -> float | None:
    """Mean seconds for a policy in earlier runs."""
    finished = {t.id for t in study.trials if t.status == "finished"}
    times = [sum(s.values()) for i, s in study.seconds().items() if i in finished]
    return sum(times) / len(finished) if times else None
