"""The loop of a study: ask, train, evaluate, tell; every step recorded before the next.

All work goes through an executor. As soon as a worker is free it evaluates a piece of a row, if
there is one to do, or trains what is waiting; otherwise the selector is asked for the next trial,
for which those under way count as pending. So with one worker the choices are the same on every
executor, and with several they are the same for the same order of completion.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.callbacks import Callback, Event
from sdmbtl.errors import ExhaustedError, StudyError, WorkerLostError
from sdmbtl.execution import Executor
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.extension import TO_EVALUATE
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.recording import CODE_ERROR, Recorder
from sdmbtl.studies.row_evaluation import (
    COMPARED_SHARE,
    Batch,
    RowEvaluation,
    Spent,
    first_targets,
    next_comparison,
)
from sdmbtl.studies.stopping import StopRule

if TYPE_CHECKING:
    from sdmbtl.studies.configuration import Configuration
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Checkpoints, TrainingJob
    from sdmbtl.training.evaluation import EvaluationHelpers

#: Seconds between two looks at the workers, and after how many of them, if nothing is done, the
#: database and the stop rules are looked at again.
LOOK_EVERY, LOOKS = 0.2, 10
#: Seconds between two looks at what other processes do, when the rest is theirs.
WAIT_FOR_OTHERS = 0.5
#: What a lost worker did is given to another one this often.
WORKER_RETRIES = 2
#: After this many contexts in a row whose training failed, something is wrong with the set-up.
GIVE_UP_AFTER = 3
#: The whole space is trained on this many times as many contexts as another region.
WHOLE_SPACE = 4
#: A row is evaluated in this many pieces for each worker, so that they end at about the same time.
PIECES_PER_WORKER = 2


@dataclass(eq=False)
class _Run:
    """Policies that are trained together in one task."""

    trials: list[Trial]
    jobs: list[TrainingJob]
    begun: float = field(default_factory=time.monotonic)
    first: tuple[int, float] | None = None
    latest: dict[str, Any] | None = None
    shown: dict[str, Any] | None = None


@dataclass(eq=False)
class _Row:
    """A row that is evaluated, piece by piece; `done` of the `todo` contexts are."""

    trial: Trial
    evaluation: RowEvaluation
    policy: bytes
    todo: int = 0
    done: int = 0
    begun: float = field(default_factory=time.monotonic)


@dataclass(eq=False)
class _Piece:
    """Episodes on some contexts of a row, to be played in one task that was lost so often."""

    row: _Row
    batch: Batch
    lost: int = 0


@dataclass(eq=False)
class Loop:
    """Trains and evaluates what a study's selector chooses.

    Attributes:
        helpers: Processes that share the evaluations of an executor that is this process.
        checkpoints: Where runs that were killed continue from; None for none.
        budget: Number of finished policies in all, if that is limited.
    """

    study: Study
    leases: LeaseKeeper
    tell: Callback
    executor: Executor
    helpers: EvaluationHelpers | None = None
    checkpoints: Checkpoints | None = None
    rules: Sequence[StopRule] = ()
    budget: int | None = None

    def __post_init__(self) -> None:
        self.files, self.training = self.study.files, self.study.training
        self.recorder = Recorder(self.study, self.leases, self.tell)
        self._failures = 0
        self._tasks: dict[Future[Any], _Run | _Piece] = {}
        #: Also trained policies of a batch: what the first one costs counts for the next one.
        self._todo: deque[_Run | _Piece | Trial] = deque()
        self._in_hand: set[int] = set()
        #: Finished policies that are told of once they were compared.
        self._news: list[Event] = []

    def run(self) -> str:
        """Continue until a rule holds, and what is under way is done; returns why it stopped."""
        while True:
            self.study.refresh()
            reason = self._fill()
            if self._tasks:
                self._count_failures(self._wait())
            elif reason is not None:
                alone = self.leases.alone and not self.study.pending
                if self.checkpoints is not None and alone:
                    self.checkpoints.clear()  # leftovers of other settings too
                return reason
            else:  # the rest is other processes'
                for trial in self.study.pending[:1]:
                    self.tell(Event("waiting", trial))
                time.sleep(WAIT_FOR_OTHERS)

    def evaluate_missing(self) -> None:
        """Evaluate each policy that is here on the targets on which it was not."""
        for number in [trial.id for trial in self.study.trained]:
            trial = self.study.trials[number]  # others may have changed it meanwhile
            missing = trial.row is None or np.isnan(trial.row).any()
            if trial.status in ("finished", "failed") and missing and self.files.is_intact(trial):
                self._begin_row(trial, self._known_returns(trial), None)
                self._work_off()

    def evaluate_extended(self) -> None:
        """Evaluate policies on targets that an extension added, as the study is set to."""
        store = self.study.store
        while waiting := store.facts().get(TO_EVALUATE):
            trial = self.study.trials[waiting[0]]
            if trial.status == "finished" and self.files.is_intact(trial):
                self._begin_first(trial)
                self._work_off()
            with store.transaction():
                store.set_fact(TO_EVALUATE, waiting[1:])

    def _work_off(self) -> None:
        """Do what is to be done, without asking for more."""
        while self._todo or self._tasks:
            while self._todo and len(self._tasks) < self.executor.workers:
                self._begin_next()
            self._wait()
        self._tell_news()

    def _fill(self) -> str | None:
        """Give every free worker something to do; why to stop, if there is nothing to be asked."""
        study = self.study
        while len(self._tasks) < self.executor.workers:
            if self._todo:
                self._begin_next()
                continue
            ours = self.leases.claim([t for t in study.pending if t.run is not None])
            ready = [t for t in ours if t.id not in self._in_hand and self._is_ready(t)]
            trials = ready[: study.configuration.batch]
            if not trials and self._compare():
                if self._todo:
                    continue
                return None  # to choose with what is being played
            self._tell_news()
            # Most rules wait for trials that are asked for and not done.
            rules = [rule for rule in self.rules if not trials or rule.even_if_pending]
            reasons = (rule.reason(study) for rule in rules)
            if (reason := next(filter(None, reasons), None)) is not None:
                return reason
            try:
                trials = trials or self._ask()
            except ExhaustedError:
                others = ", or asked for elsewhere" if study.pending else ""
                return f"every target has been trained on{others}"
            if not trials:
                return None
            trained = [t for t in trials if self.files.is_intact(t)]
            untrained = [t for t in trials if t not in trained]
            self._in_hand |= {trial.id for trial in trials}
            self._todo.extend(trained)
            jobs = [training_job(study, trial) for trial in untrained]
            for numbers in self.training.make_trainer().chunks(jobs) if jobs else []:
                run = _Run([untrained[n] for n in numbers], [jobs[n] for n in numbers])
                self._todo.append(run)
        return None

    def _ask(self) -> list[Trial]:
        """Ask for the next trials, as many as a batch has; none if the rest is that of others."""
        study = self.study
        with study.write_lock():
            wanted = study.configuration.batch
            if self.budget is not None:
                # What is under way, here or elsewhere, will be finished too.
                under_way = sum(t.run is not None for t in study.pending)
                wanted = min(wanted, self.budget - study.n_finished - under_way)
            if wanted < 1:
                return []
            begun = time.monotonic()
            chosen = study.selector.next_trials(wanted)
            asked = [trial.updated(run=TrainingRun()) for trial in chosen]
            choosing = {(asked[0].id, "choosing"): time.monotonic() - begun}
            study.store.write(*asked, seconds=choosing)
            for trial in asked:
                self.leases.take(trial.id)
        for trial in asked:
            self.tell(Event("asked", trial))
        return asked

    def _is_ready(self, trial: Trial) -> bool:
        """Tell whether the policy that a trial starts from is here; give up if it never will be."""
        if trial.parent is None:
            return True
        parent = self.study.trials[trial.parent]
        state = self.files.state(parent)
        if state == "intact" or parent.status == "pending":  # which is tried again before
            return state == "intact"
        if parent.status == "finished" and parent.has_policy:
            raise StudyError(
                f"Policy {trial.id} starts from policy {parent.id}, whose file is {state}. Bring "
                f"it back, or withdraw it: sdmbtl tell {self.files.root} --id {parent.id} --forget"
            )
        what = "was trained elsewhere" if parent.status == "finished" else f"is {parent.status}"
        error = f"StudyError: it starts from policy {parent.id}, which {what}: no weights are here"
        self.recorder.give_up(trial, error)
        return False

    def _known_returns(self, trial: Trial) -> NDArray[np.float64]:
        """(N, E) returns of a policy on the targets so far, NaN where there are none."""
        space, most = self.study.space, self.study.configuration.episodes
        if trial.row is None:
            return np.full((len(space), most), np.nan)
        episodes = self.study.store.episodes().get(trial.id, trial.row[:, None])
        missing = max(most - episodes.shape[1], 0)  # more may have been reported
        return np.pad(episodes, ((0, 0), (0, missing)), constant_values=np.nan)

    def _begin_first(self, trial: Trial) -> None:
        """Begin to evaluate the policy of a trial, before it is compared with others."""
        known, made = self._known_returns(trial), self.study.configuration
        targets, spent = None, self._spent()
        if made.evaluate != "all":
            affordable = None
            if spent.evaluation and trial.run is not None and trial.run.steps:
                affordable = spent.for_episodes(int(COMPARED_SHARE * trial.run.steps))
            seed = _evaluation_seed(made)
            targets = first_targets(self.study.space, known, seed, affordable)
        self._begin_row(trial, known, targets)

    def _counts(self, trial: Trial) -> NDArray[np.intp]:
        """(N,) numbers of episodes that a finished policy has played on the targets."""
        if trial.episodes is not None:
            return trial.episodes
        return np.full(len(self.study.space), self.study.configuration.episodes)

    def _spent(self) -> Spent:
        """Return what the finished policies that were trained here have used."""
        finished = [t for t in self.study.selector.history.finished if t.run is not None]
        runs = [t.run for t in finished if t.run is not None]
        return Spent(
            sum(run.steps or 0 for run in runs),
            sum(run.evaluation_steps for run in runs),
            sum(int(self._counts(t).sum()) for t in finished),
        )

    def _compare(self) -> bool:
        """Play the policies on which the choice depends most; False if enough was played."""
        study, made = self.study, self.study.configuration
        if made.evaluate == "all":
            return False
        if any(isinstance(task, _Piece) for task in self._tasks.values()):
            return True
        spent = self._spent()
        if not spent.allows_comparison:
            return False
        errors, is_open = study.store.errors(), dict[int, NDArray[np.bool_]]()
        for trial in study.selector.history.finished:
            if trial.id not in self._in_hand and self.files.is_intact(trial):
                is_open[trial.id] = self._counts(trial) < made.episodes
                is_open[trial.id][list(errors.get(trial.id, ()))] = False
        seed = derived_seed(_evaluation_seed(made), "candidates", spent.episodes)
        chosen = next_comparison(study.selector.history, is_open, seed)
        if chosen is None:
            return False
        trial = study.trials[chosen[0]]
        if not self.leases.alone:
            with study.write_lock():
                is_old = study.trials[trial.id] is not trial
                is_ours = not is_old and bool(self.leases.claim([trial]))
            if is_old:  # another process played it while this one was choosing
                return self._compare()
            if not is_ours:
                return False
        self._begin_row(trial, self._known_returns(trial), chosen[1])
        return True

    def _tell_news(self) -> None:
        for event in self._news:
            self.tell(replace(event, trial=self.study.trials[event.trial.id]))
        self._news.clear()

    def _begin_row(
        self,
        trial: Trial,
        known: NDArray[np.float64],
        targets: NDArray[np.intp] | None,
    ) -> None:
        """Begin to play a policy on some targets, see `RowEvaluation`, cut into pieces."""
        study = self.study
        seed, errors = _evaluation_seed(study.configuration), study.store.errors()
        before = errors.get(trial.id, {})
        evaluation = RowEvaluation(trial, study.space, known, seed, targets, before)
        row = _Row(trial, evaluation, self.files.content(trial.id))
        pieces: list[_Piece] = []
        for batch in evaluation.batches():
            size = len(batch.numbers)
            if not self.executor.in_process and self.training.make_trainer().evaluates_on_host:
                size = max(-(-size // (PIECES_PER_WORKER * self.executor.workers)), 1)
            pieces += [
                _Piece(row, batch._replace(numbers=batch.numbers[i : i + size]))
                for i in range(0, len(batch.numbers), size)
            ]
        row.todo = sum(len(piece.batch.numbers) for piece in pieces)
        if pieces:
            self._in_hand.add(trial.id)
            self._todo.extendleft(reversed(pieces))  # before what is still to be trained
            self.tell(Event("evaluating", trial, 0, row.todo))

    def _begin_next(self) -> None:
        task = self._todo.popleft()
        if isinstance(task, Trial):
            self._begin_first(task)
        else:
            self._submit(task)

    def _submit(self, task: _Run | _Piece) -> None:
        from sdmbtl.training.tasks import evaluate_task, train_task

        show = self.executor.in_process  # otherwise reports come in another thread
        if isinstance(task, _Run):
            task.begun = time.monotonic()
            what: list[Any] = [train_task, self.training, task.jobs, self.checkpoints]
        else:
            what = [evaluate_task, self.training, task.row.policy, task.row.evaluation.contexts]
            what += [*task.batch, self.helpers if show else None]

        def listen(data: dict[str, Any]) -> None:
            if isinstance(task, _Run):
                task.latest = data
                if show:
                    self._show_run(task, len(task.trials))
            elif show:
                row = task.row
                self.tell(Event("evaluating", row.trial, row.done + data["done"], row.todo))

        self._tasks[self.executor.submit(*what, on_report=listen)] = task

    def _wait(self) -> list[int]:
        """Take what is done, or show how far it is; returns the trials that ended."""
        done, ended = set[Future[Any]](), list[int]()
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
            take: Any = self._take_piece if isinstance(task, _Piece) else self._take_training
            ended += take(task, future, error)
        self._in_hand -= set(ended)
        return ended

    def _take_training(
        self, run: _Run, future: Future[Any], error: WorkerLostError | None
    ) -> list[int]:
        """Record what was trained; returns the trials that are not evaluated next."""
        from sdmbtl.training import delete_checkpoints

        if error is not None:
            for trial in run.trials:
                self.recorder.keep_lost(trial, str(error), WORKER_RETRIES)
            return [trial.id for trial in run.trials]
        outcomes = list(zip(run.trials, run.jobs, future.result(), strict=True))
        self.recorder.keep_trained(outcomes, time.monotonic() - run.begun)
        if self.checkpoints is not None:
            delete_checkpoints(self.training, run.jobs, self.checkpoints)
        trials = [self.study.trials[before.id] for before in run.trials]
        trained = [
            t
            for t in trials
            if t.has_policy and t.status == "pending" and t.id in self.leases.tokens
        ]
        self._todo.extendleft(reversed(trained))
        # The others failed, are to be tried again, or were reported elsewhere.
        return [t.id for t in trials if t not in trained]

    def _take_piece(
        self, piece: _Piece, future: Future[Any], error: WorkerLostError | None
    ) -> list[int]:
        """Put the returns of a piece into its row; returns the trial if that is complete."""
        row, batch = piece.row, piece.batch
        if error is None:
            result = future.result()
            row.evaluation.take(batch, result["returns"], result["errors"])
            row.evaluation.steps += result["steps"]
        elif piece.lost < WORKER_RETRIES:  # one by one: the others are not to suffer
            alone = (batch._replace(numbers=[number]) for number in reversed(batch.numbers))
            self._todo.extendleft(_Piece(row, each, piece.lost + 1) for each in alone)
            return []
        else:
            nothing = np.full((len(batch.numbers), batch.episodes), np.nan)
            lost = dict.fromkeys(batch.numbers, f"WorkerLostError: {error}")
            row.evaluation.take(batch, nothing, lost)
        row.done += len(batch.numbers)
        self.tell(Event("evaluating", row.trial, row.done, row.todo))
        if row.done < row.todo:
            return []
        event = self.recorder.keep_evaluated(
            row.trial, row.evaluation, time.monotonic() - row.begun
        )
        self._news += [event] if event is not None else []
        return [row.trial.id]

    def _count_failures(self, numbers: Iterable[int]) -> None:
        """Count failures in a row; raise if they are too many, or in the code of an environment."""
        for trial in (self.study.trials[number] for number in numbers):
            if trial.status == "finished":
                self._failures = 0
            if trial.status != "failed":  # a retry to come is neither
                continue
            self._failures += 1
            run, path = trial.run or TrainingRun(), self.files.root
            last = run.errors[-1] if run.errors else "it was reported as failed elsewhere"
            is_hopeless = not self.study.n_finished and CODE_ERROR.search(last)
            if self._failures < GIVE_UP_AFTER and not is_hopeless:
                continue
            what, way_out = "Training", f"sdmbtl resume {path} --retry-failed"
            if run.policy_sha256 is not None:
                what, way_out = "Training or evaluation", f"sdmbtl evaluate {path} --missing"
            where = "a context" if self._failures == 1 else f"{self._failures} contexts in a row"
            raise StudyError(
                f"{what} failed on {where}, the last time with: {last.rstrip('.')}. Policies that "
                f"were trained are kept. Fix the cause, then: {way_out}"
            )

    def _show(self) -> None:
        """Tell how far the work is: a training run with news first."""
        runs = [task for task in self._tasks.values() if isinstance(task, _Run)]
        if runs:
            run = next((run for run in runs if run.latest is not run.shown), runs[0])
            self._show_run(run, sum(len(run.trials) for run in runs))
        else:
            row = next(task.row for task in self._tasks.values() if isinstance(task, _Piece))
            self.tell(Event("evaluating", row.trial, row.done, row.todo))

    def _show_run(self, run: _Run, policies: int) -> None:
        from sdmbtl.training import Report

        report, speed = Report(**(run.latest or {"steps": 0, "total_steps": 0})), np.nan
        told = len(report.evaluations)
        if run.latest is not run.shown:
            told = 0 if run.shown is None else len(run.shown["evaluations"])
            run.shown, now = run.latest, time.monotonic()
            if run.first is None:  # what comes before, such as a compilation, does not count
                run.first = (report.steps, now) if report.steps else None
            elif report.steps > run.first[0] and now > run.first[1]:
                speed = (report.steps - run.first[0]) / (now - run.first[1])
        event = Event(
            *(report.stage, run.trials[0], report.steps, report.total_steps, report.mean_return),
            steps_per_second=speed,
            policies=policies,
            evaluations=report.evaluations[told:],
            metrics=report.metrics,
        )
        self.tell(event)


def _evaluation_seed(made: Configuration) -> int:
    return derived_seed(made.seed, "evaluate")


def training_job(study: Study, trial: Trial) -> TrainingJob:
    """Make the training job of a trial's present attempt."""
    from sdmbtl.training import TrainingJob

    space, attempt = study.space, (trial.run or TrainingRun()).attempt
    seed, number = study.configuration.seed, study.configuration.region_contexts
    row, parent = None, None if trial.parent is None else study.files.load(trial.parent)
    if space.is_whole(trial.source):
        number *= WHOLE_SPACE
        if trial.parent is not None and study.trials[trial.parent].row is not None:
            # A policy that continues practises where its parent falls short. The rows up to its
            # parent's were there when the trial was asked for, so a run that is begun again gets
            # the same contexts.
            known = History(space, 0, study.trials[: trial.parent + 1])
            row = known.expected_returns[known.row_of(trial.parent)]
    rng = np.random.default_rng(seed_sequence(seed, "region", trial.id))
    return TrainingJob(
        space.draw(trial.source, number, rng, row),
        derived_seed(seed, "train", trial.id, attempt),
        attempt,
        parent,
        trial.steps,
        trial.source.sees_context,
    )
