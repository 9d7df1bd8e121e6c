"""The loop of a study: ask, train, evaluate, tell; every step recorded before the next."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sdmbtl.callbacks import Callback, Event, Pace
from sdmbtl.errors import ExhaustedError
from sdmbtl.parallel import Workers
from sdmbtl.policies import load_policy
from sdmbtl.selectors import Trial
from sdmbtl.studies.lease_holder import LeaseHolder
from sdmbtl.studies.recording import Company, Outcome, Recorder, run_of
from sdmbtl.studies.rounds import Rounds, check_checkpoints
from sdmbtl.studies.row_evaluation import RowEvaluation
from sdmbtl.studies.stopping import StopRule

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Checkpoints, Failure, Report, Training

_log = logging.getLogger(__name__)


class Loop:
    """Trains and evaluates what a study's selector chooses, one round after another, here.

    Args:
        study: The study.
        tell: Called with every `Event`.
        workers: Processes that help with evaluations.
        leases: Those of this process.
        checkpoint_seconds: Time between two checkpoints of a training run; None for none.
        is_shared: Whether other processes may run the study at the same time.
    """

    def __init__(
        self,
        study: Study,
        tell: Callback,
        workers: Workers,
        leases: LeaseHolder,
        checkpoint_seconds: float | None = None,
        *,
        is_shared: bool = False,
    ) -> None:
        from sdmbtl.training import Checkpoints

        self.study = study
        self.tell = tell
        self.workers = workers
        self.leases = leases
        self.is_shared = is_shared
        self.recorder = Recorder(study, tell, leases)
        self.checkpoints: Checkpoints | None = None
        if checkpoint_seconds is not None:
            self.checkpoints = Checkpoints.of_study(study.path, checkpoint_seconds)

    def run(self, rules: Sequence[StopRule], budget: int | None) -> str:
        """Continue until a rule holds; returns why it stopped."""
        rounds = Rounds(self.study, self.tell, self.leases, rules, budget)
        while True:
            self.study.refresh()
            waiting = rounds.claim()[: self.study.configuration.batch]
            reason = rounds.stop_reason(waiting=bool(waiting))
            if reason is not None:
                return reason
            try:
                trials = waiting or rounds.ask()
            except ExhaustedError:
                return rounds.exhausted()
            if not trials:
                rounds.wait_for_others()
                continue
            self._work(trials)
            rounds.count_failures(t.id for t in trials)

    def retrain_missing(self) -> None:
        """Train finished policies again whose file is missing or damaged.

        Each in the company in which it was trained, so that the same comes out.
        """
        lost = [
            trial
            for trial in self.study.trained
            if trial.status == "finished" and self.study.policy_state(trial) != "intact"
        ]
        for company in dict.fromkeys(run_of(trial).company for trial in lost):  # parents come first
            members = [t for t in lost if run_of(t).company == company]
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

    def _work(self, trials: list[Trial]) -> None:
        """Train what is not trained, evaluate what is not evaluated."""
        untrained = [t for t in trials if self.study.policy_state(t) != "intact"]
        while untrained:
            # A policy that was lost is trained again before those that start from it.
            lost = {t.id for t in untrained}
            later = [t for t in untrained if t.parent in lost]
            ready = [t for t in untrained if t not in later and self.recorder.has_its_parent(t)]
            if len(later) == len(untrained):
                raise self.recorder.wrong_parent(later[0])
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
            if trial.status == "pending" and run_of(trial).policy_sha256 is not None:
                self._evaluate(trial)

    def _parent_is_here(self, trial: Trial) -> bool:
        """Whether the policy that a trial starts from is here, if there is one."""
        if trial.parent is None:
            return True
        return self.study.policy_state(self.study.trials[trial.parent]) == "intact"

    def _train(self, trials: list[Trial]) -> None:
        """Train trials: new ones with one another, those that are lost as they were trained."""
        companies = dict.fromkeys(run_of(trial).company for trial in trials)
        for company in companies:
            members = [t for t in trials if run_of(t).company == company]
            everyone = [t.id for t, _ in self._members(company)]
            if set(everyone) >= {t.id for t in members}:
                self._train_together(self._members(company), members)
            else:
                self._train_together([(t, run_of(t).attempt) for t in members], members)

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
        from sdmbtl.training import delete_checkpoints, train

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

        check_checkpoints(self.study)
        jobs = [self.recorder.job(trial, attempt) for trial, attempt in everyone]
        # What was trained side by side is recorded at once: a part of it would be trained in other
        # company after a kill, and differ.
        train(self.study.training, jobs, progress, self.checkpoints, keep)
        if self.checkpoints is not None and self.is_shared:
            delete_checkpoints(self.study.training, jobs, self.checkpoints)
        elif self.checkpoints is not None:
            self.checkpoints.clear()  # leftovers of other settings too

    def _keep(self, outcomes: Sequence[Outcome], company: Company, seconds: float) -> None:
        """Save and record what came out of training, for each trial and job."""
        for trial, job, result in outcomes:
            if trial.status == "finished":
                self._bring_back((trial, job, result), company)
        new = [outcome for outcome in outcomes if outcome[0].status != "finished"]
        if new:
            self.recorder.keep_trained(new, company, seconds)

    def _bring_back(self, outcome: Outcome, company: Company) -> None:
        """Put the policy of a finished trial back; if it is the same, its returns stay."""
        from sdmbtl.training import Failure

        trial, job, result = outcome
        if isinstance(result, Failure):
            _log.warning("Policy %d could not be trained again: %s", trial.id, result.error)
            return
        again, file = self.recorder.prepare(trial, job, result, company)
        self.recorder.put(file, trial)
        if run_of(again).policy_sha256 != run_of(trial).policy_sha256:
            _log.warning(
                "Policy %d, trained again, differs from the one that was lost, as with other "
                "releases of packages. It is evaluated anew.",
                trial.id,
            )
            self._evaluate(again.updated(row=None, source_return=None))
        self.tell(Event("trained", self.study.trials[trial.id]))

    def _evaluate(self, trial: Trial) -> None:
        """Evaluate a policy on the targets on which it was not, and record that."""
        from sdmbtl.training import evaluate

        def progress(done: int, total: int) -> None:
            self.tell(Event("evaluating", trial, done, total))

        begun, before = time.monotonic(), self.study.trials[trial.id]
        row = RowEvaluation.of(trial, self.recorder.known_returns(trial), self.study.space)
        progress(0, len(row.numbers))
        played = evaluate(
            self.study.training,
            load_policy(self.study.policy_path(trial.id)),
            row.contexts,
            episodes=row.episodes,
            seed=self.recorder.evaluation_seed(trial),
            only=row.numbers,
            progress=progress,
            workers=self.workers,
        )
        complete = row.complete(played.returns, played.errors)
        self.recorder.keep_evaluated(before, trial, *complete, time.monotonic() - begun)
