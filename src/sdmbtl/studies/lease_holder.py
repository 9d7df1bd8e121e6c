"""The leases of a process that runs a study."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from sdmbtl.checks import check_float
from sdmbtl.errors import StudyError
from sdmbtl.studies.database import StudyDatabase
from sdmbtl.studies.leases import Lease, begin_run, end_run, grant

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.studies.study import Study

_log = logging.getLogger(__name__)


class LeaseHolder:
    """Borrows trials for a process that trains them, and renews its leases while it does.

    As a context manager it gives back what it holds at the end.

    Args:
        study: The study.
        seconds: How long a lease holds without being renewed: a process that is stopped for longer
            may lose its trials to another one.

    Raises:
        StudyError: If the number of seconds is not usable.
    """

    def __init__(self, study: Study, seconds: float = 60.0) -> None:
        self.study = study
        self.seconds = check_float("lease_seconds", seconds, low=0.0, error=StudyError)
        self._tokens: dict[int, int] = {}
        self._run = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew_until_ended, daemon=True)

    def __enter__(self) -> Self:
        self._run = begin_run()
        self._renewing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._renewing.join()
        end_run(self._run)
        with suppress(StudyError), self.study.alone():  # a dead process gives back as well
            held = self._held(self.study.database.leases())
            self.study.database.set_leases({n: lease.given_back() for n, lease in held.items()})
        self._tokens = {}

    def lend(self, trials: Iterable[Trial]) -> dict[int, Lease]:
        """New leases of trials that are asked for now, to be recorded with them."""
        leases = {t.id: grant(None, self.seconds, self._run) for t in trials}
        self._remember(leases)
        return leases

    def claim(self, trials: Sequence[Trial]) -> list[Trial]:
        """Those of some pending trials that this process holds now; it takes what is free."""
        wanted = [t for t in trials if t.id not in self._tokens]
        if wanted:
            with self.study.alone():
                now = {t.id for t in self.study.pending}
                leases = self.study.database.leases()
                free = {
                    t.id: grant(leases.get(t.id), self.seconds, self._run)
                    for t in wanted
                    if t.id in now and (t.id not in leases or leases[t.id].is_free)
                }
                others = {t.id: leases[t.id].looked_at() for t in wanted if t.id not in free}
                changed = {n: lease for n, lease in others.items() if lease != leases[n]}
                self.study.database.set_leases(free | changed)
            self._remember(free)
        return [t for t in trials if t.id in self._tokens]

    def is_lost(self, number: int) -> bool:
        """Whether somebody else has, or had, a trial that was lent here; asked under the lock."""
        token = self._tokens.get(number)
        lease = self.study.database.lease(number)
        return token is not None and (lease is None or lease.token != token)

    def token(self, number: int) -> int:
        """The token of a trial that was lent here."""
        return self._tokens[number]

    def give_back(self, number: int) -> dict[int, Lease]:
        """The lease of a trial that is done, to be recorded with it."""
        lease = self.study.database.lease(number)
        held = {} if lease is None else self._held({number: lease})
        self.forget(number)
        return {n: lease.given_back() for n, lease in held.items()}

    def forget(self, number: int) -> None:
        """A trial is no longer worked on here."""
        with self._lock:
            self._tokens.pop(number, None)

    def _remember(self, leases: dict[int, Lease]) -> None:
        with self._lock:
            self._tokens |= {number: lease.token for number, lease in leases.items()}

    def _held(self, leases: dict[int, Lease]) -> dict[int, Lease]:
        """The leases that are ours."""
        with self._lock:
            return {n: lease for n, lease in leases.items() if self._tokens.get(n) == lease.token}

    def _renew_until_ended(self) -> None:
        # A connection of its own: the other one is in use by another thread.
        database = StudyDatabase(self.study.database.path, self.study.database.wait)
        while not self._ended.wait(self.seconds / 4 or 1.0):
            try:
                with database.locked(), database.opened():
                    held = self._held(database.leases())
                    database.set_leases({n: lease.renewed() for n, lease in held.items()})
            except StudyError as error:
                _log.debug("Leases were not renewed, which is tried again: %s", error)
