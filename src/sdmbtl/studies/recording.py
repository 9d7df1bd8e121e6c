"""Outcomes of training and evaluation, recorded before anything else is done."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sdmbtl.callbacks import Callback, Event
from sdmbtl.policies import policy_bytes
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.random_actions import no_better_warning, recorded_random_actions
from sdmbtl.studies.row_evaluation import RowEvaluation, episodes_behind
from sdmbtl.transfer import mean_over_episodes

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Failure, Training, TrainingJob

_log = logging.getLogger(__name__)

#: A trial, its training job, and the result.
Outcome = tuple[Trial, "TrainingJob", "Training | Failure"]

#: Errors in the code of an environment, which another seed or context does not change.
CODE_ERROR = re.compile(
    r"\b(Attribute|Import|ModuleNotFound|Name|NotImplemented|Syntax|Type)Error: "
)


class Recorder:
    """Records what becomes of trials, under the leases of a run, and tells it.

    What other processes have recorded meanwhile is never replaced. A result of a trial that was
    lost to another process does not count.
    """

    def __init__(self, study: Study, leases: LeaseKeeper, tell: Callback) -> None:
        self.study, self.leases, self.tell = study, leases, tell

    def keep_trained(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Record what was trained together, with the policy files; all of it or nothing."""
        from sdmbtl.training import Failure

        events: list[Event] = []
        with self.study.write_lock():
            for trial, job, result in outcomes:
                run = trial.run or TrainingRun()
                if not self._is_ours(trial):
                    continue
                if not isinstance(result, Failure):
                    notes = {"id": trial.id, "context": trial.context, "seed": job.seed}
                    source = trial.source.to_dict()
                    notes |= {k: source[k] for k in ("width", "parent") if k in source}
                    content = policy_bytes(result.policy, {**notes, "steps": result.steps})
                    run = replace(
                        run,
                        steps=int(result.steps),  # numbers of NumPy are not JSON
                        evaluation_steps=int(result.evaluation_steps),
                        training_return=float(result.source_return),
                        curve=tuple((int(steps), float(value)) for steps, value in result.curve),
                        policy_sha256=self.study.files.write(trial.id, content),
                    )
                    events.append(Event("trained", trial.updated(run=run)))
                    continue
                errors, retries = (*run.errors, result.error), self.study.configuration.retries
                if result.attempt < retries and not CODE_ERROR.search(result.error):
                    again = trial.updated(run=TrainingRun(result.attempt + 1, errors))
                    events.append(Event("failed", again))  # to be tried with another seed
                else:
                    self.leases.give_back(trial.id)
                    run = TrainingRun(result.attempt, errors)
                    events.append(Event("failed", trial.updated(run=run, status="failed")))
            first = {(event.trial.id, "training"): seconds for event in events[:1]}
            self.study.store.write(*(event.trial for event in events), seconds=first)
        for event in events:
            self.tell(event)

    def keep_evaluated(self, trial: Trial, played: RowEvaluation, seconds: float) -> Event | None:
        """Record the returns of a policy, for the trial as it was when the evaluation began.

        Returns:
            The news to tell of a policy that is finished now.
        """
        returns, errors = played.known, dict(sorted(played.errors.items()))
        row = mean_over_episodes(returns)
        if np.isnan(row).all():
            first = errors[min(errors)]
            error = f"The evaluation failed on all {len(errors)} targets. The first error: {first}"
            evaluated = _failed(trial, error)
        with self.study.write_lock():
            if not self._is_ours(trial):
                return None
            if not np.isnan(row).all():
                evaluated = self.study.selector.reported_trial(
                    trial, row, source_return=played.own, correct=True
                )
                # More episodes are no correction.
                evaluated = evaluated.updated(run=trial.run, earlier=trial.earlier)
            run = evaluated.run or TrainingRun()
            run = replace(run, evaluation_steps=run.evaluation_steps + played.steps)
            evaluated = evaluated.updated(run=run, episodes=episodes_behind(returns))
            self.study.store.write(
                evaluated,
                episodes={} if evaluated.row is None else {trial.id: returns},
                errors={trial.id: errors},
                seconds={(trial.id, "evaluation"): seconds},
            )
            self.leases.give_back(trial.id)
        if trial.status == "finished" and played.targets is not None:
            return None
        self.study.store.back_up()
        if evaluated.row is None:
            self.tell(Event("failed", evaluated))
            return None
        random = recorded_random_actions(self.study.store.facts())
        episodes = self.study.configuration.episodes
        warning = no_better_warning(evaluated, self.study.space, episodes, random)
        return Event("finished", evaluated, warning=warning)

    def keep_lost(self, trial: Trial, error: str, retries: int) -> None:
        """Record that a worker was lost; after too many of them the trial has failed."""
        run = trial.run or TrainingRun()
        if len(run.lost) >= retries:
            self.give_up(trial, f"WorkerLostError: {error}")
            return
        with self.study.write_lock():
            if not self._is_ours(trial):
                return
            again = trial.updated(run=replace(run, lost=(*run.lost, error)))
            self.study.store.write(again)
        self.tell(Event("lost", again))

    def give_up(self, trial: Trial, error: str) -> None:
        """Record that a pending trial has failed."""
        failed = _failed(trial, error)
        with self.study.write_lock():
            if not self._is_ours(trial):
                return
            self.study.store.write(failed)
            self.leases.give_back(trial.id)
        self.tell(Event("failed", failed))

    def _is_ours(self, trial: Trial) -> bool:
        """Tell whether a result of this run counts; the trial is as it was when the work began."""
        now = self.study.trials[trial.id]
        if self.leases.is_lost(trial.id):
            del self.leases.tokens[trial.id]
            _log.warning(
                "Policy %d was given to another process, because no heartbeat of this one was "
                "recorded. Its result here does not count.",
                trial.id,
            )
            return False
        row, before = (np.empty(0) if t.row is None else t.row for t in (now, trial))
        if now.status == trial.status and np.array_equal(row, before, equal_nan=True):
            return True
        self.leases.give_back(trial.id)
        _log.warning(
            "Policy %d was reported elsewhere as %s while it was worked on here. That stays.",
            now.id,
            now.status,
        )
        return False


def _failed(trial: Trial, error: str) -> Trial:
    run = trial.run or TrainingRun()
    return trial.updated(run=replace(run, errors=(*run.errors, error)), status="failed", row=None)
