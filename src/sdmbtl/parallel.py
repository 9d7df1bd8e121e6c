"""Work in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

#: One thread of linear algebra in each child: the processes are the parallelism.
SINGLE_THREADED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Item = TypeVar("Item")
Result = TypeVar("Result")


def compute_all(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int
) -> Iterator[tuple[Item, Result]]:
    """Yield the items with their results as they are finished.

    Args:
        function: Called with each item; with several processes it, the items and the results
            are pickled.
        items: The pieces of work.
        processes: Number of processes; with one, everything is done in this process, in order.
    """
    if processes <= 1:
        for item in items:
            yield item, function(item)
        return
    others = multiprocessing.active_children()
    with environment_variables(SINGLE_THREADED):
        pool = ProcessPoolExecutor(
            processes, multiprocessing.get_context("spawn"), initializer=begin_worker
        )
        waiting: dict[Future[Result], Item] = {}
        todo = iter(items)
        try:
            while True:
                # A few ahead of the workers, not all: what an interruption leaves is dropped.
                for item in islice(todo, 2 * processes - len(waiting)):
                    waiting[pool.submit(function, item)] = item
                if not waiting:
                    break
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                # What went well first: an error ends the work, and would drop it.
                for future in sorted(finished, key=lambda f: f.exception() is not None):
                    yield waiting.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()
                    child.join()


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
