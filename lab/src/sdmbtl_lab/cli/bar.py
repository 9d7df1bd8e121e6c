"""A bar for work whose amount is known: how far it is, how long it will still take."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from sdmbtl.wording import duration

#: Without a terminal a line is printed so often, in seconds.
LINES_EVERY = 60.0


class WorkBar:
    """Shows work as it happens: a bar on a terminal, a line now and then elsewhere.

    The time left comes from the pace of this run: what an earlier one has done took no time now.

    Args:
        console: Where to show it.
        name: What is done.
        unit: What is counted.
    """

    def __init__(self, console: Console, name: str, *, unit: str = "pieces") -> None:
        self._console, self._name, self._unit = console, name, unit
        columns = (
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task(name, total=None, left="")
        self._begun = self._printed = time.monotonic()
        self._before: int | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def __call__(self, done: int, total: int, label: str) -> None:
        """Take note of the work done, of all, and what was finished last."""
        now = time.monotonic()
        if self._before is None:
            self._before = done
        pace = (done - self._before) / (now - self._begun) if now > self._begun else 0.0
        left = f"{duration((total - done) / pace)} left" if pace > 0 else ""
        text = label or self._name
        self._bar.update(self._task, completed=done, total=total, description=text, left=left)
        if not self._console.is_terminal and label and now - self._printed >= LINES_EVERY:
            self._printed = now
            text = ", ".join(filter(None, (f"{done}/{total} {self._unit}", left)))
            self._console.print(f"{text} ({label})", soft_wrap=True, markup=False)
