"""The loop of a study on an executor: several policies at once, each recorded as it is done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.callbacks import Callback, Event, Pace
from sdmbtl.errors import ExhaustedError, WorkerLostError
from sdmbtl.execution import Executor, TaskFuture
from sdmbtl.selectors import Trial
from sdmbtl.studies.lease_holder import LeaseHolder
from sdmbtl.studies.recording import Company, Recorder, run_of
from sdmbtl.studies.rounds import Rounds, check_checkpoints
from sdmbtl.studies.row_evaluation import RowEvaluation
from sdmbtl.studies.stopping import StopRule

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import TrainingJob

#: Seconds between two looks at what the workers report, and after how many of them, if nothing is
#: done, the database and the stop rules are looked at again.
LOOK_EVERY, LOOKS = 0.2, 10

#: A row is evaluated in so many pieces for each worker, so that they end at about the same time.
PIECES_PER_WORKER = 2


@dataclass
class _Run:
    """Policies that are trained side by side in one task."""

    trials: list[Trial]
    jobs: list[TrainingJob]
    begun: float = field(default_factory=time.monotonic)
    pace: Pace = field(default_factory=Pace)
    shown: Any = None

    @property
    def company(self) -> Company:
        return tuple(
            (trial.id, job.attempt) for trial, job in zip(self.trials, self.jobs, strict=True)
        )


@dataclass
class _Row:
    """A row that is evaluated, piece by piece."""

    trial: Trial
    evaluation: RowEvaluation
    policy: bytes
    returns: NDArray[np.float64]
    errors: dict[int, str] = field(default_factory=dict)
    done: int = 0
    begun: float = field(default_factory=time.monotonic)


@dataclass
class _Piece:
    """Some contexts of a row, to be evaluated in one task."""

    row: _Row
    numbers: Sequence[int]
    lost: int = 0


class ParallelLoop:
    """Trains and evaluates what a study's selector chooses, as much at once as there are workers.

    As soon as a worker is free it evaluates a piece of a row, if there is one to do; otherwise the
    selector is asked for the next trial, for which those under way count as pending. So with one
    worker the same is chosen as one after another, and with several the same for the same order of
    completion.

    Args:
        study: The study.
        tell: Called with every `Event`.
        executor: Who does the work.
        leases: Those of this process.
        checkpoint_seconds: Time between two checkpoints of a training run; None for none.
        worker_retries: How often what a lost worker did is given to another one.
    """

    def __init__(
        self,
        study: Study,
        tell: Callback,
        executor: Executor,
        leases: LeaseHolder,
        checkpoint_seconds: float | None = None,
        worker_retries: int = 2,
    ) -> None:
        from sdmbtl.training import Checkpoints

        self.study, self.tell, self.executor, self.leases = study, tell, executor, leases
        self.recorder = Recorder(study, tell, leases)
        self.worker_retries = worker_retries
        self.checkpoints: Checkpoints | None = None
        if checkpoint_seconds is not None:
            self.checkpoints = Checkpoints.of_study(study.path, checkpoint_seconds)
        self._spec = study.training.to_dict()
        self._tasks: dict[TaskFuture, _Run | _Piece] = {}
        self._pieces: deque[_Piece] = deque()
        self._in_hand: set[int] = set()

    def run(self, rules: Sequence[StopRule], budget: int | None) -> str:
        """Continue until a rule holds, and what is under way is done; returns why it stopped."""
        check_checkpoints(self.study)
        rounds = Rounds(self.study, self.tell, self.leases, rules, budget)
        while True:
            self.study.refresh()
            reason = self._fill(rounds)
            if self._tasks:
                self._wait(rounds)
            elif reason is not None:
                return reason
            else:  # the rest is other processes'
                rounds.wait_for_others()

    # -- giving work ---------------------------------------------------------------------------

    def _fill(self, rounds: Rounds) -> str | None:
        """Give every free worker something to do; why to stop, if there is nothing to be asked."""
        while len(self._tasks) < self.executor.workers:
            if self._pieces:
                self._submit_piece(self._pieces.popleft())
                continue
            trials = self._next_waiting(rounds)
            reason = rounds.stop_reason(waiting=bool(trials))
            if reason is not None:
                return reason
            try:
                trials = trials or rounds.ask()
            except ExhaustedError:
                return rounds.exhausted()
            if not trials:
                return None
            self._begin(trials)
        return None

    def _next_waiting(self, rounds: Rounds) -> list[Trial]:
        """Trials that were asked for and nobody works on, as many as are trained side by side."""
        waiting = [t for t in rounds.claim() if t.id not in self._in_hand]
        ready = [t for t in waiting if self.recorder.has_its_parent(t)]
        return ready[: self.study.configuration.batch]

    def _begin(self, trials: list[Trial]) -> None:
        """Have trials trained that are not, and those evaluated that are."""
        self._in_hand |= {trial.id for trial in trials}
        trained = [t for t in trials if self.study.policy_state(t) == "intact"]
        untrained = [t for t in trials if t not in trained]
        for trial in trained:
            self._begin_row(trial)
        if untrained:
            self._submit_training(untrained)

    def _submit_training(self, trials: list[Trial]) -> None:
        from sdmbtl.training.tasks import job_to_data, train_task

        jobs = [self.recorder.job(trial, run_of(trial).attempt) for trial in trials]
        kept = self.checkpoints
        folder = None if kept is None else (str(kept.folder.resolve()), kept.seconds)
        data = [job_to_data(job) for job in jobs]
        future = self.executor.submit(train_task, self._spec, data, folder)
        self._tasks[future] = _Run(trials, jobs)

    def _begin_row(self, trial: Trial) -> None:
        """Cut what is to be evaluated of a row into pieces."""
        known = self.recorder.known_returns(trial)
        evaluation = RowEvaluation.of(trial, known, self.study.space)
        policy = self.study.policy_path(trial.id).read_bytes()
        empty = np.full((len(evaluation.contexts), evaluation.episodes), np.nan)
        row = _Row(trial, evaluation, policy, empty)
        size = self._piece_size(len(evaluation.numbers))
        numbers = list(evaluation.numbers)
        self._pieces.extend(
            _Piece(row, numbers[i : i + size]) for i in range(0, len(numbers), size)
        )
        self.tell(Event("evaluating", trial, 0, len(numbers)))

    def _piece_size(self, count: int) -> int:
        """Contexts in a piece: where all are played at once as one computation, all of them."""
        if not self.study.training.make_trainer().evaluates_on_host:
            return max(count, 1)
        return max(-(-count // (PIECES_PER_WORKER * self.executor.workers)), 1)

    def _submit_piece(self, piece: _Piece) -> None:
        from sdmbtl.training.tasks import evaluate_task

        row, seed = piece.row, self.recorder.evaluation_seed(piece.row.trial)
        what = row.policy, row.evaluation.contexts, piece.numbers, row.evaluation.episodes, seed
        self._tasks[self.executor.submit(evaluate_task, self._spec, *what)] = piece

    # -- taking results ------------------------------------------------------------------------

    def _wait(self, rounds: Rounds) -> None:
        """Take what is done; show how far the rest is while nothing is."""
        for _ in range(LOOKS):
            done, _ = wait(self._tasks, LOOK_EVERY, return_when=FIRST_COMPLETED)
            if done:
                break
            self._show()
        for future in [f for f in self._tasks if f in done]:  # in the order they were given out
            task = self._tasks.pop(future)
            error = future.exception()
            if error is not None and not isinstance(error, WorkerLostError):
                raise error
            if isinstance(task, _Piece):
                self._take_piece(task, future, error, rounds)
            else:
                self._take_training(task, future, error, rounds)

    def _take_training(
        self, run: _Run, future: TaskFuture, error: WorkerLostError | None, rounds: Rounds
    ) -> None:
        from sdmbtl.training import delete_checkpoints
        from sdmbtl.training.tasks import training_from_data

        if error is not None:
            self._lose(run.trials, str(error))
        else:
            results = [training_from_data(data) for data in future.result()]
            outcomes = list(zip(run.trials, run.jobs, results, strict=True))
            seconds = time.monotonic() - run.begun
            self.recorder.keep_trained(outcomes, run.company, seconds)
            if self.checkpoints is not None:
                delete_checkpoints(self.study.training, run.jobs, self.checkpoints)
        for number in [trial.id for trial in run.trials]:
            trial = self.study.trials[number]
            if error is None and trial.status == "pending" and trial.has_policy:
                self._begin_row(trial)
            else:  # failed, to be tried again, or reported elsewhere
                self._in_hand.discard(number)
                rounds.count_failures([number])

    def _lose(self, trials: Sequence[Trial], error: str) -> None:
        """Have trials whose worker was lost begun again, or give them up."""
        for trial in trials:
            run = run_of(trial)
            if len(run.lost) >= self.worker_retries:
                self.recorder.give_up(trial, f"WorkerLostError: {error}")
                continue
            again = trial.updated(run=replace(run, lost=(*run.lost, error)))
            if self.recorder.keep(again):
                self.tell(Event("lost", again))

    def _take_piece(
        self, piece: _Piece, future: TaskFuture, error: WorkerLostError | None, rounds: Rounds
    ) -> None:
        row, numbers = piece.row, list(piece.numbers)
        if error is None:
            played = future.result()
            row.returns[numbers] = played["returns"]
            row.errors |= played["errors"]
        elif len(numbers) > 1:  # whichever context it was: the others are not to suffer
            half = len(numbers) // 2
            self._pieces.extendleft(_Piece(row, part) for part in (numbers[half:], numbers[:half]))
            return
        elif piece.lost < self.worker_retries:
            self._pieces.appendleft(replace(piece, lost=piece.lost + 1))
            return
        else:
            row.errors[numbers[0]] = f"WorkerLostError: {error}"
        row.done += len(numbers)
        total = len(row.evaluation.numbers)
        self.tell(Event("evaluating", row.trial, row.done, total))
        if row.done == total:
            self._finish(row)
            self._in_hand.discard(row.trial.id)
            rounds.count_failures([row.trial.id])

    def _finish(self, row: _Row) -> None:
        complete = row.evaluation.complete(row.returns, dict(sorted(row.errors.items())))
        seconds = time.monotonic() - row.begun
        before = row.trial.updated(status="pending")
        self.recorder.keep_evaluated(before, row.trial, *complete, seconds)

    def _show(self) -> None:
        """Tell how far the training runs are, as far as their workers say so."""
        from sdmbtl.training import Report

        runs = [(f, t) for f, t in self._tasks.items() if isinstance(t, _Run)]
        count = sum(len(run.trials) for _, run in runs)
        for future, run in runs:
            if future.latest is not None and future.latest is not run.shown:
                told = 0 if run.shown is None else len(run.shown["evaluations"])
                run.shown = future.latest
                report = Report(**future.latest)
                report = replace(report, evaluations=report.evaluations[told:])
                speed = run.pace.steps_per_second(report.steps)
                self.tell(Event.of(report, run.trials[0], speed, count))
                return
        if runs:
            latest = runs[0][1].shown or {"steps": 0, "total_steps": 0}
            report = Report(**{**latest, "evaluations": ()})
            self.tell(Event.of(report, runs[0][1].trials[0], np.nan, count))
        else:
            piece = next(t for t in self._tasks.values() if isinstance(t, _Piece))
            total = len(piece.row.evaluation.numbers)
            self.tell(Event("evaluating", piece.row.trial, piece.row.done, total))
