"""Executors with workers elsewhere: a thread for each, which gives it one task after another."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar

from sdmbtl.errors import WorkerLostError
from sdmbtl.execution.base import Answer, Call, Executor, Listener, rebuild_error
from sdmbtl.wording import duration

#: A future, its task, and who listens to it.
_Task = tuple[Future[Any], Call, Listener | None]


class Worker(ABC):
    """A worker, which does one task at a time."""

    def start(self, is_wanted: Callable[[], bool]) -> None:  # noqa: B027 (most need no time)
        """Wait until the worker can take a task, for as long as it is wanted."""

    @abstractmethod
    def do(self, call: Call, on_report: Listener | None) -> Answer:
        """Run a task, as `do_call`; raise `WorkerLostError` if the worker is lost."""

    @abstractmethod
    def kill(self) -> None:
        """End the worker and its task: there is nothing to save. May be called from any thread."""


class WorkerPool(Executor):
    """Keeps workers: one that is lost costs the task that it was working on and nothing else.

    See `Executor` for the arguments.

    Attributes:
        starts_ahead: True if a worker is started before there is a task for it. Then a worker for
            which there is no room takes no task away from the others.
    """

    starts_ahead: ClassVar[bool] = False

    def __init__(self, workers: int, *, time_limit: float | None = None) -> None:
        super().__init__(workers, time_limit=time_limit)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._keepers: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._pool: set[Worker] = set()
        self._is_shut_down = self._is_ended = False

    @abstractmethod
    def _make_worker(self) -> Worker:
        """Make a worker."""

    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *args: Any, on_report: Listener | None = None
    ) -> Future[Any]:
        """Submit a task to the next free worker."""
        call: Call = (f"{function.__module__}:{function.__qualname__}", args)
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("This executor was shut down: it takes no more tasks.")
            future: Future[Any] = Future()
            self._tasks.put((future, call, on_report))
            self._start_keepers()
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
                for worker in self._pool:
                    worker.kill()
        for keeper in self._keepers:
            keeper.join()

    def _start_keepers(self) -> None:
        while len(self._keepers) < self.workers:
            self._keepers.append(threading.Thread(target=self._keep, daemon=True))
            self._keepers[-1].start()

    def _keep(self) -> None:
        """Have one task after another done by a worker, which is replaced if it is lost."""
        worker = self._start_ahead()
        while (task := self._tasks.get()) is not None:
            future, call, on_report = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker = worker or self._start()
                kind, content = worker.do(call, on_report)
            except WorkerLostError as error:
                self._end(worker)
                future.set_exception(error)
                worker = self._start_ahead()
            except BaseException as error:  # noqa: BLE001 (the future has it)
                future.set_exception(error)
            else:
                if kind == "error":
                    future.set_exception(rebuild_error(content))
                else:
                    future.set_result(content)
        self._end(worker)

    def _start_ahead(self) -> Worker | None:
        if self.starts_ahead:
            with suppress(Exception):  # the next task has the reason, if that does not go away
                return self._start(lambda: not self._is_shut_down)
        return None

    def _start(self, is_wanted: Callable[[], bool] = lambda: True) -> Worker:
        with self._lock:
            if self._is_ended:
                raise WorkerLostError("The executor was shut down.")
            worker = self._make_worker()
            self._pool.add(worker)
        try:
            worker.start(is_wanted)
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _end(self, worker: Worker | None) -> None:
        if worker is not None:
            worker.kill()
            with self._lock:
                self._pool.discard(worker)


def out_of_time(limit: float) -> WorkerLostError:
    """Return the error of a task that took longer than it may."""
    return WorkerLostError(
        f"The run did not end within {duration(limit)} and was stopped: it hangs, or needs a "
        "higher limit (run_limit, --executor-option time_limit=SECONDS)."
    )
