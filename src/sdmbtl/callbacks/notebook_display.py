"""A run in a notebook: text that is replaced, without widgets."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from sdmbtl.callbacks.display import RunDisplay, activity
from sdmbtl.wording import printable

if TYPE_CHECKING:
    from sdmbtl.callbacks.event import Event, Stage
    from sdmbtl.studies import Study

BAR_WIDTH = 24

#: Seconds between two updates of one stage: each is a message to the browser.
UPDATE_EVERY = 0.5


class NotebookDisplay(RunDisplay):
    """Shows a line for each policy, and below a bar.

    Args:
        study: The study that is run.
        budget: Policies to be finished in all, if known.
        time_limit: Seconds for this run, if limited.
    """

    def __init__(
        self, study: Study, *, budget: int | None = None, time_limit: float | None = None
    ) -> None:
        super().__init__(study, budget=budget, time_limit=time_limit)
        self._id, self._lines = uuid4().hex, list[str]()
        self._stage: Stage | None = None
        self._updated = 0.0

    def __enter__(self) -> Self:
        self._show(self._text(), update=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._show("\n".join(self._lines))

    def add_line(self, number: str, *parts: str, warning: bool = False) -> None:
        """Add it above the bar."""
        del warning
        self._lines.append("  ".join((number, *parts)))
        self._show(self._text())

    def update(self) -> None:
        """Move the bar; a new stage is shown at once, for it may take long."""
        event = self.current_event()
        stage = None if event is None else event.stage
        if stage != self._stage or time.monotonic() - self._updated >= UPDATE_EVERY:
            self._stage = stage
            self._show(self._text())

    def _text(self) -> str:
        event = self.current_event()
        now = ["choosing a context ..."]
        if event is not None:
            figures = ", ".join([activity(event), *self.figures(event)])
            now = [self.headline(event), f"{_bar(event)}{figures}"]
        return "\n".join([*self._lines, *now, self.footer()])

    def _show(self, text: str, *, update: bool = True) -> None:
        from IPython.display import display, update_display

        self._updated = time.monotonic()
        show: Any = update_display if update else display
        show({"text/plain": printable(text, keep="\n")}, raw=True, display_id=self._id)


def in_notebook() -> bool:
    """Whether this is the process of a notebook; one that uses IPython has imported it."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _bar(event: Event) -> str:
    if not event.total_steps:
        return ""
    filled = round(BAR_WIDTH * event.steps / event.total_steps)
    return f"|{'█' * filled}{' ' * (BAR_WIDTH - filled)}| "
