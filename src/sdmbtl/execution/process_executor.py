"""Tasks in other processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import ClassVar

from sdmbtl.checks import check_int
from sdmbtl.errors import ExecutorError, WorkerLostError
from sdmbtl.execution.base import Answer, Call, Listener
from sdmbtl.execution.pool import Worker, WorkerPool, out_of_time
from sdmbtl.machine import worker_environment


class ProcessExecutor(WorkerPool):
    """Each worker is a process, which is started for its first task and kept.

    Workers end with this process, however it ends.

    Args:
        workers: Number of processes.
        time_limit: Seconds that a task may take.
        memory_limit: Bytes of memory that a worker may use; None for any number.
    """

    name: ClassVar[str] = "processes"

    def __init__(
        self, workers: int, *, time_limit: float | None = None, memory_limit: int | None = None
    ) -> None:
        super().__init__(workers, time_limit=time_limit)
        if memory_limit is not None:
            memory_limit = check_int("memory_limit", memory_limit, low=1, error=ExecutorError)
        self.memory_limit = memory_limit

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes at present."""
        with self._lock:
            return [worker.pid for worker in self._pool if isinstance(worker, _Process)]

    def _make_worker(self) -> Worker:
        return _Process(self.time_limit, self.memory_limit)


class _Process(Worker):
    """One process and the connection to it."""

    #: Seconds between two looks at a worker that is limited.
    look_every = 0.1
    #: Seconds to start and to import a task, before the limit of time counts.
    start_seconds = 60.0

    def __init__(self, time_limit: float | None, memory_limit: int | None) -> None:
        self._time_limit, self._memory_limit = time_limit, memory_limit
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
        """Have a task done; see `Worker.do`."""
        time_limit, memory_limit = self._time_limit, self._memory_limit
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
            elif time_limit is not None and time.monotonic() - begun > time_limit:
                raise out_of_time(time_limit)
            elif memory_limit is not None and _memory_of(self.pid) > memory_limit:
                raise WorkerLostError(
                    f"The worker used more than {memory_limit / 2**30:.2g} GiB of memory and was "
                    "stopped (--executor-option memory_limit=BYTES)."
                )

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


def _memory_of(process: int) -> int:
    """Return the bytes that a process has in memory; 0 if unknown."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
