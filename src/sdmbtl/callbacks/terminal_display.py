"""A run on a terminal, by Rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.callbacks.event import Event
    from sdmbtl.callbacks.progress import RunProgress

BAR_WIDTH = 24


class TerminalDisplay:
    """Shows a line for each policy, and the current activity below, drawn four times a second.

    Args:
        progress: The progress of the run.
        console: The terminal.
    """

    def __init__(self, progress: RunProgress, console: Console) -> None:
        self._progress, self._console = progress, console
        self._live = Live(get_renderable=self.picture, console=console, transient=True)

    def __enter__(self) -> Self:
        self._console.print(Text(self._progress.header(), style="dim"))
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
        progress = self._progress
        lines: list[RenderableType] = [Text(progress.current_row(), style="bold")]
        if progress.event is not None:
            activity, share = Text(progress.activity()), progress.share_done()
            row = Table.grid(padding=(0, 1, 0, 0))
            bar = [] if share is None else [ProgressBar(1.0, share, width=BAR_WIDTH)]
            row.add_row(Text("   "), *bar, activity)
            lines += [row, Text(f"     {progress.why()}", style="dim")]
        return Group(*lines, Text(f" {progress.footer()}", style="dim"))
