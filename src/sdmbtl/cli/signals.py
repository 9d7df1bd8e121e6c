"""Ctrl-C, and the signal by which clusters end a job."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import typer

from sdmbtl.cli.output import INTERRUPTED, note, prints_as_notes, warnings_as_notes

_STOPPING = "Stopping at the next safe moment; a second signal ends at once.\n"
#: Rich hides the cursor, and a second signal would leave it so.
_SHOW_CURSOR = "\x1b[?25h"


class Stopped(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_status = 128 + number


class StopSignals:
    """Remembers a signal that asked the process to end, until somebody calls `check`.

    A handler that raised would do so anywhere: in a destructor, in a callback of a library that
    drops the exception, in the middle of a write. A second signal ends the process at once.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._handled: tuple[int, ...] = ()

    def check(self) -> None:
        """Raise `Stopped` if a signal came; take handlers back that an environment replaced."""
        if self._received is not None:
            raise Stopped(self._received)
        for number in self._handled:
            if signal.getsignal(number) != self._receive:
                signal.signal(number, self._receive)

    @contextmanager
    def ending_with(self, message: str) -> Iterator[None]:
        """End the command after SIGINT or SIGTERM, saying what is kept and how to continue.

        A signal that is ignored, as under nohup, stays so.

        Raises:
            typer.Exit: With the exit status of a program that this signal ended.
        """
        before = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        self._handled = tuple(before)
        try:
            yield
            self.check()  # a signal at the very end
            return
        except KeyboardInterrupt as stop:  # an environment may raise one, too
            status = stop.exit_status if isinstance(stop, Stopped) else INTERRUPTED
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        note(message)
        raise typer.Exit(status)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._received = number
        for each in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(each) == self._receive:
                signal.signal(each, signal.SIG_DFL)
        # Not by print: the process may be in the middle of another one.
        with suppress(OSError):
            text = (_SHOW_CURSOR if os.isatty(2) else "") + _STOPPING
            os.write(2, text.encode())


@contextmanager
def stoppable(message: str) -> Iterator[StopSignals]:
    """End a command at a signal, with a message; show warnings and what is printed as notes."""
    signals = StopSignals()
    with signals.ending_with(message), warnings_as_notes(), prints_as_notes():
        yield signals
