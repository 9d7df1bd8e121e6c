"""The loop of a study: ask, train, evaluate, tell; every step recorded before the next."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import ExhaustedError, StudyError, TrainerError, TrainingError
from sdmbtl.files import write_atomically
from sdmbtl.policies import Policy, load_policy, policy_bytes
from sdmbtl.seeds import derived_seed
from sdmbtl.studies.database import TrialRecord
from sdmbtl.studies.events import Event, Observer
from sdmbtl.studies.stopping import Standing, StopRule

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.trainers import Trainer

#: After so many contexts in a row whose training failed, something is wrong with the set-up.
GIVE_UP_AFTER = 3


class _ObserverError(BaseException):
    """Carries an error of the observer past those who handle errors of a training."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


class Loop:
    """Trains and evaluates what a study's selector chooses.

    Args:
        study: The study, locked by the caller.
        tell: Called with every `Event`.
    """

    def __init__(self, study: Study, tell: Observer) -> None:
        self.study = study
        self.tell = tell

    def run(self, rules: Sequence[StopRule], budget: int | None) -> str:
        """Go on until a rule holds; returns why it stopped."""
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
                round_trials = self.study.pending or self._ask_batch(budget)
            except ExhaustedError:
                return "every target has been trained on"
            self._work(round_trials)
            for trial in (self.study.trials[t.id] for t in round_trials):
                if trial.status == "finished":
                    failures = 0
                failures += trial.status == "failed"  # a retry to come is neither
                if failures >= GIVE_UP_AFTER:
                    raise StudyError(
                        f"The training failed on {failures} contexts in a row, the last time with: "
                        f"{trial.errors[-1].rstrip('.')}. Mend the cause, then: sdmbtl resume "
                        f"{self.study.path} --retry-failed"
                    )

    def _standing(self, seconds_per_policy: float | None) -> Standing:
        rows = self.study.selector.rows
        curve = np.fmax.accumulate(rows.returns, axis=0) if len(rows) else rows.returns
        known = self.study.return_range
        complete = known is not None and len(rows) > 0 and bool((rows.best >= known[1]).all())
        return Standing(
            performances=[float(np.nanmean(best)) for best in curve],
            span=self.study.return_span,
            best_possible=complete,
            seconds_per_policy=seconds_per_policy,
            batch=self.study.configuration.batch,
            remaining_gain=self.study.remaining_gain,
        )

    def _ask_batch(self, budget: int | None) -> list[TrialRecord]:
        wanted = self.study.configuration.batch
        if budget is not None:
            wanted = min(wanted, budget - self.study.n_finished)
        begun = time.monotonic()
        asked = [TrialRecord.asked(c, self.study.space) for c in self.study.selector.ask(wanted)]
        self.study.record(*asked)
        self.study.database.add_seconds(asked[0].id, "choosing", time.monotonic() - begun)
        for trial in asked:
            self.tell(Event("asked", trial))
        return asked

    def _work(self, trials: list[TrialRecord]) -> None:
        """Train what is not trained, evaluate what is not evaluated."""
        untrained = [t for t in trials if not self._has_policy(t)]
        if untrained:
            self._train(untrained)
        for number in [t.id for t in trials]:
            trial = self.study.trials[number]
            if trial.status == "pending" and trial.policy_sha256 is not None:
                self._evaluate(trial)

    def _has_policy(self, trial: TrialRecord) -> bool:
        """Whether the policy was recorded and its file is as it was written."""
        return trial.policy_sha256 is not None and self.study.policy_state(trial) == "whole"

    def _train(self, trials: list[TrialRecord]) -> None:
        from sdmbtl.trainers import TrainingJob

        trainer = self.study.trainer  # a wrong set-up is no failed training
        seed = self.study.configuration.seed
        seeds = [derived_seed(seed, "train", t.id, t.attempt) for t in trials]
        contexts = [self.study.space.context(t.source) for t in trials]
        jobs = [TrainingJob((c,), s) for c, s in zip(contexts, seeds, strict=True)]

        def progress(steps: int, total: int, mean_return: float) -> None:
            try:
                self.tell(Event("training", trials[0], steps, total, mean_return))
            except Exception as error:
                raise _ObserverError(error) from error

        failure: Exception | None = None
        with self._timed(trials[0].id, "training"):
            try:
                trainings = trainer.train(jobs, progress)
            except _ObserverError as error:
                raise error.cause from None
            except TrainerError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
                failure = error
        if failure is not None:
            if len(trials) == 1:
                self._fail(trials[0], failure)
                return
            for trial in trials:  # find out which of them it was
                self._train([trial])
            return
        changed = []
        for trial, context, job, training in zip(trials, contexts, jobs, trainings, strict=True):
            notes = {"id": trial.id, "context": context, "seed": job.seed, "steps": training.steps}
            content = policy_bytes(training.policy, notes)
            self._write_policy(trial.id, content)
            changed.append(
                trial.updated(
                    training={
                        "steps": training.steps,
                        "source_return": training.source_return,
                        "curve": [list(point) for point in training.curve],
                    },
                    policy_sha256=hashlib.sha256(content).hexdigest(),
                )
            )
            self.tell(Event("saved", trial))
        self.study.record(*changed)
        for trial in changed:
            self.tell(Event("trained", trial))

    def _evaluate(self, trial: TrialRecord) -> None:
        self.tell(Event("evaluating", trial))
        policy = load_policy(self.study.policy_path(trial.id))
        trainer = self.study.trainer
        with self._timed(trial.id, "evaluation"):
            try:
                returns, own = self._returns(trial, policy, trainer)
            except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
                self._fail(trial, error)
                return
        finished = trial.updated(status="finished", returns=returns, source_return=own)
        self.study.record(finished)
        self.study.selector.tell(trial.id, finished.row, source_return=own)
        self.study.database.back_up()
        self.tell(Event("finished", finished))

    def _returns(
        self, trial: TrialRecord, policy: Policy, trainer: Trainer
    ) -> tuple[NDArray[np.float64], float | None]:
        """(N, E) returns on the targets, and the mean on the source if it is no target."""
        episodes = self.study.configuration.episodes
        seed = derived_seed(self.study.configuration.seed, "evaluate", trial.id)
        contexts = list(self.study.space)
        is_target = self.study.space.find(trial.source) is not None
        if not is_target:
            contexts.append(self.study.space.context(trial.source))
        returns = trainer.evaluate(policy, contexts, episodes=episodes, seed=seed)
        bad = ~np.isfinite(returns).all(axis=1)
        if bad.any():
            where = contexts[int(np.flatnonzero(bad)[0])]
            raise TrainingError(
                f"the policy's return is not finite on {int(bad.sum())} of {len(contexts)} "
                f"contexts, for example {where}"
            )
        if is_target:
            return returns, None
        return returns[:-1], float(returns[-1].mean())

    def _fail(self, trial: TrialRecord, error: Exception) -> None:
        """Record what went wrong; try again with another seed, or give the context up."""
        text = f"{type(error).__name__}: {error}"
        changes: dict[str, Any] = {"errors": [*trial.errors, text]}
        changes |= {"training": None, "policy_sha256": None}
        if trial.attempt < self.study.configuration.retries:
            changes["attempt"] = trial.attempt + 1
        else:
            changes["status"] = "failed"
        failed = trial.updated(**changes)
        self.study.record(failed)
        if failed.status == "failed":
            self.study.selector.tell(trial.id, status="failed")
        self.tell(Event("failed", failed))

    def _write_policy(self, number: int, content: bytes) -> None:
        path = self.study.policy_path(number)
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise StudyError(
                f"Cannot write the policy file {str(path)!r}: {error.strerror}. Everything "
                "recorded so far is kept. Make room, then go on with: sdmbtl resume "
                f"{self.study.path}"
            ) from None

    @contextmanager
    def _timed(self, number: int, stage: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self.study.database.add_seconds(number, stage, time.monotonic() - begun)
