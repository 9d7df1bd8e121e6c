"""The trials of a study, on disk first and then in the memory of its selector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors import Selector, Trial
from sdmbtl.studies.store import StudyStore


class TrialLog:
    """Keeps the history of a selector in step with the store.

    Args:
        store: The store of the study.
        selector: Its selector, whose history is filled.
    """

    def __init__(self, store: StudyStore, selector: Selector) -> None:
        self.store, self.selector, self.space = store, selector, selector.space
        selector.load_trials(store.trials(self.space))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order."""
        return self.selector.trials

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked and not reported yet."""
        return self.selector.pending

    @property
    def n_finished(self) -> int:
        """Number of finished policies."""
        return sum(t.status == "finished" for t in self.trials)

    @property
    def trained(self) -> list[Trial]:
        """The trials that have a policy file on record, without those that were forgotten."""
        return [t for t in self.trials if t.has_policy and t.status != "forgotten"]

    def refresh(self) -> None:
        """Take over what other processes have recorded since."""
        known = self.trials
        recorded = self.store.trials(self.space)
        self.selector.record(*(t for t in recorded if t.id >= len(known) or t is not known[t.id]))

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Hold the write lock, knowing all that other processes have recorded.

        Raises:
            BusyError: If another process holds it for too long.
        """
        with self.store.transaction() as written:
            self.refresh()
            yield
        self.selector.record(*written.values())

    def record(
        self,
        *trials: Trial,
        episodes: Mapping[int, NDArray[np.float64]] | None = None,
        errors: Mapping[int, Mapping[int, str]] | None = None,
        seconds: Mapping[tuple[int, str], float] | None = None,
    ) -> None:
        """Write trials, under the write lock; see `StudyStore.write`."""
        self.store.write(*trials, episodes=episodes, errors=errors, seconds=seconds)
