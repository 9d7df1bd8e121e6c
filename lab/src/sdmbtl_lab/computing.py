"""Work in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from sdmbtl.execution import ProcessExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Called now and then while others work; what it raises ends the work.
Heartbeat = Callable[[], None]

#: Seconds between two heartbeats.
HEARTBEAT_SECONDS = 0.2


def compute_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    heartbeat: Heartbeat | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Yield the items with their results as they are finished.

    Raises:
        WorkerLostError: If a process died; what was finished before is yielded first.
    """
    if processes <= 1:
        for item in items:
            yield item, function(item)
        return
    pool = ProcessExecutor(processes)
    try:
        waiting: dict[Future[Any], Item] = {pool.submit(_call, function, i): i for i in items}
        while waiting:
            done, _ = wait(waiting, HEARTBEAT_SECONDS, return_when=FIRST_COMPLETED)
            if not done and heartbeat is not None:
                heartbeat()
            # Successes first: an error ends the work, and would drop them.
            for future in sorted(done, key=lambda f: f.exception() is not None):
                yield waiting.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)
