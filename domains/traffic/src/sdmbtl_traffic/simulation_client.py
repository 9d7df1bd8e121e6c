"""The other end of a simulation's process: starts it, asks it, and notices when it is ill."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

import sdmbtl
from sdmbtl.errors import MissingPackageError, SimulationError
from sdmbtl_traffic.messages import receive, send, unpack_step
from sdmbtl_traffic.simulation import Agents, Driver, Moved, Rules, Scene

#: Characters of what SUMO printed that an error shows.
SHOWN = 500
#: Bytes that are read at once, if there are as many.
CHUNK = 2**16


class SimulationClient:
    """A simulation in a process of its own, which is started when it is needed.

    Args:
        rules: What all episodes have in common.
        patience: Seconds after which a process that does not answer is taken to hang, and is ended.
        resets: After so many episodes a process is replaced by a new one: SUMO does not give back
            all the memory of what it has loaded.

    Raises:
        MissingPackageError: If libsumo is not installed.
    """

    def __init__(self, rules: Rules, *, patience: float = 60.0, resets: int = 500) -> None:
        if importlib.util.find_spec("libsumo") is None:
            raise MissingPackageError(
                "Traffic needs SUMO, which is not installed. Install it with: "
                "pip install 'sdmbtl[traffic]'",
                name="libsumo",
            )
        self.rules, self.patience, self.resets = rules, patience, resets
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._unread = b""  # of what the process has said
        self._done = 0

    def reset(
        self,
        contexts: Sequence[Mapping[str, float]],
        seeds: Sequence[int],
        driver: Driver = "policy",
    ) -> tuple[Agents, bool]:
        """Begin an episode for each context; see `Simulation.reset`."""
        if self._done >= self.resets:
            self.close()
        self._done += 1
        asked = {"contexts": [dict(c) for c in contexts], "seeds": list(seeds), "driver": driver}
        _, agents, is_over = unpack_step(self._ask(b"R", json.dumps(asked).encode()))
        return agents, is_over

    def step(self, actions: NDArray[np.float32]) -> tuple[Moved, Agents, bool]:
        """Half a second; see `Simulation.step`. The last is whether the time is up."""
        return unpack_step(self._ask(b"S", actions.tobytes()))

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """What the episodes have come to; see `Simulation.measures`."""
        found = json.loads(self._ask(b"M", b"{}"))
        return {name: np.array(values) for name, values in found.items()}

    def scene(self, crossing: int) -> Scene:
        """What there is to see on a crossing now."""
        time_now, vehicles = json.loads(
            self._ask(b"P", json.dumps({"crossing": crossing}).encode())
        )
        return Scene(time_now, [tuple(vehicle) for vehicle in vehicles])

    @property
    def pid(self) -> int | None:
        """Number of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process; the next reset starts another one."""
        process, log = self._process, self._log
        self._process, self._log, self._done, self._unread = None, None, 0, b""
        if process is not None:
            process.kill()  # it has nothing to save
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.wait()
        if log is not None:
            log.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        source = str(Path(sdmbtl.__file__).parents[1])
        inherited = os.environ.get("PYTHONPATH")
        path = source if not inherited else os.pathsep.join((source, inherited))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        rules = json.dumps(asdict(self.rules))
        self._process = subprocess.Popen(  # noqa: S603 - this package itself
            [sys.executable, "-m", "sdmbtl_traffic.simulation_process", rules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        )
        return self._process

    def _ask(self, kind: bytes, content: bytes) -> bytes:
        process = self._process
        if process is None:
            if kind != b"R":
                raise SimulationError("There is no episode: call reset first.")
            process = self._start()
        try:
            send(process.stdin, kind, content)  # type: ignore[arg-type]
            answered, found = receive(self._read)
        except (OSError, EOFError):
            raise self._failed("died") from None
        if answered == b"E":
            raise self._failed(f"failed: {found.decode(errors='replace')}")
        return found

    def _read(self, length: int) -> bytes:
        """Exactly so many bytes, unless the process ends, within the time that it has."""
        assert self._process is not None and self._process.stdout is not None  # noqa: PT018, S101
        source = self._process.stdout.fileno()
        while len(self._unread) < length:
            if not select.select([source], [], [], self.patience)[0]:
                raise self._failed(
                    f"did not answer for {self.patience:g} s and was ended: it hangs, or the "
                    "machine is overloaded"
                )
            part = os.read(source, CHUNK)
            if not part:
                break
            self._unread += part
        found, self._unread = self._unread[:length], self._unread[length:]
        return found

    def _failed(self, what: str) -> SimulationError:
        """The error for a process that is of no more use, which is ended."""
        if self._process is not None and what == "died":
            with suppress(subprocess.TimeoutExpired):
                what = f"died (exit status {self._process.wait(timeout=1)})"
        said = ""
        if self._log is not None:
            self._log.seek(0)
            said = self._log.read().decode(errors="replace").strip()[-SHOWN:]
        self.close()
        shown = f" It printed: {said}" if said else ""
        return SimulationError(f"The process of the traffic simulation {what}.{shown}")
