"""Leases: who works on a trial, until when, and whose result counts.

A lease has a token that rises with each holder: a result that comes with an older one is late, and
does not count. A lease is free again when its process has ended, or when it was not renewed for
its number of seconds. Those are counted by whoever looks, on its own clock since the machine
started: the time of day, which may be set, and clocks of other machines do not matter.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sdmbtl.files import is_alive


@dataclass(frozen=True)
class Lease:
    """One trial, lent to somebody.

    Attributes:
        token: Number of the holder: 1 for the first that this trial was lent to.
        holder: Who it is, in words; None once it was given back.
        seconds: How long it holds without being renewed.
        beats: How often it was renewed.
        machine: Where the process of the holder runs; None for one that need not run.
        process: Number of that process, when it started, and which of its runs it is.
        seen: For each machine that has looked: the beats then, and its clock.
    """

    token: int
    holder: str | None
    seconds: float
    beats: int = 0
    machine: str | None = None
    process: tuple[int, int, int] | None = None
    seen: Mapping[str, tuple[int, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The lease as JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lease:
        """Read back what `to_dict` gave."""
        process = data["process"]
        seen = {name: (int(beats), float(when)) for name, (beats, when) in data["seen"].items()}
        read = {"seen": seen, "process": None if process is None else tuple(map(int, process))}
        return cls(**{**data, **read})

    @property
    def is_free(self) -> bool:
        """Whether somebody else may have it, as far as this machine knows."""
        if self.holder is None:
            return True
        machine = this_machine()
        if self.process is not None and self.machine == machine and not _runs(self.process):
            return True
        beats, since = self.seen.get(machine, (-1, 0.0))
        return beats == self.beats and machine_clock() - since >= self.seconds

    def looked_at(self) -> Lease:
        """The lease with a note of when this machine saw it first as it is now."""
        machine = this_machine()
        if self.seen.get(machine, (-1, 0.0))[0] == self.beats:
            return self
        return replace(self, seen={**self.seen, machine: (self.beats, machine_clock())})

    def renewed(self) -> Lease:
        """The lease for another number of seconds."""
        return replace(self, beats=self.beats + 1, seen={}).looked_at()

    def given_back(self) -> Lease:
        """The lease without a holder; its token is remembered."""
        return replace(self, holder=None, seen={}, machine=None, process=None)


#: The runs of this process that have not ended, and numbers for those to come.
_runs_here: set[int] = set()
_run_numbers = itertools.count(1)


def begin_run() -> int:
    """A number for a run of this process, whose leases hold until `end_run`."""
    number = next(_run_numbers)
    _runs_here.add(number)
    return number


def end_run(number: int) -> None:
    """Have the leases of a run free, also those that could not be given back on a full disk."""
    _runs_here.discard(number)


def grant(before: Lease | None, seconds: float, run: int | None) -> Lease:
    """Lend a trial to a run of this process, or to whoever asked for it here.

    Args:
        before: Its lease so far, which is free; None if there was none.
        seconds: How long it holds without being renewed.
        run: The run with which it ends; None if it does not end with this process.
    """
    token = 1 if before is None else before.token + 1
    holder = f"process {os.getpid()} on {socket.gethostname()}"
    if run is None:
        return Lease(token, f"a job asked for by {holder}", seconds).looked_at()
    own = (os.getpid(), _started(os.getpid()), run)
    return Lease(token, holder, seconds, machine=this_machine(), process=own).looked_at()


def this_machine() -> str:
    """What tells this machine, since it was started, from all others.

    Processes of another container have other numbers, so that counts as another machine.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def machine_clock() -> float:
    """Seconds since this machine was started, those in which it slept included."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def _runs(process: tuple[int, int, int]) -> bool:
    """Whether a process of this machine still runs: this one, not a later one of its number."""
    number, started, run = process
    if number == os.getpid():
        return started == _started(number) and run in _runs_here
    return is_alive(number) and _started(number) == started


def _started(process: int) -> int:
    """When a process was started, in ticks of the system; 0 where that is not known."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])
