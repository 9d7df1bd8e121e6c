"""Many processes that work at the same time, some of which kill themselves."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
from collections.abc import Callable
from typing import Any


def run_crowd(work: Callable[[int], None], processes: int) -> dict[str, int]:
    """Keep so many processes working until one ends by itself; those that are killed are replaced.

    Args:
        work: What a process does, given its number.
        processes: How many at once.

    Returns:
        How many were killed, and how many ended with an error.
    """
    fork = multiprocessing.get_context("fork")
    alive: list[Any] = []
    started = killed = errors = 0
    is_over = False
    while alive or not is_over:
        while not is_over and len(alive) < processes:
            alive.append(fork.Process(target=work, args=(started,)))
            alive[-1].start()
            started += 1
        multiprocessing.connection.wait([process.sentinel for process in alive])
        for process in [p for p in alive if not p.is_alive()]:
            process.join()
            alive.remove(process)
            killed += process.exitcode == -signal.SIGKILL
            errors += process.exitcode not in (0, -signal.SIGKILL)
            is_over |= process.exitcode == 0 or errors > processes
    return {"killed": killed, "errors": errors}
