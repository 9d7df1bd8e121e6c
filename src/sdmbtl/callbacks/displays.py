"""Displays of a run: on a terminal, or as lines."""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sdmbtl.callbacks.event import Callback, Event
from sdmbtl.callbacks.progress import RunProgress
from sdmbtl.checks import short_text
from sdmbtl.errors import StudyError
from sdmbtl.files import write_atomically
from sdmbtl.machine import in_notebook
from sdmbtl.wording import printable

if TYPE_CHECKING:
    from sdmbtl.studies import Study

logger = logging.getLogger("sdmbtl")

#: Seconds between two lines about the current activity.
LOG_EVERY = 30.0
#: File in the directory of a study for a page that another process serves, and the seconds between
#: two writes about the same stage.
LIVE_FILE, WRITE_EVERY = "study.live.json", 1.0


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


class LiveFile(AbstractContextManager["LiveFile"]):
    """Writes the progress of a run to a file in the study's folder, which ends with the run."""

    def __init__(self, progress: RunProgress, folder: Path) -> None:
        self._progress, self._path = progress, folder / LIVE_FILE
        self._curve: list[tuple[int, float]] = []
        self._stage, self._due = ("", -1), 0.0

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)

    def __call__(self, event: Event) -> None:
        """Write the state after an event, if that is due."""
        self._progress.take(event)
        stage, now = (event.stage, event.trial.id), time.monotonic()
        if event.stage == "continued" or stage[1] != self._stage[1]:
            self._curve = []
        self._curve += [(s, value) for s, value in event.evaluations if math.isfinite(value)]
        if stage == self._stage and now < self._due:
            return
        self._stage, self._due = stage, now + WRITE_EVERY
        progress = self._progress
        words = " ".join(progress.current_row().split()[1:-1])
        state = {
            "policy": event.trial.id,
            "share": progress.share_done(),
            "text": f"Now: {words} · {progress.activity()} · {progress.pace()}",
            "curve": self._curve,
        }
        write_atomically(self._path, json.dumps(state).encode())


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
