"""The process of a simulation: `python -m sdmbtl_traffic.simulation_process`.

It answers what it reads on its standard input until that is closed, so it never outlives who
started it. What SUMO prints goes to standard error: standard output has messages only.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, BinaryIO

import numpy as np

from sdmbtl_traffic.crossing import Crossing
from sdmbtl_traffic.messages import pack_step, receive, send
from sdmbtl_traffic.simulation import Moved, Rules, Simulation


def main() -> None:
    """Serve one simulation."""
    # An interrupt is for who started this; closing the input ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    rules = Rules(**json.loads(sys.argv[1]))
    serve(Simulation(rules), sys.stdin.buffer, answers)


def serve(simulation: Simulation, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while True:
        try:
            kind, content = receive(requests.read)
        except EOFError:
            return
        try:
            send(answers, kind, answer(simulation, kind, content))
        except Exception as error:  # noqa: BLE001 (whatever SUMO may raise)
            send(answers, b"E", f"{type(error).__name__}: {error}".encode())


def answer(simulation: Simulation, kind: bytes, content: bytes) -> bytes:
    """The answer to one request."""
    if kind == b"S":
        moved, agents = simulation.step(np.frombuffer(content, np.float32))
        return pack_step(moved, agents, is_over=simulation.is_over)
    asked: dict[str, Any] = json.loads(content)
    if kind == b"R":
        crossings = [Crossing.of(context) for context in asked["contexts"]]
        agents = simulation.reset(crossings, asked["seeds"], asked["driver"])
        nobody = Moved(np.zeros(0, np.bool_), *[np.zeros(0, np.float32)] * 3)
        return pack_step(nobody, agents, is_over=simulation.is_over)
    if kind == b"P":
        return json.dumps(simulation.scene(asked["crossing"])).encode()
    return json.dumps({name: m.tolist() for name, m in simulation.measures().items()}).encode()


if __name__ == "__main__":
    main()
