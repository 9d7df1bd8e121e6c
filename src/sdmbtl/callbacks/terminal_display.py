"""A run on a terminal, by Rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.callbacks.event import Event
    from sdmbtl.callbacks.progress import RunProgress

BAR_WIDTH = 6


class TerminalDisplay:
    """Shows a line for each policy, and the current activity below, drawn four times a second."""

    def __init__(self, progress: RunProgress, console: Console) -> None:
        self._progress, self._console = progress, console
        self._live = Live(get_renderable=self.picture, console=console, transient=True)

    def __enter__(self) -> Self:
        self._console.print(Text(f"\n{self._progress.header()}", style="bold"))
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Print the lines of an event; a thread draws the rest."""
        for line in self._progress.take(event):
            warning = line.lstrip().startswith("!")
            self._console.print(Text(line, style="yellow" if warning else ""))

    def picture(self) -> RenderableType:
        """Return a picture of the current activity."""
        progress, share = self._progress, self._progress.share_done()
        row = Text(f"{progress.current_row() or '   '}  ", no_wrap=True, overflow="crop")
        if share is not None:
            done = round(share * BAR_WIDTH)
            row.append("━" * done, "green").append("─" * (BAR_WIDTH - done) + " ", "dim")
        row.append(progress.activity())
        reason = Text(progress.why(), style="dim")
        why = [Padding(reason, (0, 0, 0, 5))] if progress.event else []
        return Group(row, *why, Text(f"\n {progress.pace()} · Ctrl-C is safe", style="dim"))
