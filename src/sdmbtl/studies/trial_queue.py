"""The next trials to work on, and the decision to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from sdmbtl.callbacks import Callback, Event
from sdmbtl.errors import StudyError
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.jobs import training_run
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.recording import is_code_error
from sdmbtl.studies.stopping import Standing, StopRule
from sdmbtl.studies.trial_log import TrialLog

#: After this many contexts in a row whose training failed, something is wrong with the set-up.
GIVE_UP_AFTER = 3

#: Seconds between two looks at what other processes do, when the rest is theirs.
WAIT_FOR_OTHERS = 0.5


class TrialQueue:
    """Takes pending trials, asks the selector for more, and says when to stop.

    Args:
        log: The trials.
        leases: Those of this run.
        tell: Called with every `Event`.
        rules: When to stop.
        budget: Number of finished policies in all, if that is limited.
        batch: Number of policies that are asked for at once.
        standing: Returns where the study stands, given the mean seconds for one policy.
    """

    def __init__(
        self,
        log: TrialLog,
        leases: LeaseKeeper,
        tell: Callback,
        rules: Sequence[StopRule],
        budget: int | None,
        batch: int,
        standing: Callable[[float | None], Standing],
    ) -> None:
        self.log, self.leases, self.tell = log, leases, tell
        self.rules, self.budget, self.batch, self.standing = rules, budget, batch, standing
        self._begun, self._before, self._failures = time.monotonic(), log.n_finished, 0

    def stop_reason(self, *, waiting: bool) -> str | None:
        """Return why to stop now; None to continue.

        Args:
            waiting: Whether something was asked for and is not done: most rules wait for that.
        """
        rules = [rule for rule in self.rules if not waiting or rule.even_if_pending]
        if not rules:
            return None
        done = self.log.n_finished - self._before
        standing = self.standing((time.monotonic() - self._begun) / done if done > 0 else None)
        return next((reason for rule in rules if (reason := rule.reason(standing))), None)

    def claim(self) -> list[Trial]:
        """Return the pending trials that this run trains; those of others are left to them."""
        return self.leases.claim([t for t in self.log.pending if t.run is not None])

    def ask(self) -> list[Trial]:
        """Ask for the next trials, as many as a batch has; none if the rest is that of others.

        Raises:
            ExhaustedError: If there is nothing left to ask for.
        """
        with self.log.write_lock():
            wanted = self.batch
            if self.budget is not None:
                # What is under way, here or elsewhere, will be finished too.
                under_way = sum(t.run is not None for t in self.log.pending)
                wanted = min(wanted, self.budget - self.log.n_finished - under_way)
            if wanted < 1:
                return []
            begun = time.monotonic()
            chosen = self.log.selector.next_trials(wanted)
            asked = [trial.updated(run=TrainingRun()) for trial in chosen]
            choosing = {(asked[0].id, "choosing"): time.monotonic() - begun}
            self.log.record(*asked, seconds=choosing)
            for trial in asked:
                self.leases.take(trial.id)
        for trial in asked:
            self.tell(Event("asked", trial))
        return asked

    def wait_for_others(self) -> None:
        """Pause while what is left is other processes'."""
        for trial in self.log.pending[:1]:
            self.tell(Event("waiting", trial))
        time.sleep(WAIT_FOR_OTHERS)

    def count_failures(self, numbers: Iterable[int]) -> None:
        """Count trials in a row that have failed.

        Raises:
            StudyError: If there are too many, or the code of the environment is wrong.
        """
        for trial in (self.log.trials[number] for number in numbers):
            if trial.status == "finished":
                self._failures = 0
            if trial.status != "failed":  # a retry to come is neither
                continue
            self._failures += 1
            errors = training_run(trial).errors
            is_hopeless = not self.log.n_finished and is_code_error("".join(errors[-1:]))
            if self._failures >= GIVE_UP_AFTER or is_hopeless:
                raise self._gave_up(trial)

    def _gave_up(self, trial: Trial) -> StudyError:
        run, path = training_run(trial), self.log.store.path.parent
        error = run.errors[-1].rstrip(".") if run.errors else "it was reported as failed elsewhere"
        what, way_out = "Training", f"sdmbtl resume {path} --retry-failed"
        way_out += ", with --accept-changes if you have edited the environments"
        if run.policy_sha256 is not None:
            what, way_out = "Training or evaluation", f"sdmbtl evaluate {path} --missing"
        where = "a context" if self._failures == 1 else f"{self._failures} contexts in a row"
        return StudyError(
            f"{what} failed on {where}, the last time with: {error}. Policies that were trained "
            f"are kept. Fix the cause, then: {way_out}"
        )
