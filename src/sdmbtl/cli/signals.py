"""Ctrl-C, and the signal by which clusters end a job."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from sdmbtl.cli.output import note


class Stopped(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_status = 128 + number


class StopSignals:
    """Remembers a signal that asked the process to end, and raises `Stopped`.

    Python drops an exception that is raised inside a destructor or a callback of a library.
    Whoever calls `check` between two pieces of work makes sure that one signal is enough.
    """

    def __init__(self) -> None:
        self._received: int | None = None

    def check(self) -> None:
        """Raise `Stopped` if a signal came."""
        if self._received is not None:
            raise Stopped(self._received)

    @contextmanager
    def ending_with(self, message: Callable[[], str]) -> Iterator[None]:
        """End the command at SIGINT and SIGTERM, saying what is kept and how to continue.

        A signal that is ignored, as under nohup, stays so.

        Raises:
            typer.Exit: With the exit status of a program that this signal ended.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may have handlers
            return
        before = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
            return
        except Stopped as stop:
            status = stop.exit_status
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        note(message())
        raise typer.Exit(status)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._received = number
        raise Stopped(number)
