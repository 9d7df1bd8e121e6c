"""What is worked on next in a study, and when it is enough."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sdmbtl.callbacks import Callback, Event
from sdmbtl.errors import StudyError
from sdmbtl.files import obstacle
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.lease_holder import LeaseHolder
from sdmbtl.studies.recording import run_of
from sdmbtl.studies.stopping import Standing, StopRule
from sdmbtl.transfer import mean_of

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study

#: After so many contexts in a row whose training failed, something is wrong with the set-up.
GIVE_UP_AFTER = 3

#: Seconds between two looks at what other processes do, when the rest is theirs.
WAIT_FOR_OTHERS = 0.5


class Rounds:
    """Asks the selector for trials, lends those that are left over, and says when to stop.

    Args:
        study: The study.
        tell: Called with every `Event`.
        leases: Those of this process.
        rules: When to stop.
        budget: Number of finished policies in all, if that is limited.
    """

    def __init__(
        self,
        study: Study,
        tell: Callback,
        leases: LeaseHolder,
        rules: Sequence[StopRule],
        budget: int | None,
    ) -> None:
        self.study, self.tell, self.leases = study, tell, leases
        self.rules, self.budget = rules, budget
        self._begun, self._before, self._failures = time.monotonic(), study.n_finished, 0

    def stop_reason(self, *, waiting: bool) -> str | None:
        """Why to stop now, in words; None to continue.

        Args:
            waiting: Whether something was asked for and is not done: most rules wait for that.
        """
        done = self.study.n_finished - self._before
        mean = (time.monotonic() - self._begun) / done if done > 0 else None
        standing = self._standing(mean)
        for rule in self.rules:
            if not waiting or rule.even_if_pending:
                reason = rule.reason(standing)
                if reason is not None:
                    return reason
        return None

    def claim(self) -> list[Trial]:
        """The pending trials that are trained by this process; what others have is theirs."""
        return self.leases.claim([t for t in self.study.pending if t.run is not None])

    def ask(self) -> list[Trial]:
        """The next trials, as many as are trained side by side; none if the rest is others'.

        Raises:
            ExhaustedError: If there is nothing left to ask for.
        """
        with self.study.alone():
            wanted = self.study.configuration.batch
            if self.budget is not None:
                # What is under way, here or elsewhere, will be finished too.
                under_way = sum(t.run is not None for t in self.study.pending)
                wanted = min(wanted, self.budget - self.study.n_finished - under_way)
            if wanted < 1:
                return []
            begun = time.monotonic()
            chosen = self.study.selector.next_trials(wanted)
            asked = [trial.updated(run=TrainingRun()) for trial in chosen]
            self.study.record(
                *asked,
                seconds={(asked[0].id, "choosing"): time.monotonic() - begun},
                leases=self.leases.lend(asked),
            )
        for trial in asked:
            self.tell(Event("asked", trial))
        return asked

    def wait_for_others(self) -> None:
        """Pause while what is left is other processes'."""
        for trial in self.study.pending[:1]:
            self.tell(Event("waiting", trial))
        time.sleep(WAIT_FOR_OTHERS)

    def exhausted(self) -> str:
        """Why to stop when there is nothing left to ask for."""
        others = ", or asked for elsewhere" if self.study.pending else ""
        return f"every target has been trained on{others}"

    def count_failures(self, numbers: Iterable[int]) -> None:
        """Take note of trials that were worked on.

        Raises:
            StudyError: If too many in a row have failed.
        """
        for trial in (self.study.trials[number] for number in numbers):
            if trial.status == "finished":
                self._failures = 0
            self._failures += trial.status == "failed"  # a retry to come is neither
            if self._failures >= GIVE_UP_AFTER:
                raise self._gave_up(trial)

    def _gave_up(self, trial: Trial) -> StudyError:
        run, path = run_of(trial), self.study.path
        error = run.errors[-1].rstrip(".") if run.errors else "it was reported as failed elsewhere"
        if run.policy_sha256 is None:
            return StudyError(
                f"Training failed on {self._failures} contexts in a row, the last time with: "
                f"{error}. Fix the cause, then: sdmbtl resume {path} --retry-failed"
            )
        return StudyError(
            f"Training or evaluation failed on {self._failures} contexts in a row, the last time "
            f"with: {error}. Policies that were trained are kept. Fix the cause, then: sdmbtl "
            f"evaluate {path} --missing"
        )

    def _standing(self, seconds_per_policy: float | None) -> Standing:
        rows = self.study.selector.rows
        curve = np.fmax.accumulate(rows.returns, axis=0) if len(rows) else rows.returns
        known = self.study.return_range
        complete = known is not None and len(rows) > 0 and bool((rows.best >= known[1]).all())
        return Standing(
            performances=[mean_of(best) for best in curve],
            span=self.study.return_span,
            best_possible=complete,
            seconds_per_policy=seconds_per_policy,
            steps=self.study.steps,
            batch=self.study.configuration.batch,
            remaining_gain=self.study.remaining_gain,
            range_known=known is not None,
            failed=self._failed_positions,
        )

    def _failed_positions(self) -> set[int]:
        """Which of the finished policies, in their order, come from a run that probably failed."""
        failed = set(self.study.selector.failed_runs())
        finished = [t.id for t in self.study.trials if t.row is not None]
        return {position for position, number in enumerate(finished) if number in failed}


def check_checkpoints(study: Study) -> None:
    """Refuse what is not a file in the place of checkpoints: it would be read or waited for.

    Raises:
        StudyError: If there is any.
    """
    folder = study.path / "checkpoints"
    for path in [folder / "any", *folder.glob("*.npz")]:
        found = obstacle(path, study.path)
        if found is not None:
            raise StudyError(
                f"Cannot use {str(folder)!r}: {found}. Move it away, then: sdmbtl resume "
                f"{study.path}"
            )
