"""Tasks in other processes of this machine."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import Any, ClassVar

from sdmbtl.checks import check_int
from sdmbtl.errors import ExecutorError, WorkerLostError
from sdmbtl.execution.base import Call, Executor, Listener, name_of, rebuild_error
from sdmbtl.execution.machine import worker_environment
from sdmbtl.wording import duration


class ProcessExecutor(Executor):
    """Each worker is a process, which is started for its first task and kept.

    A worker that dies costs the task that it was working on and nothing else: another one takes its
    place. Workers end with this process, however it ends.

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
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._keepers: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._processes: set[_Worker] = set()
        self._is_shut_down = self._is_ended = False

    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *args: Any, on_report: Listener | None = None
    ) -> Future[Any]:
        """Have a task done by the next worker that is free."""
        call: Call = (name_of(function), args)
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("This executor was shut down: it takes no more tasks.")
            future: Future[Any] = Future()
            self._tasks.put((future, call, on_report))
            while len(self._keepers) < self.workers:
                keeper = threading.Thread(target=self._keep, daemon=True)
                self._keepers.append(keeper)
                keeper.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; see `Executor.shutdown`."""
        with self._lock:
            self._is_shut_down = True
            self._is_ended |= not wait
        if cancel_futures or not wait:
            with suppress(queue.Empty):
                while True:
                    task = self._tasks.get_nowait()
                    if task is not None:
                        task[0].cancel()
        for _ in self._keepers:
            self._tasks.put(None)
        if not wait:
            with self._lock:
                for process in self._processes:
                    process.kill()
        for keeper in self._keepers:
            keeper.join()

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes at present."""
        with self._lock:
            return [worker.pid for worker in self._processes]

    def _keep(self) -> None:
        """Have one task after another done by a worker, which is replaced if it is lost."""
        worker: _Worker | None = None
        while (task := self._tasks.get()) is not None:
            future, call, on_report = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker = worker or self._start()
                result = worker.do(call, on_report, self.time_limit, self.memory_limit)
            except WorkerLostError as error:
                self._end(worker)
                worker = None
                future.set_exception(error)
            except BaseException as error:  # noqa: BLE001 (the future has it)
                future.set_exception(error)
            else:
                future.set_result(result)
        self._end(worker)

    def _start(self) -> _Worker:
        with self._lock:
            if self._is_ended:
                raise WorkerLostError("The executor was shut down.", "killed")
            worker = _Worker()
            self._processes.add(worker)
        return worker

    def _end(self, worker: _Worker | None) -> None:
        if worker is not None:
            worker.kill()
            with self._lock:
                self._processes.discard(worker)


#: A future, its task, and who listens to it.
_Task = tuple[Future[Any], Call, Listener | None]


class _Worker:
    """One process and the connection to it."""

    #: Seconds between two looks at a worker that is limited.
    look_every = 0.1
    #: Seconds to start and to import a task, before the limit of time counts.
    start_seconds = 60.0

    def __init__(self) -> None:
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

    def do(
        self,
        call: Call,
        on_report: Listener | None,
        time_limit: float | None,
        memory_limit: int | None,
    ) -> Any:
        """Have a task done; return its result, or raise its error.

        Raises:
            WorkerLostError: If the worker died, or broke a limit.
        """
        out_of_memory = _count_out_of_memory()
        begun = time.monotonic() + self.start_seconds
        with suppress(BrokenPipeError, ConnectionResetError):  # which is noticed below
            self._connection.send(call)
        while True:
            if wait([self._connection], self.look_every):
                try:
                    kind, content = self._connection.recv()
                except (EOFError, OSError):
                    raise self._died(_count_out_of_memory() > out_of_memory) from None
                if kind == "result":
                    return content
                if kind == "error":
                    raise rebuild_error(content)
                if kind == "begun":
                    begun = time.monotonic()
                elif on_report is not None:
                    on_report(content)
            elif time_limit is not None and time.monotonic() - begun > time_limit:
                raise WorkerLostError(
                    f"The run did not end within {duration(time_limit)} and was stopped: it hangs, "
                    "or needs a higher limit (run_limit, --executor-option time_limit=SECONDS).",
                    "time",
                )
            elif memory_limit is not None and _memory_of(self.pid) > memory_limit:
                raise WorkerLostError(
                    f"The worker used more than {memory_limit / 2**30:.2g} GiB of memory and was "
                    "stopped (--executor-option memory_limit=BYTES).",
                    "memory",
                )

    def kill(self) -> None:
        """End the process: it has nothing to save."""
        self._process.kill()
        self._process.wait()

    def _died(self, out_of_memory: bool) -> WorkerLostError:
        """Describe how the process ended."""
        status = self._process.wait()
        if status >= 0:
            return WorkerLostError(f"The worker ended with exit status {status}.", "crashed")
        name = signal.Signals(-status).name
        if -status != signal.SIGKILL:
            how = "crashed" if -status in _CRASHES else "killed"
            return WorkerLostError(f"The worker {how} ({name}).", how)
        if out_of_memory:
            return WorkerLostError("The system killed the worker for lack of memory.", "memory")
        return WorkerLostError(f"The worker was killed ({name}).", "killed")


#: Signals by which a process ends for a fault of its own.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGBUS)


def _memory_of(process: int) -> int:
    """Return the bytes that a process has in memory; 0 if unknown."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _count_out_of_memory() -> int:
    """Return how often the system killed a process for lack of memory; 0 if unknown."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
