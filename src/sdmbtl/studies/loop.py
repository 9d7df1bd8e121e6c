"""The loop of a study: ask, train, evaluate, tell; every step recorded before the next.

All work goes through an executor. As soon as a worker is free it evaluates a piece of a row, if
there is one to do, or trains what is waiting; otherwise the selector is asked for the next trial,
for which those under way count as pending. So with one worker the choices are the same on every
executor, and with several they are the same for the same order of completion.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.callbacks import Callback, Event, Pace
from sdmbtl.errors import ExhaustedError, StudyError, WorkerLostError
from sdmbtl.execution import Executor
from sdmbtl.selectors import Trial
from sdmbtl.studies.extension import TO_EVALUATE
from sdmbtl.studies.jobs import JobMaker
from sdmbtl.studies.recording import Recorder
from sdmbtl.studies.row_evaluation import Batch, RowEvaluation
from sdmbtl.studies.trial_queue import TrialQueue

if TYPE_CHECKING:
    from sdmbtl.training import Checkpoints, TrainerSpec, TrainingJob
    from sdmbtl.training.evaluation import EvaluationHelpers

#: Seconds between two looks at the workers, and after how many of them, if nothing is done, the
#: database and the stop rules are looked at again.
LOOK_EVERY, LOOKS = 0.2, 10

#: A row is evaluated in this many pieces for each worker, so that they end at about the same time.
PIECES_PER_WORKER = 2


@dataclass(eq=False)
class _Run:
    """Policies that are trained together in one task."""

    trials: list[Trial]
    jobs: list[TrainingJob]
    begun: float = field(default_factory=time.monotonic)
    pace: Pace = field(default_factory=Pace)
    latest: dict[str, Any] | None = None
    shown: dict[str, Any] | None = None


@dataclass(eq=False)
class _Row:
    """A row that is evaluated, piece by piece; `done` of the `todo` contexts of this wave are."""

    trial: Trial
    evaluation: RowEvaluation
    policy: bytes
    todo: int = 0
    done: int = 0
    begun: float = field(default_factory=time.monotonic)


@dataclass(eq=False)
class _Piece:
    """Some contexts of a row, to be evaluated in one task."""

    row: _Row
    batch: Batch
    lost: int = 0

    def part(self, numbers: Sequence[int]) -> _Piece:
        """Return the same for some of the contexts."""
        return _Piece(self.row, replace(self.batch, numbers=numbers))


class Loop:
    """Trains and evaluates what a study's selector chooses.

    Args:
        training: How policies are trained.
        jobs: Makes the training jobs.
        recorder: Records what comes out.
        tell: Called with every `Event`.
        executor: Who does the work.
        helpers: Processes that share the evaluations of an executor that is this process.
        checkpoints: Where runs that were killed continue from; None for none.
        worker_retries: How often what a lost worker did is given to another one.
    """

    def __init__(
        self,
        training: TrainerSpec,
        jobs: JobMaker,
        recorder: Recorder,
        tell: Callback,
        executor: Executor,
        *,
        helpers: EvaluationHelpers | None = None,
        checkpoints: Checkpoints | None = None,
        worker_retries: int = 2,
    ) -> None:
        self.training, self.jobs, self.recorder, self.tell = training, jobs, recorder, tell
        self.log, self.files = jobs.log, jobs.files
        self.executor, self.helpers = executor, helpers if executor.in_process else None
        self.checkpoints, self.worker_retries = checkpoints, worker_retries
        self._tasks: dict[Future[Any], _Run | _Piece] = {}
        self._todo: deque[_Run | _Piece] = deque()
        self._in_hand: set[int] = set()

    def run(self, queue: TrialQueue) -> str:
        """Continue until a rule holds, and what is under way is done; returns why it stopped."""
        while True:
            self.log.refresh()
            reason = self._fill(queue)
            if self._tasks:
                self._wait(queue)
            elif reason is not None:
                alone = self.recorder.leases.alone
                if self.checkpoints is not None and alone and not self.log.pending:
                    self.checkpoints.clear()  # leftovers of other settings too
                return reason
            else:  # the rest is other processes'
                queue.wait_for_others()

    def retrain_missing(self) -> None:
        """Train finished policies again whose file is missing or damaged, from the same seed.

        If another policy comes out, as with other releases of packages, it is evaluated again.
        """
        for number in [t.id for t in self.log.trained if t.status == "finished"]:  # parents first
            trial = self.log.trials[number]
            if self.files.state(trial) != "intact" and self._has_parent(trial):
                self._begin_training([trial])
                self._work_off()

    def evaluate_missing(self) -> None:
        """Evaluate each policy that is here on the targets on which it was not."""
        for number in [trial.id for trial in self.log.trained]:
            trial = self.log.trials[number]  # others may have changed it meanwhile
            missing = trial.row is None or np.isnan(trial.row).any()
            is_here = self.files.state(trial) == "intact"
            if trial.status in ("finished", "failed") and missing and is_here:
                self._begin_row(trial, everywhere=True)
                self._work_off()

    def evaluate_extended(self) -> None:
        """Evaluate policies on targets that an extension added, as the study is set to."""
        store = self.log.store
        while waiting := store.facts().get(TO_EVALUATE):
            trial = self.log.trials[waiting[0]]
            if trial.status == "finished" and self.files.state(trial) == "intact":
                self._begin_row(trial)
                self._work_off()
                self._in_hand.discard(trial.id)  # also if nothing was worth playing
            with store.transaction():
                store.set_fact(TO_EVALUATE, waiting[1:])

    # -- giving work ---------------------------------------------------------------------------

    def _work_off(self) -> None:
        """Do what is to be done, without asking for more."""
        while self._todo or self._tasks:
            while self._todo and len(self._tasks) < self.executor.workers:
                self._submit(self._todo.popleft())
            self._wait(None)

    def _fill(self, queue: TrialQueue) -> str | None:
        """Give every free worker something to do; why to stop, if there is nothing to be asked."""
        while len(self._tasks) < self.executor.workers:
            if self._todo:
                self._submit(self._todo.popleft())
                continue
            claimed = [t for t in queue.claim() if t.id not in self._in_hand]
            trials = [t for t in claimed if self._is_ready(t)][: queue.batch]
            reason = queue.stop_reason(waiting=bool(trials))
            if reason is not None:
                return reason
            try:
                trials = trials or queue.ask()
            except ExhaustedError:
                others = ", or asked for elsewhere" if self.log.pending else ""
                return f"every target has been trained on{others}"
            if not trials:
                return None
            trained = [t for t in trials if self.files.state(t) == "intact"]
            for trial in trained:
                self._begin_row(trial)
            untrained = [t for t in trials if t not in trained]
            if untrained:
                self._begin_training(untrained)
        return None

    def _is_ready(self, trial: Trial) -> bool:
        """Tell whether the policy that a trial starts from is here; if it never will be, give up.

        Raises:
            StudyError: If its file is lost and can be made again.
        """
        if trial.parent is None:
            return True
        path = self.files.root
        if trial.parent >= trial.id:
            raise StudyError(
                f"Policy {trial.id} starts from policy {trial.parent}, which is not an earlier "
                f"one. See: sdmbtl doctor {path}"
            )
        parent = self.log.trials[trial.parent]
        state = self.files.state(parent)
        if state == "intact" or parent.status == "pending":  # which is tried again before
            return state == "intact"
        if parent.status == "finished" and parent.has_policy:
            raise StudyError(
                f"Policy {trial.id} starts from policy {parent.id}, whose file is {state}. Bring "
                f"it back, or have it trained again: sdmbtl resume {path} --retrain-missing"
            )
        what = "was trained elsewhere" if parent.status == "finished" else f"is {parent.status}"
        error = f"StudyError: it starts from policy {parent.id}, which {what}: no weights are here"
        self.recorder.give_up(trial, error)
        return False

    def _has_parent(self, trial: Trial) -> bool:
        return trial.parent is None or (self.files.state(self.log.trials[trial.parent]) == "intact")

    def _begin_training(self, trials: list[Trial]) -> None:
        """Have trials trained; those of a chunk together, in one task."""
        self._in_hand |= {trial.id for trial in trials}
        jobs = [self.jobs.job(trial) for trial in trials]
        for numbers in self.training.make_trainer().chunks(jobs):
            self._todo.append(_Run([trials[n] for n in numbers], [jobs[n] for n in numbers]))

    def _begin_row(self, trial: Trial, *, everywhere: bool = False) -> None:
        """Begin to evaluate the policy of a trial, on every target if that is asked for."""
        self._in_hand.add(trial.id)
        policy = self.files.content(trial.id)
        row = _Row(trial, self.jobs.evaluation(trial, everywhere=everywhere), policy)
        self._begin_wave(row)

    def _begin_wave(self, row: _Row) -> bool:
        """Cut what is to be played next of a row into pieces; False if nothing is."""
        pieces: list[_Piece] = []
        for batch in row.evaluation.next_wave():
            whole, numbers = _Piece(row, batch), batch.numbers
            size = max(len(numbers), 1)
            if not self.executor.in_process and self.training.make_trainer().evaluates_on_host:
                size = max(-(-len(numbers) // (PIECES_PER_WORKER * self.executor.workers)), 1)
            pieces += [whole.part(numbers[i : i + size]) for i in range(0, len(numbers), size)]
        row.todo, row.done = sum(len(piece.batch.numbers) for piece in pieces), 0
        self._todo.extendleft(reversed(pieces))  # before what is still to be trained
        if pieces:
            self._show_row(row, 0)
        return bool(pieces)

    def _submit(self, task: _Run | _Piece) -> None:
        from sdmbtl.training.tasks import evaluate_task, train_task

        show = self.executor.in_process  # otherwise reports come in another thread
        if isinstance(task, _Run):
            run = task
            run.begun = time.monotonic()

            def listen(data: dict[str, Any]) -> None:
                run.latest = data
                if show:
                    self._show_run(run, len(run.trials))

            what: list[Any] = [train_task, self.training, run.jobs, self.checkpoints]
        else:
            row, batch = task.row, task.batch

            def listen(data: dict[str, Any]) -> None:
                if show:
                    self._show_row(row, row.done + data["done"])

            what = [evaluate_task, self.training, row.policy, row.evaluation.contexts]
            what += [batch.numbers, batch.episodes, batch.seed, self.helpers]
        future = self.executor.submit(*what, on_report=listen)
        self._tasks[future] = task

    # -- taking results ------------------------------------------------------------------------

    def _wait(self, queue: TrialQueue | None) -> None:
        """Take what is done; show how far the rest is while nothing is."""
        done: set[Future[Any]] = set()
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
                ended = self._take_piece(task, future, error)
            else:
                ended = self._take_training(task, future, error)
            self._in_hand -= set(ended)
            if queue is not None:
                queue.count_failures(ended)

    def _take_training(
        self, run: _Run, future: Future[Any], error: WorkerLostError | None
    ) -> list[int]:
        """Record what was trained; returns the trials that are not evaluated next."""
        from sdmbtl.training import delete_checkpoints

        if error is not None:
            for trial in run.trials:
                self.recorder.keep_lost(trial, str(error), self.worker_retries)
            return [trial.id for trial in run.trials]
        outcomes = list(zip(run.trials, run.jobs, future.result(), strict=True))
        self.recorder.keep_trained(outcomes, time.monotonic() - run.begun)
        if self.checkpoints is not None:
            delete_checkpoints(self.training, run.jobs, self.checkpoints)
        ended = []
        for before in run.trials:
            trial = self.log.trials[before.id]
            if trial.has_policy and trial.status == "pending":
                self._begin_row(trial)
            else:  # failed, to be tried again, or reported elsewhere
                ended.append(trial.id)
        return ended

    def _take_piece(
        self, piece: _Piece, future: Future[Any], error: WorkerLostError | None
    ) -> list[int]:
        """Put the returns of a piece into its row; returns the trial if that is complete."""
        row, numbers = piece.row, list(piece.batch.numbers)
        if error is None:
            played = future.result()
            row.evaluation.take(numbers, played["returns"], played["errors"], played["steps"])
        elif len(numbers) > 1:  # whichever context it was: the others are not to suffer
            half = len(numbers) // 2
            self._todo.extendleft(piece.part(part) for part in (numbers[half:], numbers[:half]))
            return []
        elif piece.lost < self.worker_retries:
            self._todo.appendleft(replace(piece, lost=piece.lost + 1))
            return []
        else:
            nothing = np.full((1, piece.batch.episodes), np.nan)
            lost = {numbers[0]: f"WorkerLostError: {error}"}
            row.evaluation.take(numbers, nothing, lost, 0)
        row.done += len(numbers)
        self._show_row(row, row.done)
        if row.done < row.todo or self._begin_wave(row):
            return []
        self.recorder.keep_evaluated(row.trial, row.evaluation, time.monotonic() - row.begun)
        return [row.trial.id]

    # -- showing -------------------------------------------------------------------------------

    def _show(self) -> None:
        """Tell how far the work is: a training run with news first."""
        runs = [task for task in self._tasks.values() if isinstance(task, _Run)]
        if runs:
            run = next((run for run in runs if run.latest is not run.shown), runs[0])
            self._show_run(run, sum(len(run.trials) for run in runs))
        else:
            row = next(task.row for task in self._tasks.values() if isinstance(task, _Piece))
            self._show_row(row, row.done)

    def _show_run(self, run: _Run, policies: int) -> None:
        from sdmbtl.training import Report

        report, speed = Report(**(run.latest or {"steps": 0, "total_steps": 0})), np.nan
        told = len(report.evaluations)
        if run.latest is not run.shown:
            told = 0 if run.shown is None else len(run.shown["evaluations"])
            run.shown = run.latest
            speed = run.pace.steps_per_second(report.steps)
        report = replace(report, evaluations=report.evaluations[told:])
        self.tell(Event.of(report, run.trials[0], speed, policies))

    def _show_row(self, row: _Row, done: int) -> None:
        self.tell(Event("evaluating", row.trial, done, row.todo))
