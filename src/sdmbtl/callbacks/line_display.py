"""A run in lines, for a log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from sdmbtl.callbacks.display import RunDisplay, activity
from sdmbtl.wording import duration, printable

if TYPE_CHECKING:
    from sdmbtl.studies import Study


class LineDisplay(RunDisplay):
    """Writes a line for each policy, and now and then one that says what happens.

    Args:
        study: The study that is run.
        write: Called with each line.
        every: Seconds between two lines that say what happens; None for none of them.
        budget: Policies to be finished in all, if known.
        time_limit: Seconds for this run, if limited.
    """

    def __init__(
        self,
        study: Study,
        write: Callable[[str], None],
        *,
        every: float | None,
        budget: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(study, budget=budget, time_limit=time_limit)
        self._write, self._every = write, every
        self._ended = threading.Event()
        # A thread of its own: a long evaluation or compilation may tell nothing for minutes.
        self._thread = threading.Thread(target=self._write_now_and_then, daemon=True)

    def __enter__(self) -> Self:
        if self._every is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def add_line(self, number: str, *parts: str, warning: bool = False) -> None:
        """Write it."""
        del warning
        self._write(printable("  ".join((number, *parts))))

    def update(self) -> None:
        """Nothing to do: lines come by time, not by event."""

    def current_line(self) -> str:
        """What happens now."""
        event = self.current_event()
        if event is None:
            return "choosing a context ..."
        more = "" if event.policies == 1 else f" and {event.policies - 1} more"
        parts = [f"policy {event.trial.id}{more}: {activity(event)}", *self.figures(event)]
        run_left = self.run_seconds_left()
        if run_left is not None:
            parts.append(f"about {duration(run_left)} left in all")
        return ", ".join(parts)

    def _write_now_and_then(self) -> None:
        while not self._ended.wait(self._every):
            self._write(printable(self.current_line()))
