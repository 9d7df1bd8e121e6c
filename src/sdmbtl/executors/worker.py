"""The process of a worker: `python -m sdmbtl.executors.worker DESCRIPTOR`.

It reads tasks from a connection, does them and answers, until the connection is closed: so it
never outlives who started it.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from sdmbtl.executors.calls import Call, do


def main() -> None:
    """Serve who started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for who started this
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    tasks: queue.SimpleQueue[Call] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        connection.send(do(tasks.get(), lambda data: connection.send(("report", data))))


def _receive(connection: Connection[Any, Any], tasks: queue.SimpleQueue[Call]) -> None:
    """Pass tasks on; end the process, whatever it does, when there is nobody to answer to."""
    while True:
        try:
            tasks.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main()
