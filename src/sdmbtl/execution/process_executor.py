"""Tasks in other processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Pipe, wait
from typing import ClassVar

from sdmbtl.errors import WorkerLostError
from sdmbtl.execution.base import Answer, Call, Listener
from sdmbtl.execution.pool import Worker, WorkerPool, out_of_time
from sdmbtl.machine import worker_environment


class ProcessExecutor(WorkerPool):
    """Each worker is a process, which is started for its first task and kept.

    Workers end with this process, however it ends.

    Args:
        workers: Number of processes.
        time_limit: Seconds that a task may take.
    """

    name: ClassVar[str] = "processes"

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes at present."""
        with self._lock:
            return [worker.pid for worker in self._pool if isinstance(worker, _Process)]

    def _make_worker(self) -> Worker:
        return _Process(self.time_limit)


class _Process(Worker):
    """One process and the connection to it."""

    #: Seconds between two looks at a worker that is limited.
    look_every = 0.1
    #: Seconds to start and to import a task, before the limit of time counts.
    start_seconds = 60.0

    def __init__(self, time_limit: float | None) -> None:
        self._time_limit = time_limit
        self._connection, theirs = Pipe()
        descriptor = theirs.fileno()
        self._process = subprocess.Popen(  # noqa: S603 (this package itself)
            [sys.executable, "-m", "sdmbtl.execution.worker", str(descriptor)],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            env=worker_environment(),
            # An interrupt of all processes at once, as Ctrl-C in a terminal is, is not for it.
            start_new_session=True,
        )
        theirs.close()
        self.pid = self._process.pid

    def do(self, call: Call, on_report: Listener | None) -> Answer:
        """Run a task; see `Worker.do`."""
        begun = time.monotonic() + self.start_seconds
        with suppress(BrokenPipeError, ConnectionResetError):  # which is noticed below
            self._connection.send(call)
        while True:
            if wait([self._connection], self.look_every):
                try:
                    kind, content = self._connection.recv()
                except (EOFError, OSError):
                    self.kill()  # which changes nothing about how it ended
                    raise WorkerLostError(_ending(self._process.returncode)) from None
                if kind in ("result", "error"):
                    return kind, content
                if kind == "begun":
                    begun = time.monotonic()
                elif on_report is not None:
                    on_report(content)
            elif self._time_limit is not None and time.monotonic() - begun > self._time_limit:
                raise out_of_time(self._time_limit)

    def kill(self) -> None:
        """End the process, which has nothing to save, with all that it started."""
        if self._process.returncode is None:  # so its number is not another one's
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


def _ending(status: int) -> str:
    """Describe how a process ended."""
    if status >= 0:
        return f"The worker ended with exit status {status}."
    name = signal.Signals(-status).name
    why = ", perhaps for lack of memory" if -status == signal.SIGKILL else ""
    return f"The worker was ended by a signal ({name}){why}."
