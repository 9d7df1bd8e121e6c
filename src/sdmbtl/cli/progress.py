"""A run as it happens: a line for each policy, and on a terminal what happens now."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sdmbtl.cli.output import chosen_by, figure, gain_figure
from sdmbtl.studies import Event, Study
from sdmbtl.studies.random_actions import no_better_warning
from sdmbtl.wording import duration

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.selectors import Trial

BAR_WIDTH = 24


class RunDisplay:
    """Observes a run and shows it.

    Args:
        study: The study that is run.
        console: Where to show it.
        budget: Policies to be finished in all, if known.
        time_limit: Seconds for this run, if limited.
    """

    def __init__(
        self,
        study: Study,
        console: Console,
        *,
        budget: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self._study, self._console = study, console
        self._budget, self._time_limit = budget, time_limit
        self._done = self._done_before = study.n_finished
        self._performance = study.performance
        self._earlier_pace = _earlier_pace(study)
        self._begun = self._latest = time.monotonic()
        # Before anything happens, a run continues with a policy that was interrupted.
        self._event = next((Event("asked", trial) for trial in study.pending), None)
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(get_renderable=self._picture, console=console, transient=True)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        self._event = event
        if event.stage == "finished":
            self._finished(event.trial)
        elif event.stage == "failed":
            self._failed(event.trial)

    # -- lines that stay -----------------------------------------------------------------------

    def _finished(self, trial: Trial) -> None:
        before, self._performance = self._performance, self._study.performance
        self._done += 1
        self._latest = time.monotonic()
        trained = None if trial.run is None else trial.run.training_return
        self._print(
            self._round(self._done),
            f"{self._named(trial)}  own return {figure(trained)}",
            f"{covered(self._study, self._performance)}{self._gain(before, trial)}  "
            f"{chosen_by(trial.strategy, trial.structure, trial.model)}",
        )
        warning = no_better_warning(self._study, trial, self._study.random_actions)
        if warning is not None:
            self._print(" " * len(self._round(self._done)), warning, style="yellow")

    def _failed(self, trial: Trial) -> None:
        given_up = trial.status == "failed"
        errors = () if trial.run is None else trial.run.errors
        then = "the context is given up" if given_up else "trying again with another seed"
        self._print(
            " " * len(self._round(self._done)),
            f"{self._named(trial)}  attempt {len(errors)} failed, {then}: {errors[-1]}",
            style="yellow",
        )

    def _print(self, number: str, *parts: str, style: str = "") -> None:
        """One line of a log; on a terminal, beside its number and if too long, part by part."""
        text = "  ".join(parts)
        if self._live is None:
            self._console.print(Text(f"{number}  {text}"), soft_wrap=True)
            return
        if len(number) + 2 + len(text) > self._console.width:
            text = "\n".join(parts)
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_row(Text(number), Text(text, style=style))
        self._console.print(row)

    def _round(self, number: int) -> str:
        if self._budget is None:
            return f"{number:>3}"
        return f"{number:>{len(str(self._budget))}}/{self._budget}"

    def _named(self, trial: Trial) -> str:
        return f"policy {trial.id}  {self._study.space.in_words(trial.source)}"

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

    # -- what happens now ----------------------------------------------------------------------

    def _picture(self) -> RenderableType:
        event = self._event
        if event is None or event.stage == "finished":
            return Group(Text("choosing a context ..."), self._footer())
        trial = event.trial
        of = "" if self._budget is None else f" of {self._budget}"
        return Group(
            Text(f"Round {self._done + 1}{of}  {self._named(trial)}", style="bold"),
            Text(f"{trial.strategy}: {trial.reason}"),
            self._activity(event),
            self._footer(),
        )

    def _activity(self, event: Event) -> RenderableType:
        if event.stage != "training":
            return Text(
                {"asked": "preparing ...", "failed": "..."}.get(event.stage, "evaluating ...")
            )
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_row(
            Text("training"),
            ProgressBar(event.total_steps, event.steps, width=BAR_WIDTH),
            Text(f"{event.steps:,} of {event.total_steps:,} steps"),
            Text(f"return {figure(event.mean_return)}"),
        )
        return row

    def _footer(self) -> Text:
        parts = [f"{duration(time.monotonic() - self._begun)} so far"]
        if not math.isnan(self._performance):
            parts.insert(0, covered(self._study, self._performance))
        left = self._seconds_left()
        if left is not None:
            parts.append(f"about {duration(left)} left")
        return Text(", ".join(parts), style="dim")

    def _seconds_left(self) -> float | None:
        now, limits = time.monotonic(), []
        if self._time_limit is not None:
            limits.append(self._begun + self._time_limit - now)
        trained = self._done - self._done_before
        pace = (self._latest - self._begun) / trained if trained else self._earlier_pace
        if self._budget is not None and pace is not None:
            limits.append(self._latest + pace * (self._budget - self._done) - now)
        return max(min(limits), 0.0) if limits else None


def covered(study: Study, performance: float) -> str:
    """How well the targets are covered, in words."""
    coverage = study.share(performance)
    if coverage is None:
        return f"mean best return {figure(performance)}"
    return f"coverage {coverage:.3f}"


def _earlier_pace(study: Study) -> float | None:
    """Mean seconds for a policy in earlier runs."""
    finished = {t.id for t in study.trials if t.status == "finished"}
    times = [sum(s.values()) for i, s in study.seconds().items() if i in finished]
    return sum(times) / len(finished) if times else None
