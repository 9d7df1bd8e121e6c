"""A simulation in a separate process, so that a crash or a hang of SUMO becomes an error.

`SimulationClient` starts `python -m sdmbtl_traffic.simulation_process`, and both talk through a
`multiprocessing` connection: a request is the name of a method of `Simulation` with its arguments.
The process ends when its connection is closed, so it never outlives the client.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import MissingPackageError, SimulationError
from sdmbtl_traffic.crossing import Crossing
from sdmbtl_traffic.simulation import Agents, Driver, Moved, Rules, Scene

#: Characters of SUMO's output that an error shows.
SHOWN = 500


class SimulationClient:
    """A simulation in a separate process, which is started at the first reset.

    Args:
        rules: Settings that all episodes share.
        patience: Seconds after which a process that does not answer is killed.
        resets: Episodes after which the process is replaced: SUMO does not give back all the
            memory of the networks it has loaded.

    Raises:
        MissingPackageError: If libsumo is not installed.
    """

    def __init__(self, rules: Rules, *, patience: float = 60.0, resets: int = 500) -> None:
        if importlib.util.find_spec("libsumo") is None:
            raise MissingPackageError(
                "Traffic needs SUMO, which is not installed. Install it with: pip install libsumo",
                name="libsumo",
            )
        self.rules, self.patience, self.resets = rules, patience, resets
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._log: IO[bytes] | None = None
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
        if self._process is None:
            self._start()
        self._done += 1
        crossings = [Crossing(**context) for context in contexts]
        agents, is_over = self._call("reset", crossings, list(seeds), driver)
        return agents, is_over

    def step(self, actions: NDArray[np.float32]) -> tuple[Moved, Agents, bool]:
        """Advance half a second; see `Simulation.step`. The last value: the time is up."""
        (moved, agents), is_over = self._call("step", np.asarray(actions, np.float32).ravel())
        return moved, agents, is_over

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """Return the measures of the episodes; see `Simulation.measures`."""
        found: dict[str, NDArray[np.float64]] = self._call("measures")[0]
        return found

    def scene(self, crossing: int) -> Scene:
        """Return the vehicles on a crossing now."""
        found: Scene = self._call("scene", crossing)[0]
        return found

    @property
    def pid(self) -> int | None:
        """Number of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process; the next reset starts another one."""
        process, connection, log = self._process, self._connection, self._log
        self._process, self._connection, self._log, self._done = None, None, None, 0
        if process is not None:
            process.kill()  # it has nothing to save
            process.wait()
        if connection is not None:
            connection.close()
        if log is not None:
            log.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        path = os.pathsep.join(filter(None, sys.path))
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this package itself
                [sys.executable, "-m", "sdmbtl_traffic.simulation_process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            )
        self._connection.send(self.rules)

    def _call(self, method: str, *arguments: Any) -> tuple[Any, bool]:
        """Return the result of a method of the simulation, and whether the time is up."""
        if self._connection is None:
            raise SimulationError("There is no episode: call reset first.")
        try:
            self._connection.send((method, arguments))
            if not self._connection.poll(self.patience):
                raise self._failed(
                    f"did not answer for {self.patience:g} s and was ended: it hangs, or the "
                    "machine is overloaded"
                )
            result, is_over, error = self._connection.recv()
        except (OSError, EOFError):
            raise self._failed("died") from None
        if error is not None:
            raise self._failed(f"failed: {error}")
        return result, is_over

    def _failed(self, how: str) -> SimulationError:
        """End a process that is of no more use, and return the error."""
        if self._process is not None and how == "died":
            with suppress(subprocess.TimeoutExpired):
                how = f"died (exit status {self._process.wait(timeout=1)})"
        printed = ""
        if self._log is not None:
            self._log.seek(0)
            printed = self._log.read().decode(errors="replace").strip()[-SHOWN:]
        self.close()
        shown = f" It printed: {printed}" if printed else ""
        return SimulationError(f"The process of the traffic simulation {how}.{shown}")
