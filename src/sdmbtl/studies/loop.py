"""The loop of a study: ask, train, evaluate, tell; every step recorded before the next."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.callbacks import Callback, Event, Pace
from sdmbtl.errors import ExhaustedError, StudyError
from sdmbtl.files import obstacle, write_atomically
from sdmbtl.parallel import Workers
from sdmbtl.policies import load_policy, policy_bytes
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.database import cannot_write, mean_over_episodes
from sdmbtl.studies.random_actions import no_better_warning
from sdmbtl.studies.stopping import Standing, StopRule
from sdmbtl.transfer import mean_of

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.trainers import Checkpoints, Failure, Report, Training, TrainingJob

_log = logging.getLogger(__name__)

#: After so many contexts in a row whose training failed, something is wrong with the set-up.
GIVE_UP_AFTER = 3

#: The whole space is trained on so many times as many contexts as another region.
WHOLE_SPACE = 4


class Loop:
    """Trains and evaluates what a study's selector chooses.

    The study is locked only while something is written. What other processes have recorded until
    then is taken over first, and is never replaced.

    Args:
        study: The study, which no other process runs.
        tell: Called with every `Event`.
        workers: Processes that help with evaluations.
        checkpoint_seconds: Time between two checkpoints of a training run; None for none.
    """

    def __init__(
        self,
        study: Study,
        tell: Callback,
        workers: Workers,
        checkpoint_seconds: float | None = None,
    ) -> None:
        from sdmbtl.trainers import Checkpoints

        self.study = study
        self.tell = tell
        self.workers = workers
        self.checkpoints: Checkpoints | None = None
        if checkpoint_seconds is not None:
            self.checkpoints = Checkpoints.of_study(study.path, checkpoint_seconds)

    def run(
        self, rules: Sequence[StopRule], budget: int | None, *, retrain_missing: bool = False
    ) -> str:
        """Continue until a rule holds; returns why it stopped."""
        if retrain_missing:
            self._retrain_missing()
        begun, before, failures = time.monotonic(), self.study.n_finished, 0
        while True:
            self.study.refresh()
            done = self.study.n_finished - before
            mean = (time.monotonic() - begun) / done if done > 0 else None
            standing, waiting = self._standing(mean), self._waiting()
            for rule in rules:
                if waiting and not rule.even_if_pending:
                    continue
                reason = rule.reason(standing)
                if reason is not None:
                    return reason
            try:
                round_trials = waiting or self._ask_batch(budget)
            except ExhaustedError:
                others = ", or asked for elsewhere" if self.study.pending else ""
                return f"every target has been trained on{others}"
            self._work(round_trials)
            for trial in (self.study.trials[t.id] for t in round_trials):
                if trial.status == "finished":
                    failures = 0
                failures += trial.status == "failed"  # a retry to come is neither
                if failures >= GIVE_UP_AFTER:
                    raise self._gave_up(trial, failures)

    def _waiting(self) -> list[Trial]:
        """The next trials to be trained or evaluated here; those of other askers are theirs."""
        own = [t for t in self.study.pending if t.run is not None]
        return own[: self.study.configuration.batch]

    def _retrain_missing(self) -> None:
        """Train finished policies again whose file is missing or damaged.

        Each in the company in which it was trained, so that the same comes out.
        """
        lost = [
            trial
            for trial in self.study.trained
            if trial.status == "finished" and self.study.policy_state(trial) != "intact"
        ]
        for company in dict.fromkeys(_run(trial).company for trial in lost):  # parents come first
            members = [t for t in lost if _run(t).company == company]
            ready = [t for t in members if self._parent_is_here(t)]
            for trial in members:
                if trial not in ready:
                    _log.warning(
                        "Policy %d cannot be trained again: policy %s, from which it starts, is "
                        "not here.",
                        trial.id,
                        trial.parent,
                    )
            if ready:
                self._train(ready)

    def evaluate_missing(self) -> None:
        """Evaluate each policy that is here on the targets on which it was not."""
        for number in [trial.id for trial in self.study.trained]:
            trial = self.study.trials[number]  # others may have changed it meanwhile
            missing = trial.row is None or np.isnan(trial.row).any()
            is_here = self.study.policy_state(trial) == "intact"
            if trial.status in ("finished", "failed") and missing and is_here:
                self._evaluate(trial)

    def _gave_up(self, trial: Trial, failures: int) -> StudyError:
        run, path = _run(trial), self.study.path
        error = run.errors[-1].rstrip(".") if run.errors else "it was reported as failed elsewhere"
        if run.policy_sha256 is None:
            return StudyError(
                f"Training failed on {failures} contexts in a row, the last time with: {error}. "
                f"Fix the cause, then: sdmbtl resume {path} --retry-failed"
            )
        return StudyError(
            f"Training or evaluation failed on {failures} contexts in a row, the last time with: "
            f"{error}. Policies that were trained are kept. Fix the cause, then: sdmbtl evaluate "
            f"{path} --missing"
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

    def _ask_batch(self, budget: int | None) -> list[Trial]:
        with self.study.alone():
            wanted = self.study.configuration.batch
            if budget is not None:
                wanted = min(wanted, budget - self.study.n_finished)
            if wanted < 1:
                return []  # others have reported meanwhile
            begun = time.monotonic()
            chosen = self.study.selector.next_trials(wanted)
            asked = [trial.updated(run=TrainingRun()) for trial in chosen]
            self.study.record(*asked, seconds={(asked[0].id, "choosing"): time.monotonic() - begun})
        for trial in asked:
            self.tell(Event("asked", trial))
        return asked

    def _work(self, trials: list[Trial]) -> None:
        """Train what is not trained, evaluate what is not evaluated."""
        untrained = [t for t in trials if self.study.policy_state(t) != "intact"]
        while untrained:
            # A policy that was lost is trained again before those that start from it.
            lost = {t.id for t in untrained}
            later = [t for t in untrained if t.parent in lost]
            ready = [t for t in untrained if t not in later and self._has_its_parent(t)]
            if len(later) == len(untrained):
                raise self._wrong_parent(later[0])
            if ready:
                self._train(ready)
            if later:  # what a policy is trained on may depend on its parent's row
                self._evaluate_trained(ready)
            untrained = later
        self._evaluate_trained(trials)

    def _evaluate_trained(self, trials: Sequence[Trial]) -> None:
        """Evaluate what is trained and not evaluated."""
        for number in [t.id for t in trials]:
            trial = self.study.trials[number]
            if trial.status == "pending" and _run(trial).policy_sha256 is not None:
                self._evaluate(trial)

    def _has_its_parent(self, trial: Trial) -> bool:
        """Whether the policy that a trial starts from is here; if it never will be, give up.

        Raises:
            StudyError: If its file is lost and can be made again.
        """
        if trial.parent is None:
            return True
        if trial.parent >= trial.id:
            raise self._wrong_parent(trial)
        parent = self.study.trials[trial.parent]
        state = self.study.policy_state(parent)
        if state == "intact" or parent.status == "pending":  # which is tried again before
            return state == "intact"
        if parent.status == "finished" and _run(parent).policy_sha256 is not None:
            raise StudyError(
                f"Policy {trial.id} starts from policy {parent.id}, whose file is {state}. Bring "
                f"it back, or let it be trained again: sdmbtl resume {self.study.path} "
                "--retrain-missing"
            )
        what = "was trained elsewhere" if parent.status == "finished" else f"is {parent.status}"
        error = f"StudyError: it starts from policy {parent.id}, which {what}: no weights are here"
        run = replace(_run(trial), errors=(*_run(trial).errors, error))
        with self.study.alone():
            if not self._is_unchanged(trial):
                return False
            failed = self.study.trials[trial.id].updated(run=run, status="failed")
            self.study.record(failed)
        self.tell(Event("failed", failed))
        return False

    def _parent_is_here(self, trial: Trial) -> bool:
        """Whether the policy that a trial starts from is here, if there is one."""
        if trial.parent is None:
            return True
        return self.study.policy_state(self.study.trials[trial.parent]) == "intact"

    def _is_unchanged(self, before: Trial) -> bool:
        """Whether nobody has reported something else of a trial meanwhile: that stays."""
        now = self.study.trials[before.id]
        if now.status == before.status and _same_row(now, before):
            return True
        _log.warning(
            "Policy %d was reported elsewhere as %s while it was worked on here. That stays.",
            now.id,
            now.status,
        )
        return False

    def _wrong_parent(self, trial: Trial) -> StudyError:
        return StudyError(
            f"Policy {trial.id} starts from policy {trial.parent}, which is not an earlier one. "
            f"See: sdmbtl doctor {self.study.path}"
        )

    def _train(self, trials: list[Trial]) -> None:
        """Train trials: new ones with one another, those that are lost as they were trained."""
        companies = dict.fromkeys(_run(trial).company for trial in trials)
        for company in companies:
            members = [t for t in trials if _run(t).company == company]
            everyone = [t.id for t, _ in self._members(company)]
            if set(everyone) >= {t.id for t in members}:
                self._train_together(self._members(company), members)
            else:
                self._train_together([(t, _run(t).attempt) for t in members], members)

    def _members(self, company: Sequence[tuple[int, int]]) -> list[tuple[Trial, int]]:
        """The trials of a company, and which attempt each was; without those that cannot be."""
        trials = [(self.study.trials[number], attempt) for number, attempt in company]
        return [(trial, attempt) for trial, attempt in trials if self._parent_is_here(trial)]

    def _train_together(
        self, everyone: Sequence[tuple[Trial, int]], wanted: Sequence[Trial]
    ) -> None:
        """Train trials side by side.

        Args:
            everyone: The trials, and which attempt each is.
            wanted: Those whose policies are to be kept.
        """
        from sdmbtl.trainers import train

        pace, count, begun = Pace(), len(everyone), time.monotonic()

        def progress(report: Report) -> None:
            speed = pace.steps_per_second(report.steps)
            self.tell(Event.of(report, wanted[0], speed, count))

        def keep(results: Mapping[int, Training | Failure]) -> None:
            nonlocal begun
            company = tuple((everyone[place][0].id, everyone[place][1]) for place in results)
            outcomes = [
                (everyone[place][0], jobs[place], result)
                for place, result in results.items()
                if everyone[place][0].id in {trial.id for trial in wanted}
            ]
            begun, seconds = time.monotonic(), time.monotonic() - begun
            self._keep(outcomes, company, seconds)

        self._check_checkpoints()
        jobs = [self._job(trial, attempt) for trial, attempt in everyone]
        # What was trained side by side is recorded at once: a part of it would be trained in other
        # company after a kill, and differ.
        train(self.study.training, jobs, progress, self.checkpoints, keep)
        if self.checkpoints is not None:
            self.checkpoints.clear()

    def _keep(
        self,
        outcomes: Sequence[tuple[Trial, TrainingJob, Training | Failure]],
        company: tuple[tuple[int, int], ...],
        seconds: float,
    ) -> None:
        """Save and record what came out of training, for each trial and job."""
        from sdmbtl.trainers import Failure

        lost = [o for o in outcomes if o[0].status == "finished"]
        for trial, job, result in lost:
            self._bring_back(trial, job, result, company)
        events = [
            Event("failed", self._retry_or_give_up(trial, result))
            if isinstance(result, Failure)
            else Event("trained", self._save(trial, job, result, company))
            for trial, job, result in outcomes
            if trial.status != "finished"
        ]
        if not events:
            return
        with self.study.alone():
            events = [event for event in events if self._is_unchanged_pending(event.trial)]
            self.study.record(
                *[self._merged(event.trial) for event in events],
                seconds={(event.trial.id, "training"): seconds for event in events[:1]},
            )
        for event in events:
            self.tell(event)

    def _is_unchanged_pending(self, trained: Trial) -> bool:
        """Whether a trial is still to be trained; if it is not, its policy is not kept."""
        if self._is_unchanged(trained.updated(status="pending")):
            return True
        self.study.policy_path(trained.id).unlink(missing_ok=True)
        return False

    def _merged(self, trial: Trial) -> Trial:
        """A trial as it is to be recorded: with what others have attached to it meanwhile."""
        return trial.updated(attributes=self.study.trials[trial.id].attributes)

    def _bring_back(
        self,
        trial: Trial,
        job: TrainingJob,
        result: Training | Failure,
        company: tuple[tuple[int, int], ...],
    ) -> None:
        """Put the policy of a finished trial back; if it is the same, its returns stay."""
        from sdmbtl.trainers import Failure

        if isinstance(result, Failure):
            _log.warning("Policy %d could not be trained again: %s", trial.id, result.error)
            return
        again = self._save(trial, job, result, company)
        if _run(again).policy_sha256 != _run(trial).policy_sha256:
            _log.warning(
                "Policy %d, trained again, differs from the one that was lost, as with other "
                "releases of packages. It is evaluated anew.",
                trial.id,
            )
            self._evaluate(again.updated(row=None, source_return=None))
        self.tell(Event("trained", self.study.trials[trial.id]))

    def _check_checkpoints(self) -> None:
        """Refuse what is not a file in the place of checkpoints: it would be read or waited for.

        Raises:
            StudyError: If there is any.
        """
        folder = self.study.path / "checkpoints"
        for path in [folder / "any", *folder.glob("*.npz")]:
            found = obstacle(path, self.study.path)
            if found is not None:
                raise StudyError(
                    f"Cannot use {str(folder)!r}: {found}. Move it away, then: sdmbtl resume "
                    f"{self.study.path}"
                )

    def _job(self, trial: Trial, attempt: int) -> TrainingJob:
        from sdmbtl.trainers import TrainingJob

        configuration, source = self.study.configuration, trial.source
        return TrainingJob(
            self._contexts(trial),
            derived_seed(configuration.seed, "train", trial.id, attempt),
            attempt,
            None if source.parent is None else load_policy(self.study.policy_path(source.parent)),
            source.steps,
        )

    def _contexts(self, trial: Trial) -> NDArray[np.float64]:
        """(m, D) contexts that a trial is trained on."""
        configuration, source, space = self.study.configuration, trial.source, self.study.space
        rng = np.random.default_rng(seed_sequence(configuration.seed, "region", trial.id))
        if not space.is_whole(source):
            return space.draw(source, configuration.region_contexts, rng)
        # One that continues is trained where its parent falls short: that row was there when the
        # trial was asked for, so a policy that is lost and trained again gets the same contexts.
        row = None if source.parent is None else self.study.trials[source.parent].row
        return space.draw(source, WHOLE_SPACE * configuration.region_contexts, rng, row)

    def _save(
        self,
        trial: Trial,
        job: TrainingJob,
        training: Training,
        company: tuple[tuple[int, int], ...],
    ) -> Trial:
        """Write the policy file; the trial as it is to be recorded then."""
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
            write_atomically(path, content)
        except OSError as error:
            raise cannot_write(path, error.strerror or error, self.study.path) from None
        self.tell(Event("saved", trial))
        run = replace(
            _run(trial),
            steps=int(training.steps),  # numbers of NumPy are not JSON
            training_return=float(training.source_return),
            curve=tuple((int(steps), float(value)) for steps, value in training.curve),
            policy_sha256=hashlib.sha256(content).hexdigest(),
            company=company,
        )
        return trial.updated(run=run)

    def _evaluate(self, trial: Trial) -> None:
        """Evaluate a policy on the targets on which it was not, and record that."""
        begun, before = time.monotonic(), self.study.trials[trial.id]
        returns, own, errors = self._returns(trial)
        if np.isnan(returns).all() and before.row is not None:
            _log.warning(
                "The evaluation of policy %d failed on all targets; its returns stay as they were.",
                trial.id,
            )
            return
        with self.study.alone():
            if not self._is_unchanged(before):
                return
            evaluated = self._evaluated(trial, mean_over_episodes(returns), own, errors)
            self.study.record(
                evaluated,
                episodes={} if evaluated.row is None else {trial.id: returns},
                errors={trial.id: errors},
                seconds={(trial.id, "evaluation"): time.monotonic() - begun},
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
        run = replace(_run(trial), errors=(*_run(trial).errors, error))
        return self._merged(trial.updated(run=run, status="failed", row=None))

    def _returns(self, trial: Trial) -> tuple[NDArray[np.float64], float | None, dict[int, str]]:
        """(N, E) returns on the targets, the mean on a point that is not one, and the errors.

        What is known already stays as it is.
        """
        from sdmbtl.trainers import evaluate

        def progress(done: int, total: int) -> None:
            self.tell(Event("evaluating", trial, done, total))

        contexts, known = self.study.space.targets, self._known(trial)
        missing = np.flatnonzero(np.isnan(known).all(axis=1)).tolist()
        own = None
        if trial.source.is_point and trial.index is None:
            own = trial.source_return
            missing += [len(contexts)] if own is None else []
            contexts = np.vstack([contexts, trial.source.vector])
        progress(0, len(missing))
        played = evaluate(
            self.study.training,
            load_policy(self.study.policy_path(trial.id)),
            contexts,
            episodes=known.shape[1],
            seed=derived_seed(self.study.configuration.seed, "evaluate", trial.id),
            only=missing,
            progress=progress,
            workers=self.workers,
        )
        returns, errors = played.returns[: len(known)], dict(played.errors)
        if len(known) in missing and errors.pop(len(known), None) is None:
            own = mean_of(played.returns[-1])
        return np.where(np.isnan(known), returns, known), own, errors

    def _known(self, trial: Trial) -> NDArray[np.float64]:
        """(N, E) returns of a trial's policy so far, NaN where it was not evaluated."""
        if trial.row is None:
            return np.full((len(self.study.space), self.study.configuration.episodes), np.nan)
        return self.study.database.episodes().get(trial.id, trial.row[:, None])

    def _retry_or_give_up(self, trial: Trial, failure: Failure) -> Trial:
        """The trial after a failure: to be retried with another seed, or given up."""
        retry = failure.attempt < self.study.configuration.retries
        attempt = failure.attempt + 1 if retry else failure.attempt
        run = TrainingRun(attempt, (*_run(trial).errors, failure.error))
        return trial.updated(run=run, status=trial.status if retry else "failed")


def _run(trial: Trial) -> TrainingRun:
    return trial.run or TrainingRun()


def _same_row(one: Trial, other: Trial) -> bool:
    if one.row is None or other.row is None:
        return one.row is other.row
    return np.array_equal(one.row, other.row, equal_nan=True)
