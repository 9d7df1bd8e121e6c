"""Heartbeats and fencing: who works on a trial, when it was last heard of, whose result counts.

Each time a trial is given to somebody its token rises by one. A result that comes with an older
token is stale: it does not count. A trial is free again when the process that works on it has
ended, or when nothing was heard of it for the seconds of its lease.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sdmbtl.errors import BusyError, StudyError

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.studies.store import StudyStore

_log = logging.getLogger(__name__)

#: Seconds without a heartbeat after which others take over the policies of a run.
LEASE_SECONDS = 60.0
#: Name of the fact that holds the leases of the processes that run the study.
RUNS = "runs"
#: Numbers for the runs of this process, and the runs that have not ended.
_run_numbers, _active_runs = itertools.count(1), set[str]()


@dataclass(frozen=True)
class Lease:
    """A trial that was given to somebody for the `token`-th time; free without a heartbeat.

    Attributes:
        holder: Identity of the holder; None once it was returned.
        seconds: Time without a heartbeat after which it is free.
        heartbeat: Time of day when the holder was last heard of, in seconds since 1970.
    """

    token: int
    holder: str | None
    seconds: float
    heartbeat: float

    @property
    def is_free(self) -> bool:
        """True if somebody else may have it."""
        if self.holder is None or _has_ended(self.holder):
            return True
        # A heartbeat in the future is as old as one in the past: the clock was set back.
        return abs(time.time() - self.heartbeat) >= self.seconds

    def renewed(self) -> Lease:
        """Return the lease with a heartbeat now."""
        return replace(self, heartbeat=time.time())

    @property
    def process(self) -> int | None:
        """Number of the process that holds it; None if it is free, or held by a job elsewhere."""
        number = (self.holder or "").partition(" ")[0]
        return int(number) if number.isdecimal() and not self.is_free else None


def grant(before: Lease | None, seconds: float, holder: str | None = None) -> Lease:
    """Return a lease with the next token, after one that is free; None if there was none.

    Without a holder it is for a job elsewhere, which need not be a process.
    """
    token = 1 if before is None else before.token + 1
    return Lease(token, holder or f"job {socket.gethostname()}", seconds, time.time())


class LeaseKeeper:
    """Leases of one run of a study, kept alive by a thread. A context manager.

    With `alone` no other run may be at work: entering raises `BusyError` if one is.
    """

    def __init__(self, store: StudyStore, *, alone: bool = True) -> None:
        self.store, self.alone, self.seconds = store, alone, LEASE_SECONDS
        self.tokens: dict[int, int] = {}
        self._run = str(next(_run_numbers))
        pid = os.getpid()
        self.holder = f"{pid} {socket.gethostname()} {_started(pid)} {self._run} {_machine()}"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        with self.store.transaction():
            others = [lease for lease in self.store.runs() if not lease.is_free]
            if self.alone and others:
                number, host, *_ = (others[0].holder or "").split(" ")
                raise BusyError(
                    f"Another process (number {number} on {host}) is running the study in "
                    f"{str(self.store.path.parent)!r}. Wait until it ends, or stop it; status, ask "
                    "and tell may be used meanwhile, and --join works with it."
                )
            runs = [*others, grant(None, self.seconds, self.holder)]
            self.store.set_fact(RUNS, [asdict(run) for run in runs])
        _active_runs.add(self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        _active_runs.discard(self._run)
        with suppress(StudyError):  # on a full disk the leases are free all the same
            self._renew(ended=True)

    def claim(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return those of some pending trials that this run holds; it takes what is free."""
        if any(trial.id not in self.tokens for trial in trials):
            with self.store.transaction():
                leases = self.store.leases()
                for trial in trials:
                    lease = leases.get(trial.id)
                    if trial.id not in self.tokens and (lease is None or lease.is_free):
                        self.take(trial.id, lease)
        return [t for t in trials if t.id in self.tokens]

    def take(self, number: int, before: Lease | None = None) -> None:
        """Give a trial to this run, within a transaction."""
        lease = grant(before, self.seconds, self.holder)
        self.store.set_lease(number, lease)
        self.tokens[number] = lease.token

    def is_lost(self, number: int) -> bool:
        """Tell whether somebody else has, or had, a trial of this run; within a transaction."""
        lease = self.store.leases().get(number)
        return number in self.tokens and (lease is None or lease.token != self.tokens[number])

    def give_back(self, number: int) -> None:
        """Record that a trial is done, within a transaction."""
        lease = self.store.leases().get(number)
        if self.tokens.pop(number, None) is not None and lease is not None:
            self.store.set_lease(number, replace(lease, holder=None))

    def _beat(self) -> None:
        while not self._ended.wait(self.seconds / 4 or 1.0):
            try:
                self._renew()
            except StudyError as error:
                _log.debug("No heartbeat was recorded; the next one may be: %s", error)

    def _renew(self, *, ended: bool = False) -> None:
        """Record a heartbeat of all leases of this run; return them at its end."""
        change: dict[str, Any] = {"holder": None} if ended else {"heartbeat": time.time()}
        with self.store.transaction():
            for number, lease in self.store.leases().items():
                if lease.holder == self.holder:
                    self.store.set_lease(number, replace(lease, **change))
            runs = [
                replace(r, **change) if r.holder == self.holder else r for r in self.store.runs()
            ]
            self.store.set_fact(RUNS, [asdict(run) for run in runs if run.holder is not None])


def _has_ended(holder: str) -> bool:
    """Tell whether a run on this machine has ended; of others that is not known."""
    try:
        number, _, started, run, machine = holder.split(" ", 4)
        if machine != _machine():
            return False
        now = _started(int(number))
        if now == "gone" or (now != started and "?" not in (now, started)):
            return True  # or another process has its number now
        return int(number) == os.getpid() and run not in _active_runs
    except ValueError:
        return False


def _machine() -> str:
    """Return an identity of this machine, since it was started, and of its process numbers.

    Another container has other process numbers, so it counts as another machine.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(process: int) -> str:
    """Return when a process was started, in ticks; "gone" if there is none, "?" if unknown."""
    try:
        if os.name == "posix":
            os.kill(process, 0)
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except ProcessLookupError:
        return "gone"
    except (OSError, OverflowError):
        return "?"
    return "gone" if state in "ZX" else fields[18]
