"""The loop of a study: ask, train, evaluate, tell; every step recorded before the next."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.callbacks import Callback, Event, Pace, Stage
from sdmbtl.errors import ExhaustedError, StudyError
from sdmbtl.files import write_atomically
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
    from sdmbtl.trainers import Checkpoints, Failure, Training, TrainingJob

#: After so many contexts in a row whose training failed, something is wrong with the set-up.
GIVE_UP_AFTER = 3

#: The whole space is trained on so many times as many contexts as another region.
WHOLE_SPACE = 4


class Loop:
    """Trains and evaluates what a study's selector chooses.

    Args:
        study: The study, locked by the caller.
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

    def run(self, rules: Sequence[StopRule], budget: int | None) -> str:
        """Continue until a rule holds; returns why it stopped."""
        begun, before, failures = time.monotonic(), self.study.n_finished, 0
        while True:
            done = self.study.n_finished - before
            mean = (time.monotonic() - begun) / done if done else None
            standing = self._standing(mean)
            for rule in rules:
                if self.study.pending and not rule.even_if_pending:
                    continue
                reason = rule.reason(standing)
                if reason is not None:
                    return reason
            try:
                waiting = self.study.pending[: self.study.configuration.batch]
                round_trials = waiting or self._ask_batch(budget)
            except ExhaustedError:
                return "every target has been trained on"
            self._work(round_trials)
            for trial in (self.study.trials[t.id] for t in round_trials):
                if trial.status == "finished":
                    failures = 0
                failures += trial.status == "failed"  # a retry to come is neither
                if failures >= GIVE_UP_AFTER:
                    raise self._gave_up(trial, failures)

    def evaluate_missing(self) -> None:
        """Evaluate each policy that is here on the targets on which it was not."""
        for trial in self.study.trained:
            missing = trial.row is None or np.isnan(trial.row).any()
            is_here = self.study.policy_state(trial) == "intact"
            if trial.status in ("finished", "failed") and missing and is_here:
                self._evaluate(trial)

    def _gave_up(self, trial: Trial, failures: int) -> StudyError:
        run, path = _run(trial), self.study.path
        error = run.errors[-1].rstrip(".")
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
        wanted = self.study.configuration.batch
        if budget is not None:
            wanted = min(wanted, budget - self.study.n_finished)
        begun = time.monotonic()
        asked = self.study.selector.next_trials(wanted)
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
                f"Policy {trial.id} starts from policy {parent.id}, whose file is {state}. Let it "
                f"be trained again: sdmbtl doctor {self.study.path} --repair, then: sdmbtl resume "
                f"{self.study.path}"
            )
        what = "was trained elsewhere" if parent.status == "finished" else f"is {parent.status}"
        error = f"StudyError: it starts from policy {parent.id}, which {what}: no weights are here"
        run = replace(_run(trial), errors=(*_run(trial).errors, error))
        failed = trial.updated(run=run, status="failed")
        self.study.record(failed)
        self.tell(Event("failed", failed))
        return False

    def _wrong_parent(self, trial: Trial) -> StudyError:
        return StudyError(
            f"Policy {trial.id} starts from policy {trial.parent}, which is not an earlier one. "
            f"See: sdmbtl doctor {self.study.path}"
        )

    def _train(self, trials: list[Trial]) -> None:
        from sdmbtl.trainers import Failure, train

        pace, count = Pace(), len(trials)

        def progress(steps: int, total: int, mean_return: float) -> None:
            speed = pace.steps_per_second(steps)
            stage: Stage = "training" if steps else "compiling"
            self.tell(Event(stage, trials[0], steps, total, mean_return, speed, count))

        jobs = [self._job(trial) for trial in trials]
        begun = time.monotonic()
        results = train(self.study.training, jobs, progress, self.checkpoints)
        seconds = {(trials[0].id, "training"): time.monotonic() - begun}
        events = [
            Event("failed", self._retry_or_give_up(trial, result))
            if isinstance(result, Failure)
            else Event("trained", self._save(trial, job, result))
            for trial, job, result in zip(trials, jobs, results, strict=True)
        ]
        # All of a batch at once: a part of it would be trained in other company, and differ.
        self.study.record(*[event.trial for event in events], seconds=seconds)
        if self.checkpoints is not None:
            self.checkpoints.clear()
        for event in events:
            self.tell(event)

    def _job(self, trial: Trial) -> TrainingJob:
        from sdmbtl.trainers import TrainingJob

        configuration, source = self.study.configuration, trial.source
        attempt = _run(trial).attempt
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

    def _save(self, trial: Trial, job: TrainingJob, training: Training) -> Trial:
        """Write the policy file; the trial as it is to be recorded then."""
        notes = {"id": trial.id, "context": trial.context, "seed": job.seed}
        notes |= {k: v for k, v in trial.source.to_dict().items() if k in ("width", "parent")}
        content = policy_bytes(training.policy, {**notes, "steps": training.steps})
        path = self.study.policy_path(trial.id)
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
        )
        return trial.updated(run=run)

    def _evaluate(self, trial: Trial) -> None:
        """Evaluate a policy on the targets on which it was not, and record that."""
        begun = time.monotonic()
        returns, own, errors = self._returns(trial)
        row = mean_over_episodes(returns)
        if np.isnan(row).all():
            first = errors[min(errors)]
            error = f"The evaluation failed on all {len(row)} targets. The first error: {first}"
            run = replace(_run(trial), errors=(*_run(trial).errors, error))
            evaluated = trial.updated(run=run, status="failed")
        else:
            evaluated = self.study.selector.reported_trial(
                trial, row, source_return=own, correct=True
            )
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
