"""What training and evaluation give, on record: saved and written before anything else is done."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.callbacks import Callback, Event
from sdmbtl.errors import StudyError
from sdmbtl.files import PreparedFile, obstacle
from sdmbtl.policies import load_policy, policy_bytes
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.database import cannot_write, mean_over_episodes
from sdmbtl.studies.lease_holder import LeaseHolder
from sdmbtl.studies.random_actions import no_better_warning

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Failure, Training, TrainingJob

_log = logging.getLogger(__name__)

#: The whole space is trained on so many times as many contexts as another region.
WHOLE_SPACE = 4

#: A trial, what was trained for it, and what came out.
Outcome = tuple[Trial, "TrainingJob", "Training | Failure"]

#: Id and attempt of each trial that was trained side by side.
Company = tuple[tuple[int, int], ...]


class Recorder:
    """Makes jobs of a study's trials, and records what becomes of them.

    The study is locked only while something is written. What other processes have recorded until
    then is taken over first, and is never replaced; a result of a trial that was lost to another
    process meanwhile is kept as superseded and does not count.

    Args:
        study: The study.
        tell: Called with every `Event`.
        leases: Those of this process.
    """

    def __init__(self, study: Study, tell: Callback, leases: LeaseHolder) -> None:
        self.study, self.tell, self.leases = study, tell, leases

    # -- jobs ----------------------------------------------------------------------------------

    def job(self, trial: Trial, attempt: int) -> TrainingJob:
        """What is trained for a trial."""
        from sdmbtl.training import TrainingJob

        source = trial.source
        return TrainingJob(
            self.contexts(trial),
            derived_seed(self.study.configuration.seed, "train", trial.id, attempt),
            attempt,
            None if source.parent is None else load_policy(self.study.policy_path(source.parent)),
            source.steps,
        )

    def contexts(self, trial: Trial) -> NDArray[np.float64]:
        """(m, D) contexts that a trial is trained on."""
        configuration, source, space = self.study.configuration, trial.source, self.study.space
        rng = np.random.default_rng(seed_sequence(configuration.seed, "region", trial.id))
        if not space.is_whole(source):
            return space.draw(source, configuration.region_contexts, rng)
        # One that continues is trained where its parent falls short: that row was there when the
        # trial was asked for, so a policy that is lost and trained again gets the same contexts.
        row = None if source.parent is None else self.study.trials[source.parent].row
        return space.draw(source, WHOLE_SPACE * configuration.region_contexts, rng, row)

    def known_returns(self, trial: Trial) -> NDArray[np.float64]:
        """(N, E) returns of a trial's policy so far, NaN where it was not evaluated."""
        if trial.row is None:
            return np.full((len(self.study.space), self.study.configuration.episodes), np.nan)
        return self.study.database.episodes().get(trial.id, trial.row[:, None])

    def evaluation_seed(self, trial: Trial) -> int:
        """The seed of the episodes that a trial's policy is evaluated in."""
        return derived_seed(self.study.configuration.seed, "evaluate", trial.id)

    # -- what was trained ----------------------------------------------------------------------

    def keep_trained(self, outcomes: Sequence[Outcome], company: Company, seconds: float) -> None:
        """Save and record what came out of training, for each pending trial."""
        from sdmbtl.training import Failure

        files: dict[int, PreparedFile] = {}
        events: list[Event] = []
        try:
            for trial, job, result in outcomes:
                if isinstance(result, Failure):
                    events.append(Event("failed", self._retry_or_give_up(trial, result)))
                else:
                    after, files[trial.id] = self.prepare(trial, job, result, company)
                    events.append(Event("trained", after))
            with self.study.alone():
                events = [event for event in events if self._still_wanted(event.trial, files)]
                for event in events:
                    if event.trial.id in files:
                        self.put(files[event.trial.id], event.trial)
                ended = [e.trial for e in events if e.trial.status == "failed"]
                self.study.record(
                    *[self.merged(event.trial) for event in events],
                    seconds={(event.trial.id, "training"): seconds for event in events[:1]},
                    leases={n: x for t in ended for n, x in self.leases.give_back(t.id).items()},
                )
        finally:
            for file in files.values():
                file.drop()
        for event in events:
            self.tell(event)

    def prepare(
        self, trial: Trial, job: TrainingJob, training: Training, company: Company
    ) -> tuple[Trial, PreparedFile]:
        """Write the policy file: the trial as it is to be recorded, and the file to be put."""
        notes = {"id": trial.id, "context": trial.context, "seed": job.seed}
        notes |= {k: v for k, v in trial.source.to_dict().items() if k in ("width", "parent")}
        content = policy_bytes(training.policy, {**notes, "steps": training.steps})
        path = self.study.policy_path(trial.id)
        found = obstacle(path, self.study.path)
        if found is not None:
            way_out = f"Move it away, or run: sdmbtl doctor {self.study.path} --repair"
            raise cannot_write(path, f"{found}. {way_out}", self.study.path)
        try:
            path.parent.mkdir(exist_ok=True)
            file = PreparedFile(path, content)
        except OSError as error:
            raise cannot_write(path, error.strerror or error, self.study.path) from None
        self.tell(Event("saved", trial))
        run = replace(
            run_of(trial),
            steps=int(training.steps),  # numbers of NumPy are not JSON
            training_return=float(training.source_return),
            curve=tuple((int(steps), float(value)) for steps, value in training.curve),
            policy_sha256=hashlib.sha256(content).hexdigest(),
            company=company,
        )
        return trial.updated(run=run), file

    def put(self, file: PreparedFile, trial: Trial) -> None:
        """Put the policy file of a trial in its place.

        Raises:
            StudyError: If it cannot be written.
        """
        try:
            file.put()
        except OSError as error:
            file.drop()
            path = self.study.policy_path(trial.id)
            raise cannot_write(path, error.strerror or error, self.study.path) from None

    def _still_wanted(self, trained: Trial, files: Mapping[int, PreparedFile]) -> bool:
        """Whether a trial is still to be trained, by this process."""
        if self.leases.is_lost(trained.id):
            if trained.id in files:
                run = run_of(trained)
                what = f"policy {run.policy_sha256} with a training return of {run.training_return}"
                self._supersede(trained.id, what)
            self.leases.forget(trained.id)
            return False
        return self.is_unchanged(trained.updated(status="pending"))

    def _retry_or_give_up(self, trial: Trial, failure: Failure) -> Trial:
        """The trial after a failure: to be retried with another seed, or given up."""
        retry = failure.attempt < self.study.configuration.retries
        attempt = failure.attempt + 1 if retry else failure.attempt
        run = TrainingRun(attempt, (*run_of(trial).errors, failure.error))
        return trial.updated(run=run, status=trial.status if retry else "failed")

    # -- what was evaluated --------------------------------------------------------------------

    def keep_evaluated(
        self,
        before: Trial,
        trial: Trial,
        returns: NDArray[np.float64],
        own: float | None,
        errors: Mapping[int, str],
        seconds: float,
    ) -> None:
        """Record the returns of a policy.

        Args:
            before: The trial as it was on record when the evaluation began.
            trial: The trial that was evaluated.
            returns: (N, E) its returns, NaN where the evaluation failed.
            own: The mean return on its source, if that is a point that is not a target.
            errors: What went wrong, by target.
            seconds: How long it took.
        """
        if np.isnan(returns).all() and before.row is not None:
            _log.warning(
                "The evaluation of policy %d failed on all targets; its returns stay as they were.",
                trial.id,
            )
            return
        with self.study.alone():
            if self.leases.is_lost(trial.id):
                self._supersede(trial.id, "a row of returns", mean_over_episodes(returns))
                return
            if not self.is_unchanged(before):
                return
            evaluated = self._evaluated(trial, mean_over_episodes(returns), own, errors)
            self.study.record(
                evaluated,
                episodes={} if evaluated.row is None else {trial.id: returns},
                errors={trial.id: errors},
                seconds={(trial.id, "evaluation"): seconds},
                leases=self.leases.give_back(trial.id),
            )
            self.study.database.back_up()
        if evaluated.row is None:
            self.tell(Event("failed", evaluated))
            return
        warning = no_better_warning(self.study, evaluated, self.study.random_actions)
        self.tell(Event("finished", evaluated, warning=warning))

    def _evaluated(
        self, trial: Trial, row: NDArray[np.float64], own: float | None, errors: Mapping[int, str]
    ) -> Trial:
        """The trial as it is to be recorded after its evaluation."""
        if not np.isnan(row).all():
            reported = self.study.selector.reported_trial(
                trial, row, source_return=own, correct=True
            )
            return reported.updated(run=trial.run)
        first = errors[min(errors)]
        error = f"The evaluation failed on all {len(row)} targets. The first error: {first}"
        run = replace(run_of(trial), errors=(*run_of(trial).errors, error))
        return self.merged(trial.updated(run=run, status="failed", row=None))

    # -- both ----------------------------------------------------------------------------------

    def keep(self, trial: Trial) -> bool:
        """Record a change of a pending trial; returns whether it is still this process's."""
        with self.study.alone():
            if not self._is_ours(trial):
                return False
            self.study.record(self.merged(trial))
        return True

    def give_up(self, trial: Trial, error: str) -> None:
        """Record that a pending trial has failed."""
        run = replace(run_of(trial), errors=(*run_of(trial).errors, error))
        with self.study.alone():
            if not self._is_ours(trial):
                return
            failed = self.study.trials[trial.id].updated(run=run, status="failed")
            self.study.record(failed, leases=self.leases.give_back(trial.id))
        self.tell(Event("failed", failed))

    def _is_ours(self, trial: Trial) -> bool:
        """Whether a trial is still worked on here, and nobody has reported anything of it."""
        if self.leases.is_lost(trial.id):
            self.leases.forget(trial.id)
            return False
        return self.is_unchanged(trial)

    def has_its_parent(self, trial: Trial) -> bool:
        """Whether the policy that a trial starts from is here; if it never will be, give up.

        Raises:
            StudyError: If its file is lost and can be made again.
        """
        if trial.parent is None:
            return True
        if trial.parent >= trial.id:
            raise self.wrong_parent(trial)
        parent = self.study.trials[trial.parent]
        state = self.study.policy_state(parent)
        if state == "intact" or parent.status == "pending":  # which is tried again before
            return state == "intact"
        if parent.status == "finished" and run_of(parent).policy_sha256 is not None:
            raise StudyError(
                f"Policy {trial.id} starts from policy {parent.id}, whose file is {state}. Bring "
                f"it back, or let it be trained again: sdmbtl resume {self.study.path} "
                "--retrain-missing"
            )
        what = "was trained elsewhere" if parent.status == "finished" else f"is {parent.status}"
        self.give_up(
            trial,
            f"StudyError: it starts from policy {parent.id}, which {what}: no weights are here",
        )
        return False

    def wrong_parent(self, trial: Trial) -> StudyError:
        """The error for a trial that starts from a later one."""
        return StudyError(
            f"Policy {trial.id} starts from policy {trial.parent}, which is not an earlier one. "
            f"See: sdmbtl doctor {self.study.path}"
        )

    def is_unchanged(self, before: Trial) -> bool:
        """Whether nobody has reported something else of a trial meanwhile: that stays."""
        now = self.study.trials[before.id]
        if now.status == before.status and _same_row(now, before):
            return True
        self.leases.forget(before.id)
        _log.warning(
            "Policy %d was reported elsewhere as %s while it was worked on here. That stays.",
            now.id,
            now.status,
        )
        return False

    def merged(self, trial: Trial) -> Trial:
        """A trial as it is to be recorded: with what others have attached to it meanwhile."""
        return trial.updated(attributes=self.study.trials[trial.id].attributes)

    def _supersede(self, number: int, what: str, row: NDArray[np.float64] | None = None) -> None:
        """Keep a result that came after its lease was lost, without counting it."""
        self.study.database.add_superseded(number, self.leases.token(number), what, row)
        self.leases.forget(number)
        _log.warning(
            "Policy %d was taken over by another process while this one did not renew its lease. "
            "What came out here is kept as superseded and does not count.",
            number,
        )


def run_of(trial: Trial) -> TrainingRun:
    """How a trial's policy came about so far."""
    return trial.run or TrainingRun()


def _same_row(one: Trial, other: Trial) -> bool:
    if one.row is None or other.row is None:
        return one.row is other.row
    return np.array_equal(one.row, other.row, equal_nan=True)
