"""Trials that are lent to jobs elsewhere, which ask, train and tell, or never come back."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float
from sdmbtl.errors import StudyError
from sdmbtl.selectors import Trial
from sdmbtl.selectors.base import TrialLike
from sdmbtl.studies.leases import Lease, grant

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study

_log = logging.getLogger(__name__)


def lend_again(study: Study, most: int, seconds: float | None) -> list[Trial]:
    """Lend trials again whose lease has run out, the oldest first; asked under the lock.

    Args:
        study: The study.
        most: How many at most.
        seconds: How long the new leases hold; None to lend nothing.

    Raises:
        StudyError: If the number of seconds is not usable.
    """
    if seconds is None:
        return []
    check_float("lease", seconds, low=0.0, error=StudyError)
    asked = [t for t in study.pending if t.run is None]
    found = {t.id: study.database.lease(t.id) for t in asked}
    leases = {number: lease for number, lease in found.items() if lease is not None}
    lent = [t for t in asked if t.id in leases]
    again = [t for t in lent if leases[t.id].is_free][:most]
    new = {t.id: grant(leases[t.id], seconds, None) for t in again}
    seen = {t.id: leases[t.id].looked_at() for t in lent if t not in again}
    study.database.set_leases(new | {n: x for n, x in seen.items() if x != leases[n]})
    return again


def new_leases(trials: Iterable[Trial], seconds: float | None) -> dict[int, Lease]:
    """Leases of trials that are asked for now, by their ids."""
    if seconds is None:
        return {}
    return {trial.id: grant(None, seconds, None) for trial in trials}


def renew_lease(study: Study, number: int, token: int) -> bool:
    """Renew a lease, if it is still the one with this token; asked under the lock."""
    lease = study.database.lease(number)
    if lease is None or lease.holder is None or lease.token != token:
        return False
    study.database.set_leases({number: lease.renewed()})
    return True


def keep_superseded(
    study: Study,
    trial: TrialLike,
    token: int | None,
    what: str,
    row: NDArray[np.float64] | None,
) -> Trial | None:
    """Keep what is reported, if it comes from a lease that was lost; the trial, or None if not.

    Args:
        study: The study, under the lock.
        trial: The trial that is reported.
        token: The lease that it was asked with, as who reports it says.
        what: What became of it.
        row: Its returns.

    Raises:
        StudyError: If it was lent more than once, and nobody says with which lease this came.
    """
    number = trial.id if isinstance(trial, Trial) else trial
    if not isinstance(number, int):
        return None
    lease = study.database.lease(number)
    if lease is None or token == lease.token:
        return None
    if token is None:
        if lease.token == 1 or study.trials[number].run is not None:
            return None
        raise StudyError(
            f"Policy {number} was lent {lease.token} times, because nothing was heard of it. Say "
            "with which lease this result comes: 'lease', as 'ask' printed it."
        )
    study.database.add_superseded(number, token, what, row)
    _log.warning(
        "Policy %d was given to somebody else when lease %d had run out. What is reported now is "
        "kept as superseded and does not count.",
        number,
        token,
    )
    return study.trials[number]


def returned_lease(study: Study, number: int) -> dict[int, Lease]:
    """The lease of a trial that is reported, given back; none if it was not lent."""
    lease = study.database.lease(number)
    return {} if lease is None else {number: lease.given_back()}
