"""Where a run is shown."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from sdmbtl.callbacks.line_display import LineDisplay
from sdmbtl.callbacks.notebook_display import NotebookDisplay, in_notebook
from sdmbtl.checks import short_text
from sdmbtl.errors import StudyError

if TYPE_CHECKING:
    from sdmbtl.callbacks.display import RunDisplay
    from sdmbtl.studies import Study

logger = logging.getLogger("sdmbtl")


def make_displays(
    study: Study,
    progress: bool | Literal["auto"] = "auto",
    log_every: float | None = 30.0,
    budget: int | None = None,
    time_limit: float | None = None,
) -> list[RunDisplay]:
    """Displays of a run: lines for `logging` if that is set up for them, and what is seen.

    Args:
        study: The study that is run.
        progress: Whether the run is shown. "auto": in a notebook, and on a terminal by Rich, but
            not where `logging` shows its lines already.
        log_every: Seconds between two lines that say what happens; None for none of them.
        budget: Policies to be finished in all, if known.
        time_limit: Seconds for this run, if limited.

    Raises:
        StudyError: If `progress` is something else, or `log_every` is not positive.
    """
    if not isinstance(progress, bool) and progress != "auto":
        raise StudyError(
            f"'progress' is True, False or 'auto'. Got {short_text(progress)} instead."
        )
    if log_every is not None and not log_every > 0:
        raise StudyError(
            f"'log_every' is a number of seconds above 0, or None. Got {log_every!r} instead."
        )
    limits: dict[str, Any] = {"budget": budget, "time_limit": time_limit}

    def lines(write: Callable[[str], None]) -> RunDisplay:
        return LineDisplay(study, write, every=log_every, **limits)

    logs = logger.isEnabledFor(logging.INFO)
    displays = [lines(logger.info)] if logs else []
    if progress is False or (progress == "auto" and logs):
        return displays
    if in_notebook():
        return [*displays, NotebookDisplay(study, **limits)]
    if _on_terminal():
        from sdmbtl.callbacks.terminal_display import TerminalDisplay
        from sdmbtl.console import PlainConsole

        return [*displays, TerminalDisplay(study, PlainConsole(stderr=True), **limits)]
    return [*displays, lines(_print)] if progress is True else displays


def _on_terminal() -> bool:
    """Whether Rich can draw on this process's terminal."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        return False
    from sdmbtl.console import PlainConsole

    return PlainConsole(stderr=True).is_interactive


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
