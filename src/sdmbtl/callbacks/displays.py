"""Displays of a run: on a terminal, or as lines."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, Self

from sdmbtl.callbacks.event import Callback, Event
from sdmbtl.callbacks.live_file import LiveFile
from sdmbtl.callbacks.progress import RunProgress
from sdmbtl.checks import short_text
from sdmbtl.errors import StudyError
from sdmbtl.software import in_notebook
from sdmbtl.wording import printable

if TYPE_CHECKING:
    from sdmbtl.studies import Study

logger = logging.getLogger("sdmbtl")

#: Seconds between two lines about the current activity.
LOG_EVERY = 30.0


class LineDisplay:
    """Writes a line for each policy, and one about the current activity from time to time."""

    def __init__(self, progress: RunProgress, write: Callable[[str], None]) -> None:
        self._progress, self._write = progress, write
        self._ended = threading.Event()
        # Another thread: a long evaluation or compilation may report nothing for minutes.
        self._thread = threading.Thread(target=self._write_now_and_then, daemon=True)

    def __enter__(self) -> Self:
        self._write(self._progress.header())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, event: Event) -> None:
        """Write the lines of an event."""
        for line in self._progress.take(event):
            self._write(printable(line))

    def _write_now_and_then(self) -> None:
        while not self._ended.wait(LOG_EVERY):
            event = self._progress.event
            which = "" if event is None else f"policy {event.trial.id}: "
            text = f"    {which}{self._progress.activity()} · {self._progress.pace()}"
            self._write(printable(text))


def make_displays(
    study: Study,
    progress: bool | Literal["auto"] = "auto",
    budget: int | None = None,
    time_limit: float | None = None,
) -> list[Callback]:
    """Make the displays of a run: a file, lines for `logging` if set up, and a visible one.

    That is shown on a terminal by Rich and in a notebook as lines; with "auto" not where `logging`
    shows its lines already.
    """
    if not isinstance(progress, bool) and progress != "auto":
        raise StudyError(
            f"'progress' must be True, False or 'auto'. Got {short_text(progress)} instead."
        )
    displays: list[Callback] = []
    progress_of_run = partial(RunProgress, study, budget, time_limit)
    if logger.isEnabledFor(logging.INFO):
        displays.append(LineDisplay(progress_of_run(), logger.info))
    is_shown = progress is True or (progress == "auto" and not displays)
    displays.append(LiveFile(progress_of_run(), study.files.root))
    if not is_shown:
        return displays
    if sys.stderr.isatty() and find_spec("rich") is not None:
        from sdmbtl.callbacks.terminal_display import TerminalDisplay
        from sdmbtl.console import PlainConsole

        console = PlainConsole(stderr=True)
        if console.is_interactive:
            return [*displays, TerminalDisplay(progress_of_run(), console)]
    if progress is True or in_notebook():
        write = partial(print, file=sys.stderr, flush=True)
        displays.append(LineDisplay(progress_of_run(), write))
    return displays
