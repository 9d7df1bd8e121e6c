"""The policy in training as a small file, for a page that another process serves."""

from __future__ import annotations

import json
import math
import time
from contextlib import AbstractContextManager
from pathlib import Path

from sdmbtl.callbacks.event import Event
from sdmbtl.callbacks.progress import RunProgress
from sdmbtl.files import write_atomically

#: The file, in the directory of the study.
LIVE_FILE = "study.live.json"
#: Seconds between two writes about the same stage.
EVERY = 1.0


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
        self._stage, self._due = stage, now + EVERY
        progress = self._progress
        words = " ".join(progress.current_row().split()[1:-1])
        state = {
            "policy": event.trial.id,
            "share": progress.share_done(),
            "text": f"Now: {words} · {progress.activity()} · {progress.pace()}",
            "curve": self._curve,
        }
        write_atomically(self._path, json.dumps(state).encode())
