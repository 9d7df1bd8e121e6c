"""The process of a worker: `python -m sdmbtl.execution.worker DESCRIPTOR`.

It reads tasks from a connection, does them and answers, until the connection is closed: so it
never outlives who started it.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from sdmbtl.execution.calls import Call, do


def main() -> None:
    """Serve who started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for who started this
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    tasks: queue.SimpleQueue[Call] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        reports = Reports(connection)
        answer = do(tasks.get(), reports.add)
        reports.flush()
        connection.send(answer)


class Reports:
    """Sends what a task reports, but not more often than anybody looks; the last one always.

    Args:
        connection: To who started the task.
    """

    #: Seconds between two that are sent.
    every = 0.1

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection, self._due = connection, 0.0
        self._latest: Any = None

    def add(self, data: Any) -> None:
        """Take note of a report."""
        self._latest = data
        if time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Send the latest, if it was not."""
        if self._latest is not None:
            self._connection.send(("report", self._latest))
            self._latest, self._due = None, time.monotonic() + self.every


def _receive(connection: Connection[Any, Any], tasks: queue.SimpleQueue[Call]) -> None:
    """Pass tasks on; end the process, whatever it does, when there is nobody to answer to."""
    while True:
        try:
            tasks.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main()
