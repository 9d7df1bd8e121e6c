"""Work in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Self, TypeVar

#: One thread of linear algebra in each child: the processes are the parallelism.
SINGLE_THREADED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Item = TypeVar("Item")
Result = TypeVar("Result")


#: Called now and then while others work; what it raises ends the work.
Heartbeat = Callable[[], None]


def compute_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    heartbeat: Heartbeat | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Yield the items with their results as they are finished.

    Args:
        function: Called with each item; with several processes it, the items and the results
            are pickled.
        items: The pieces of work.
        processes: Number of processes; with one, everything is done in this process, in order.
        heartbeat: Called now and then while this process waits for others.
    """
    if processes <= 1:
        for item in items:
            yield item, function(item)
        return
    with Workers(processes) as workers:
        yield from workers.compute_all(function, items, heartbeat=heartbeat)


class Workers:
    """Processes that are started when they are first needed, and kept until `close`.

    They end with this process, however it ends. The script that this process runs is not run
    again in them: what they are to do must be importable from a module.

    Args:
        processes: Number of them; with none, only this process works.
    """

    #: Work of so many seconds pays for the start of a process, which imports all it needs.
    start_seconds = 3.0

    #: Seconds between two heartbeats.
    heartbeat_seconds = 0.2

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._pool: ProcessPoolExecutor | None = None
        self._children: list[BaseProcess] = []
        self._done_alone = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def started(self) -> bool:
        """Whether there are processes."""
        return bool(self._children)

    def worth_starting(self, seconds: float) -> bool:
        """Whether it pays to start processes for so many seconds of work.

        Work that was not worth it adds up: sooner or later many small pieces are.
        """
        self._done_alone += seconds
        return self.processes > 0 and self._done_alone > self.start_seconds

    def compute_all(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        here: Callable[[Item], Result] | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield the items with their results as they are finished.

        Args:
            function: Called with an item in one of the processes.
            items: The pieces of work.
            here: What this process calls to do its share; without it, it only waits.
            heartbeat: Called now and then while it waits.

        Raises:
            BrokenProcessPool: If a process died.
        """
        waiting: dict[Future[Result], Item] = {}
        todo = deque(items)
        try:
            while todo or waiting:
                # A few ahead of the workers, not all: what an interruption leaves is dropped.
                while todo and len(waiting) < 2 * self.processes:
                    item = todo.popleft()
                    waiting[self._submit(function, item)] = item
                if todo and here is not None:
                    item = todo.popleft()
                    yield item, here(item)
                    finished = {future for future in waiting if future.done()}
                else:
                    finished = self._wait(waiting, heartbeat)
                # What went well first: an error ends the work, and would drop it.
                for future in sorted(finished, key=lambda f: f.exception() is not None):
                    yield waiting.pop(future), future.result()
        except BaseException:
            self.close()  # nobody waits for what is under way
            raise

    def _wait(
        self, waiting: Iterable[Future[Result]], heartbeat: Heartbeat | None
    ) -> set[Future[Result]]:
        """Wait until at least one is finished."""
        seconds = None if heartbeat is None else self.heartbeat_seconds
        while True:
            finished, _ = wait(waiting, seconds, return_when=FIRST_COMPLETED)
            if finished:
                return finished
            if heartbeat is not None:
                heartbeat()

    def close(self) -> None:
        """End the processes at once; they are started again when needed."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.terminate()
            while child.exitcode is None:  # the pool's own thread may be the one that learns it
                child.join(0.1)
        self._pool, self._children = None, []

    def _submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.processes, multiprocessing.get_context("spawn"), initializer=begin_worker
            )
        others = multiprocessing.active_children()
        try:
            with starting_processes():
                return self._pool.submit(function, item)  # which may start a process
        finally:
            self._children += [c for c in multiprocessing.active_children() if c not in others]


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def environment_variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables, which children inherit, and put them back afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def starting_processes() -> Iterator[None]:
    """What processes that are started in it inherit, before they call `begin_worker`.

    Linear algebra has one thread, the script of this process is not run again, and an interrupt of
    all processes at once, as Ctrl-C in a terminal is, does not end them in the middle of an import.
    """
    with environment_variables(SINGLE_THREADED), _without_script(), _interrupts_later():
        yield


@contextmanager
def _without_script() -> Iterator[None]:
    """Keep a process that is started from running this one's script.

    It needs nothing of it, and a script without `if __name__ == "__main__":` would begin anew.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold SIGINT back from this thread for a moment; a process that is started keeps it so."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """Called first in a child process: leave interrupts to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are the parent's
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends: one that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
