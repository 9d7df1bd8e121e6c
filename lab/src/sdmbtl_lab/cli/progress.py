"""Progress of work whose amount is known, and lists given on the command line."""

from __future__ import annotations

import re
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sdmbtl.cli.output import ArgumentError

#: Seconds between two lines where there is no terminal.
LINES_EVERY = 60.0


class WorkBar:
    """A bar on a terminal, a line every minute elsewhere."""

    def __init__(self, console: Console, name: str) -> None:
        self._console = console
        self._bar = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(name, total=None)
        self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def __call__(self, done: int, total: int, label: str) -> None:
        """Show the amount of finished and of all work, and what was finished last."""
        if label:
            self._bar.update(self._task, description=label)
        self._bar.update(self._task, completed=done, total=total)
        now = time.monotonic()
        if not self._console.is_terminal and label and now - self._printed >= LINES_EVERY:
            self._printed = now
            self._console.print(f"{done}/{total} ({label})", soft_wrap=True, markup=False)


def parse_names(text: str) -> tuple[str, ...]:
    """Return names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def parse_whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Return whole numbers from 1 on, separated by commas."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,17}", part) for part in parts):
        raise ArgumentError(
            f"{option} takes whole numbers >= 1 separated by commas, such as 6,12,50. "
            f"Got {text!r} instead."
        )
    return tuple(map(int, parts))
