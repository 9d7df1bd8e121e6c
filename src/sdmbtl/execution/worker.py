"""The process of a worker: `python -m sdmbtl.execution.worker DESCRIPTOR`.

It reads tasks from a connection, does them and answers, until the connection is closed: so it
never outlives whoever started it.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from sdmbtl.execution.base import Call, do_call

#: Seconds between two reports that are sent.
REPORT_EVERY = 0.1


def main() -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for whoever started this
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    tasks: queue.SimpleQueue[Call] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    due, latest = 0.0, None

    def send_when_due(data: Any) -> None:
        nonlocal due, latest
        latest = data
        if time.monotonic() >= due:
            connection.send(("report", data))
            due, latest = time.monotonic() + REPORT_EVERY, None

    while True:
        call = tasks.get()
        with suppress(Exception):  # which is the task's
            importlib.import_module(call[0].partition(":")[0])
        connection.send(("begun", None))  # from here on its time counts
        answer = do_call(call, send_when_due)
        if latest is not None:
            connection.send(("report", latest))
        due, latest = 0.0, None
        connection.send(answer)


def _receive(connection: Connection[Any, Any], tasks: queue.SimpleQueue[Call]) -> None:
    """Pass tasks on; end the process, whatever it does, when there is nobody to answer to."""
    while True:
        try:
            tasks.put(connection.recv())
        except (EOFError, OSError):
            os.killpg(0, signal.SIGKILL)  # with what it started, such as simulators


if __name__ == "__main__":
    main()
