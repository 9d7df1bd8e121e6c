"""The progress of a run as text: the same on a terminal, in a notebook and in a log."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from sdmbtl.callbacks.event import Event
from sdmbtl.contexts.regions import describe_briefly
from sdmbtl.wording import clock, figure, gain_figure, level_figure, printable, short_count

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.studies import Study

#: Characters of the column with the sources; a row has 80 with it at most.
SOURCE_WIDTH = 34


class RunProgress:
    """Rows of a table for finished policies, and the current activity."""

    def __init__(
        self, study: Study, budget: int | None = None, time_limit: float | None = None
    ) -> None:
        self._study, self._budget, self._time_limit = study, budget, time_limit
        self._done = self._done_before = study.n_finished
        self._performance = study.performance
        finished = {t.id for t in study.trials if t.status == "finished"}
        times = [sum(s.values()) for i, s in study.store.seconds().items() if i in finished]
        self._earlier_pace = sum(times) / len(finished) if times else None
        self._begun = self._latest = self._policy_begun = self._changed = time.monotonic()
        self._compiling = 0.0  # seconds of compilation, which do not repeat
        # Before anything happens, a run continues with a policy that was interrupted.
        self._event = next((Event("asked", trial) for trial in study.pending), None)

    @property
    def event(self) -> Event | None:
        """The last event of a policy that is not finished; None while one is chosen."""
        return None if self._event is None or self._event.stage == "finished" else self._event

    def header(self) -> str:
        """Return the head of the table."""
        level = "mean best" if self._study.return_range is None else "coverage"
        return f"{_row('#', 'trained on', 'from')}   steps  {level:>9}"

    def take(self, event: Event) -> list[str]:
        """Take note of an event; return lines that stay, warnings with an exclamation mark."""
        now, before, trial = time.monotonic(), self._event, event.trial
        if before is None or trial.id != before.trial.id:
            self._policy_begun = now
        if before is not None and before.stage == "compiling":
            self._compiling += now - self._changed
            self._policy_begun = now
        self._event, self._changed = event, now
        errors, lost = ((), ()) if trial.run is None else (trial.run.errors, trial.run.lost)
        if event.stage == "finished":
            lines = [self._finished(trial, now)]
            return lines if event.warning is None else [*lines, f"  ! {printable(event.warning)}"]
        if event.stage == "failed":
            then = "given up" if trial.status == "failed" else "trying again with another seed"
            text = f"attempt {len(errors)} failed, {then}: {printable(errors[-1])}"
            return [f"  ! policy {trial.id}: {text}"]
        if event.stage == "lost":
            return [f"  ! policy {trial.id}: started again: {printable(lost[-1])}"]
        if event.stage == "continued":
            more = "" if event.policies == 1 else f" and {event.policies - 1} more"
            at = f"{event.steps:,} of {event.total_steps:,} steps"
            return [f"    continues policy {trial.id}{more} at {at}"]
        return []

    def _finished(self, trial: Trial, now: float) -> str:
        """Return the row of a finished policy."""
        before, self._performance = self._performance, self._study.performance
        gain = self._performance - before
        self._done, self._latest = self._done + 1, now
        steps = "" if trial.run is None else short_count(trial.run.steps or 0)
        known = self._study.return_range
        level = level_figure(self._performance, self._study.share(self._performance))
        span = None if known is None else known[1] - known[0]
        rise = "" if math.isnan(gain) else gain_figure(gain, span)
        return f"{self._begin(trial)}  {steps:>6}  {level:>9}  {rise:>6}".rstrip()

    def _begin(self, trial: Trial, more: str = "") -> str:
        """Return the row of a policy as far as its parent."""
        words = describe_briefly(self._study.space, trial.source)
        parent = trial.parent
        if parent is not None and words == "whole space":
            before = self._study.trials[parent].source
            if trial.source.sees_context and not before.sees_context:
                words += ", sees its context"
            elif self._study.space.is_whole(before):
                words += ", continued"
        return _row(str(trial.id), words + more, "–" if parent is None else str(parent))

    def current_row(self) -> str:
        """Return the row of the policy in progress, without its activity."""
        if self.event is None:
            return ""
        more = self.event.policies - 1
        return self._begin(self.event.trial, f" and {more} more" if more else "")

    def activity(self) -> str:
        """Describe the stage of the policy in progress."""
        event = self.event
        if event is None:
            return "choosing a context"
        counted = f"{short_count(event.steps)}/{short_count(event.total_steps)}"
        if event.stage == "compiling":
            trainer = (self._study.configuration.trainer or {"name": ""})["name"]
            is_first = self._done == self._done_before
            return f"compiling {trainer.upper()}{' (once, 5–30 s)' if is_first else ''}"
        if event.stage == "waiting":
            return "another process works on it"
        if event.stage in ("asked", "failed", "lost", "continued", "training"):
            if not event.total_steps:
                return "training"
            is_known = not math.isnan(event.mean_return)
            return f"{counted}  return {figure(event.mean_return)}" if is_known else counted
        return f"evaluating {counted}" if event.total_steps else "evaluating"

    def why(self) -> str:
        """Return the reason for the policy in progress."""
        return "" if self.event is None else f"why: {self.event.trial.reason}"

    def share_done(self) -> float | None:
        """Return the share of the steps that are done; None if unknown."""
        event = self.event
        if event is None or not event.total_steps or event.stage == "compiling":
            return None
        return event.steps / event.total_steps

    def pace(self) -> str:
        """Describe the progress and the speed of the run."""
        number, of = self._done + 1, ""
        if self._budget is not None:
            number, of = min(number, self._budget), f" of {self._budget}"
        parts = [f"policy {number}{of}", f"{clock(time.monotonic() - self._begun)} elapsed"]
        left, event = self.seconds_left(), self.event
        if left is not None:
            parts.append(f"about {clock(left)} left")
        if event is not None and not math.isnan(event.steps_per_second):
            parts.append(f"{short_count(round(event.steps_per_second))} steps/s")
        return " · ".join(parts)

    def seconds_left(self) -> float | None:
        """Return the seconds until the budget or the time is used; None if neither is known."""
        now, event, trained = time.monotonic(), self.event, self._done - self._done_before
        limits = [] if self._time_limit is None else [self._begun + self._time_limit - now]
        if self._budget is not None:
            own, pace, policies = None, self._earlier_pace, self._budget - self._done
            if event is not None and event.steps_per_second > 0:  # of the steps to come
                own = (event.total_steps - event.steps) / event.steps_per_second
            if trained:
                pace = (self._latest - self._begun - self._compiling) / trained
            if pace is not None:  # by the policies before
                limits.append(max(self._latest + pace * policies - now, own or 0.0))
            elif event is not None and own is not None:  # the first, by its own pace
                rounds_after = max(policies / event.policies - 1, 0.0)
                limits.append(own + rounds_after * (now - self._policy_begun + own))
        return max(min(limits), 0.0) if limits else None


def _row(number: str, source: str, parent: str) -> str:
    """Return the first cells of a row; a long source is cut, `status` has it in full."""
    if len(source) > SOURCE_WIDTH:
        source = f"{source[: SOURCE_WIDTH - 1]}…"
    return f"{number:>3}  {printable(source):<{SOURCE_WIDTH}}  {parent:>4}"
