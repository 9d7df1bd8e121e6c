"""Studies: choose a context, train on it, evaluate everywhere, choose again; durably."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.callbacks import Callback, CallbackList, TensorBoardWriter, make_displays
from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import SelectorError, StudyError
from sdmbtl.parallel import Workers
from sdmbtl.portfolio import Portfolio
from sdmbtl.selectors import Trial
from sdmbtl.selectors.base import TellOptions, TrialLike
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.configuration import Configuration, Setup, StudyOptions, set_up
from sdmbtl.studies.creation import create_study
from sdmbtl.studies.database import StudyDatabase, mean_over_episodes
from sdmbtl.studies.directory import check_there, is_study, warn_of_network
from sdmbtl.studies.environment import (
    check_identity,
    recorded_environments,
    warn_of_missing_time_limit,
)
from sdmbtl.studies.evaluation import count_missing, evaluate_chosen, evaluation_workers
from sdmbtl.studies.gathering import gather_portfolio
from sdmbtl.studies.lease_holder import LeaseHolder
from sdmbtl.studies.leases import Lease
from sdmbtl.studies.lending import (
    keep_superseded,
    lend_again,
    new_leases,
    renew_lease,
    returned_lease,
)
from sdmbtl.studies.loop import Loop
from sdmbtl.studies.parallel_plan import ParallelOptions, ParallelPlan
from sdmbtl.studies.runner import Runner
from sdmbtl.studies.state import StudyState
from sdmbtl.studies.stopping import StopRule, record_rules, stop_rules
from sdmbtl.studies.trust import StudyTrust
from sdmbtl.transfer import as_episodes
from sdmbtl.wording import printable

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.training import Trainer, TrainerSpec
    from sdmbtl.training.progress import EvaluationProgress


class Study(StudyState):
    """A directory with a database and policy files, and the loop that fills them.

    Make or resume one with `Study.open`. What is recorded is in the database; in memory the
    selector's history is the only book, and the database is always written first.

    Args:
        path: The directory.
        given: What the study was set up with just now; made from what is recorded if left out.
        accept_changes: Whether environments may have changed; see `open`.
        wait: Seconds to wait for other processes; see `open`.
        trust: Whether code that the study names may be imported; see `open`.

    Raises:
        ConfigurationError: If it was set up in another way before.
        DamagedStudyError: If its files are damaged.
    """

    def __init__(
        self,
        path: Path,
        given: Setup | None = None,
        *,
        accept_changes: bool = False,
        wait: float = 30.0,
        trust: bool = False,
    ) -> None:
        warn_of_network(path)
        self.path = path
        self._accept_changes = accept_changes
        self.database = StudyDatabase(path / "study.db", wait)
        with self.database.opened():
            facts = self.database.facts()
            self.configuration = Configuration.recorded(facts, path)
            self._environments = recorded_environments(facts)
            trusted = trust or given is not None
            self.trust = StudyTrust(path, self.configuration, facts, given=trusted)
            if given is not None:
                given.configuration.check_same(self.configuration, path)
                self.trust.remember()
            _, self.selector, self._training = given or self.configuration.set_up()
            self.space = self.selector.space
            self.selector.load_trials(self.database.trials(self.space))
        self.selector.return_range = self.return_range
        self._was_warned = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        env: str | EnvironmentFamily | Callable[..., Any] | None = None,
        *,
        space: str | Path | ContextSpace | None = None,
        return_range: tuple[float, float] | None = None,
        selector: str = "auto",
        selector_options: Mapping[str, Any] | None = None,
        trainer: str = "auto",
        trainer_options: Mapping[str, Any] | None = None,
        accept_changes: bool = False,
        wait: float = 30.0,
        trust: bool = False,
        **options: Unpack[StudyOptions],
    ) -> Self:
        """Make a study, or resume the one in this directory.

        Args:
            path: The directory; made if missing.
            env: Name of a family, "gym:NAME", "module:function", a family, or a function of a
                context. With a space alone, training is yours; without both, as it was made.
            space: A `ContextSpace`, the name of one of the family's, or the path of a TOML file.
            return_range: Lowest and highest return, before what family or file say.
            selector: Its name; "auto": "generalist-first" if policies can start from others.
            selector_options: Its settings.
            trainer: Name of the trainer.
            trainer_options: Its settings; what is left out is as the family recommends.
            accept_changes: Continue although the code of the environments was edited meanwhile.
            wait: Seconds to wait, whenever something is recorded, for another process that writes.
            trust: Import the code that a study names although it was not made here.
            **options: Keywords, all of them optional.
            seed: Root of every random number.
            episodes: Episodes for each policy on each target.
            batch: Policies that are chosen, and trained, at once.
            retries: How often a failed training run is tried again, each time with another seed.
            width: Width of the regions that are trained on, as a share of each dimension's range.
            init: Start from "scratch" or a "parent"; width=0 and init="scratch" is the paper.
            specialist_steps: Environment steps of the policies after the first.
            region_contexts: Contexts drawn in a region; in the whole space four times as many.

        Raises:
            ConfigurationError: If the directory has a study with another configuration.
            StudyError: If it is damaged, or there is none and nothing to make one from.
        """
        path = Path(path)
        if env is None and space is None:
            return cls(check_there(path), accept_changes=accept_changes, trust=trust, wait=wait)
        known = is_study(path)
        given = set_up(
            env,
            space=space,
            return_range=return_range,
            selector={"name": selector, "options": selector_options or {}},
            trainer={"name": trainer, "options": trainer_options or {}},
            options=options,
        )
        if not known:
            create_study(path, given.configuration, given.training, wait)
        return cls(path, given, accept_changes=accept_changes, wait=wait)

    # -- the environments ----------------------------------------------------------------------

    @property
    def training(self) -> TrainerSpec:
        """How policies are trained, as data.

        Raises:
            StudyError: If training is not this study's, or its environments are not known here,
                or not trusted.
            ConfigurationError: If the code of the environments has changed.
        """
        if self._training is None:
            raise StudyError(
                f"The study in {str(self.path)!r} has no environment: training is yours, with ask "
                "and tell. Make a study with an environment to have it trained."
            )
        environment = self._training.environment
        if self._training.live is None and not environment.get("importable", True):
            name = environment["name"]
            raise StudyError(
                f"The environments of the study in {str(self.path)!r} are made by the function "
                f"{name!r}, which cannot be imported by name. Pass it again to resume: "
                "Study.open(path, function, space=space)."
            )
        self.trust.check()
        if self._environments:
            recorded = self._environments[-1]
            check_identity(self, self._training, recorded, accept=self._accept_changes)
            self._environments = []  # once is enough
        return self._training

    @property
    def family(self) -> EnvironmentFamily:
        """The environments."""
        return self.training.make_family()

    @property
    def trainer(self) -> Trainer:
        """The trainer."""
        return self.training.make_trainer()

    # -- the loop ------------------------------------------------------------------------------

    def run(
        self,
        budget: int | None = None,
        *,
        total_steps: int | None = None,
        time_limit: float | None = None,
        min_gain: float | None = None,
        patience: int = 3,
        rules: Iterable[StopRule] = (),
        callbacks: Iterable[Callback] = (),
        progress: bool | Literal["auto"] = "auto",
        log_every: float | None = 30.0,
        tensorboard: str | Path | None = None,
        checkpoint_seconds: float | None = 60.0,
        retrain_missing: bool = False,
        **parallel: Unpack[ParallelOptions],
    ) -> str:
        """Choose, train and evaluate until a stop rule holds.

        May be interrupted at any moment and called again, here or in another process: the same
        contexts are chosen and the same returns come out. Others may ask and tell meanwhile; what
        they asked for is theirs to train, see `adopt_pending`.

        Args:
            budget: Number of finished policies, those of earlier runs included.
            total_steps: Environment steps of finished policies, those of earlier runs included.
            time_limit: Seconds for this run; a policy that would end later is not begun.
            min_gain: Stop when the next `patience` policies are expected to add less than this
                share of the range of returns, or the last ones did; see `NoGain`.
            patience: See there.
            rules: Further rules.
            callbacks: Called with every `Event`; context managers are entered and left with the
                run. An error of one is logged, and the run continues.
            progress: Whether the run is shown. "auto": unless `logging` shows "sdmbtl" at INFO.
            log_every: Seconds between two lines that say what happens; None for none of them.
            tensorboard: Directory for TensorBoard.
            checkpoint_seconds: Time between two checkpoints of a training run; None for none.
            retrain_missing: First train policies again whose file is missing or damaged.
            **parallel: What is done at once, and where: see `ParallelOptions`.

        Returns:
            Why it stopped, in words.

        Raises:
            BusyError: If another process runs the study, and `join` is not set.
            StudyError: If several training runs in a row failed, or the disk is full.
            MissingPackageError: If tensorboard or Ray is asked for and not installed.
        """
        plan = ParallelPlan.of(parallel)
        stops = stop_rules(rules, budget, total_steps, time_limit, min_gain, patience)
        self.warn_of_environment()  # a study that cannot train says so before anything is chosen
        with self._running(plan.eval_processes, join=plan.join) as workers:
            shown = make_displays(self, progress, log_every, budget, time_limit)
            written = [] if tensorboard is None else [TensorBoardWriter(self, tensorboard)]
            with self.alone():
                record_rules(self.database, budget, total_steps, min_gain, patience)
            with CallbackList([*shown, *written, *callbacks]) as tell:
                runner = Runner(self, tell, workers, plan, checkpoint_seconds)
                return runner.run(stops, budget, retrain_missing=retrain_missing)

    def warn_of_environment(self) -> None:
        """Warn of episodes that might never end, once, before time is spent on them."""
        trainer = self.trainer
        if not self._was_warned:
            self._was_warned = True
            warn_of_missing_time_limit(trainer)

    # -- ask and tell --------------------------------------------------------------------------

    @overload
    def ask(
        self,
        n: None = None,
        *,
        lease: float | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial: ...
    @overload
    def ask(
        self, n: int, *, lease: float | None = None, attributes: Mapping[str, Any] | None = None
    ) -> list[Trial]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        lease: float | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial | list[Trial]:
        """Choose the next source, or the next `n`, to be trained elsewhere.

        They are pending until reported; as `Selector.ask`.

        Args:
            n: How many; one, not in a list, if left out.
            lease: Seconds after which they are given to whoever asks next with a lease, unless
                they are reported or renewed until then; see `lease_of`. None for never.
            attributes: What you want to remember of each, as `annotate`: recorded with them at
                once.
        """
        count = 1 if n is None else check_int("n", n, low=1, error=SelectorError)
        with self.alone():
            again = lend_again(self, count, lease)
            new = self.selector.next_trials(count - len(again)) if len(again) < count else []
            leases = new_leases(new, lease)
            trials = [trial.annotated(attributes or {}) for trial in (*again, *new)]
            self.record(*trials, leases=leases)
            self.database.back_up()  # they are being trained: their ids must not be given to others
        return trials[0] if n is None else trials

    def lease_of(self, trial: Trial | int) -> int | None:
        """The number of the lease that a trial has now, to be given to `tell` and `renew`."""
        lease = self.database.lease(trial if isinstance(trial, int) else trial.id)
        return None if lease is None or lease.holder is None else lease.token

    def renew(self, trial: Trial | int, lease: int) -> bool:
        """Hold a lease for its number of seconds from now; returns whether it was not lost."""
        with self.alone():
            return renew_lease(self, trial if isinstance(trial, int) else trial.id, lease)

    def tell(
        self,
        trial: TrialLike,
        returns: ArrayLike | None = None,
        *,
        error: str | None = None,
        lease: int | None = None,
        **options: Unpack[TellOptions],
    ) -> Trial:
        """Report what became of a trial that was trained elsewhere; as `Selector.tell`.

        Args:
            trial: The trial, its id, a context or a `Source`, also one that was never asked.
            returns: (N,) mean return on every target, NaN where not evaluated, or (N, E) the
                return of each episode.
            error: What went wrong, for "failed".
            lease: The number of the lease that it was asked with. If it was given to somebody else
                meanwhile, what is reported is kept as superseded and does not count.
            **options: Keywords, all of them optional.
            status: "finished", "failed" or "cancelled".
            source_return: J(pi_x, x), for a source that is not an evaluated target.
            skip_if_finished: Ignore the call if this trial was reported already.
            repeat: With a context: add one more policy trained on it.
            correct: Replace what was reported of a trial before, or what was forgotten.
            reason: Why it is corrected, to be kept with the row that it had.

        Returns:
            The trial as it is recorded now.
        """
        with self.alone():
            played = None if returns is None else as_episodes(returns, self.space)
            row = None if played is None else mean_over_episodes(played)
            status = options.get("status", "finished")
            late = keep_superseded(self, trial, lease, status, row)
            if late is not None:
                return late
            reported = self.selector.reported_trial(trial, row, **options)
            if any(reported is known for known in self.trials):
                return reported  # skipped
            if error:
                run = reported.run or TrainingRun()
                reported = reported.updated(run=replace(run, errors=(*run.errors, error)))
            self.record(
                reported,
                episodes={} if played is None else {reported.id: played},
                leases=returned_lease(self, reported.id),
            )
            self.database.back_up()
        return reported

    def forget(self, trial: TrialLike, *, reason: str | None = None) -> Trial:
        """Take back what is recorded of a finished policy; as `Selector.forget`.

        Also of one that was trained here; its file stays.
        """
        with self.alone():
            forgotten = self.selector.forgotten_trial(trial, reason)
            self.record(forgotten)
            self.database.back_up()
        return forgotten

    def annotate(self, trial: TrialLike, /, **attributes: Any) -> Trial:
        """Attach what you want to remember of a trial; as `Selector.annotate`."""
        with self.alone():
            annotated = self.selector.annotated_trial(trial, attributes)
            self.record(annotated)
        return annotated

    def adopt_pending(self) -> int:
        """Have `run` train what was asked for elsewhere and not reported; returns how many.

        For askers that will never report: a pending trial is trained by who asked for it, and
        `run` leaves it to them.
        """
        with self.alone():
            others = [t.updated(run=TrainingRun()) for t in self.pending if t.run is None]
            self.record(*others)
        return len(others)

    def retry_failed(self) -> int:
        """Give contexts whose training failed back to the selector; returns how many."""
        with self.alone():
            failed = [t.updated(status="cancelled") for t in self.trials if t.status == "failed"]
            self.record(*failed)
        return len(failed)

    # -- the result ----------------------------------------------------------------------------

    def portfolio(self) -> Portfolio:
        """The policies as one object.

        A policy whose file is missing or damaged is left out with a warning. If all policies were
        trained elsewhere, the portfolio chooses among them but has none that could act.

        Raises:
            StudyError: If there is none yet.
        """
        return gather_portfolio(self)

    def evaluate(
        self,
        contexts: Iterable[ContextLike] | None = None,
        *,
        episodes: int | None = None,
        seed: int = 0,
        eval_processes: int | None = None,
        progress: EvaluationProgress | None = None,
    ) -> NDArray[np.float64]:
        """Play new episodes, each context with the policy that the portfolio chooses for it.

        The returns by which policies are chosen flatter them a little; these do not.

        Args:
            contexts: Any contexts; all targets if left out.
            episodes: Episodes on each; as in the study if left out.
            seed: Another seed gives other episodes.
            eval_processes: See `run`.
            progress: Called with the contexts done and those in all; may raise to end it.

        Returns:
            (n, episodes) returns; NaN on contexts whose evaluation failed, with a warning.

        Raises:
            TrainingError: If it failed on all of them.
        """
        with evaluation_workers(eval_processes) as workers:
            played = evaluate_chosen(self, contexts, episodes, seed, workers, progress)
        if played.errors:
            failed = played.describe_errors().rstrip(".")
            warnings.warn(printable(f"{failed}. Those contexts are NaN."), stacklevel=2)
        return played.returns

    def evaluate_missing(
        self, callbacks: Iterable[Callback] = (), *, eval_processes: int | None = None
    ) -> dict[str, int]:
        """Evaluate recorded policies on the targets on which their evaluation failed.

        They play the episodes that they would have played. Returns that are known stay as they
        are; a policy that could not be evaluated at all becomes a finished one.

        Args:
            callbacks: Called with every `Event`.
            eval_processes: See `run`.

        Returns:
            How many returns, each of one policy on one target, were `missing` and are `left`.
        """
        _ = self.training  # which records accepted changes, and needs the lock for that
        with self._running(eval_processes) as workers:
            before = count_missing(self)
            with CallbackList(callbacks) as tell, LeaseHolder(self) as leases:
                Loop(self, tell, workers, leases).evaluate_missing()
            return {"missing": before, "left": count_missing(self)}

    # -- inside --------------------------------------------------------------------------------

    @contextmanager
    def _running(self, eval_processes: int | None, *, join: bool = False) -> Iterator[Workers]:
        """Be the one process that trains and evaluates, or join it; with one connection."""
        workers = evaluation_workers(eval_processes)
        alone = nullcontext() if join else self.database.running()
        with alone, self.database.opened(), workers:
            self.refresh()
            yield workers

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock to write, knowing all that other processes have recorded.

        Raises:
            BusyError: If another process holds it for too long.
        """
        with self.database.locked(), self.database.opened():
            self.refresh()
            yield

    def record(
        self,
        *trials: Trial,
        episodes: Mapping[int, NDArray[np.float64]] | None = None,
        errors: Mapping[int, Mapping[int, str]] | None = None,
        seconds: Mapping[tuple[int, str], float] | None = None,
        leases: Mapping[int, Lease] | None = None,
    ) -> None:
        """Write trials to the database, then into the selector's history.

        Args:
            *trials: The trials, all of them or none.
            episodes: See `StudyDatabase.write`, as for what follows.
            errors: Errors on targets.
            seconds: Times of stages.
            leases: To whom trials are lent.
        """
        self.database.write(
            *trials, episodes=episodes, errors=errors, seconds=seconds, leases=leases
        )
        self.selector.record(*trials)
