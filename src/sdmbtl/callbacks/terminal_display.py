"""A run on a terminal, by Rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sdmbtl.callbacks.display import RunDisplay, activity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.callbacks.event import Event
    from sdmbtl.studies import Study

BAR_WIDTH = 24


class TerminalDisplay(RunDisplay):
    """Shows a line for each policy, and below what happens now, drawn anew four times a second.

    Args:
        study: The study that is run.
        console: The terminal.
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
        super().__init__(study, budget=budget, time_limit=time_limit)
        self._console = console
        self._live = Live(get_renderable=self.picture, console=console, transient=True)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def add_line(self, number: str, *parts: str, warning: bool = False) -> None:
        """Print beside its number, if too long part by part."""
        text = "  ".join(parts)
        if len(number) + 2 + len(text) > self._console.width:
            text = "\n".join(parts)
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_row(Text(number), Text(text, style="yellow" if warning else ""))
        self._console.print(row)

    def update(self) -> None:
        """Nothing to do: a thread draws."""

    def picture(self) -> RenderableType:
        """What happens now."""
        event, footer = self.current_event(), Text(self.footer(), style="dim")
        if event is None:
            return Group(Text("choosing a context ..."), footer)
        return Group(
            Text(self.headline(event), style="bold"),
            Text(f"{event.trial.strategy}: {event.trial.reason}"),
            *self._activity(event),
            footer,
        )

    def _activity(self, event: Event) -> list[RenderableType]:
        if event.stage not in ("training", "continued", "evaluating") or not event.total_steps:
            return [Text(activity(event))]
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_row(
            ProgressBar(event.total_steps, event.steps, width=BAR_WIDTH), Text(activity(event))
        )
        figures = self.figures(event)
        return [row, Text(", ".join(figures))] if figures else [row]
