"""The process of a simulation: `python -m sdmbtl_traffic.simulation_process DESCRIPTOR`.

It imports NumPy and SUMO only, so that it starts fast.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from sdmbtl_traffic.simulation import Simulation


def serve(connection: Connection) -> None:
    """Answer calls until the connection is closed; the first message has the rules."""
    with suppress(EOFError, OSError):
        simulation = Simulation(connection.recv())
        while True:
            method, arguments = connection.recv()
            answer: tuple[Any, bool, str | None]
            try:
                answer = getattr(simulation, method)(*arguments), simulation.is_over, None
            except Exception as error:  # noqa: BLE001 - whatever SUMO may raise
                answer = None, False, f"{type(error).__name__}: {error}"
            connection.send(answer)


if __name__ == "__main__":
    # An interrupt is for the client.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
