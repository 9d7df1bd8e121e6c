"""Studies: choose a context, train on it, evaluate everywhere, choose again; durably."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.callbacks import Callback, make_displays, make_trackers, one_callback
from sdmbtl.checks import check_float, check_int
from sdmbtl.contexts import ContextLike, ContextSpace, SpaceLike
from sdmbtl.errors import (
    DuplicateTellError,
    LostLeaseError,
    SelectorError,
    StudyError,
    UnknownTrialError,
)
from sdmbtl.execution import Executor, SerialExecutor
from sdmbtl.json_data import as_json
from sdmbtl.policies import load_policy, policy_bytes
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.selectors import Trial
from sdmbtl.selectors.base import TellOptions, TrialLike
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.configuration import Configuration, Evaluate, Setup, set_up
from sdmbtl.studies.evaluation import count_missing, evaluate_chosen
from sdmbtl.studies.extension import EXTENSIONS, adapted_files, extend_study
from sdmbtl.studies.leases import LeaseKeeper, grant
from sdmbtl.studies.loop import Loop
from sdmbtl.studies.networks import Baseline, distill_study, train_baseline
from sdmbtl.studies.policy_files import PolicyFiles
from sdmbtl.studies.random_actions import (
    RandomActions,
    measure_random_actions,
    recorded_random_actions,
)
from sdmbtl.studies.row_evaluation import episodes_behind
from sdmbtl.studies.snapshot import StudySnapshot, take_snapshot
from sdmbtl.studies.stopping import (
    STOP_RULES,
    STOPPED,
    Budget,
    NoGain,
    StopRule,
    TimeLimit,
    TotalSteps,
)
from sdmbtl.studies.store import open_store
from sdmbtl.studies.workers import evaluation_helpers, open_executor
from sdmbtl.transfer import as_episodes, mean_over_episodes, share_of_range
from sdmbtl.trust import ORIGIN, StudyTrust
from sdmbtl.wording import printable

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.plots import StudyPlots
    from sdmbtl.policies import Policy
    from sdmbtl.portfolio.network import Knowledge
    from sdmbtl.studies.store import StudyStore
    from sdmbtl.training import Progress, Trainer, TrainerSpec
    from sdmbtl.training.progress import EvaluationProgress


class Study:
    """A directory with a database and policy files, and the loop that fills them.

    Make or resume one with `Study.open`. It is made of a store (the database), a selector (what to
    train on), a training specification, and policy files. Changes go to the database first, then
    into the selector's history.
    """

    def __init__(
        self, path: Path, store: StudyStore, given: Setup | None = None, *, trust: bool = False
    ) -> None:
        self.path, self.store = path, store
        # Not `path`: an environment may have changed the working directory.
        self.files = PolicyFiles(store.path.parent)
        self._load(given, trust=trust)

    def _load(self, given: Setup | None, *, trust: bool) -> None:
        """Make selector and history of what is on record."""
        facts = self.store.facts()
        self.configuration = made = Configuration.recorded(facts, self.path)
        self.trust = StudyTrust(
            self.files.root,
            made.family,
            [facts.get(ORIGIN), asdict(made)],
            given=trust or given is not None,
            selector=made.selector["name"],
        )
        if given is not None:
            given.configuration.check_same(made, self.path)
            self.trust.remember()
        elif self.trust.names_selector:
            self.trust.check()
        _, self.selector, self._training = given or made.set_up()
        self.space = self.selector.space
        self.selector.load_trials(self.store.trials(self.space))
        self.selector.history.return_range = self.return_range
        if EXTENSIONS in facts:
            self.files.changes = adapted_files(facts, self.space)

    def close(self) -> None:
        """Close the database."""
        self.store.close()

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
        objective: str = "mean",
        trainer: str = "auto",
        trainer_options: Mapping[str, Any] | None = None,
        wait: float = 30.0,
        trust: bool = False,
        seed: int = 0,
        episodes: int = 10,
        batch: int = 1,
        retries: int = 1,
        region_contexts: int = 64,
        evaluate: Evaluate | None = None,
    ) -> Self:
        """Make a study, or resume the one in this directory.

        Args:
            path: The directory; made if missing.
            env: Name of a family, "gym:NAME", "module:function", a family, or a function of a
                context. With a space alone, training is yours; without both, as it was made.
            space: A `ContextSpace`, the name of one of the family's, or the path of a TOML file.
            return_range: Lowest and highest return; overrides family and file.
            selector: Its name; "auto": "generalist-first" if policies can start from others.
            selector_options: Its settings.
            objective: Quantity to raise: "mean", "cvar:0.1" (the worst tenth), "worst" or
                "share:0.9" (share of the targets above 90 % of the range of returns).
            trainer: Name of the trainer.
            trainer_options: Its settings; what is left out is as the family recommends.
            wait: Seconds to wait, whenever something is recorded, for another process that writes.
            trust: Import the code that a study names although it was not made here.
            seed: Root of every random number.
            episodes: Episodes for each policy on each target; at most, if evaluate="chosen".
            batch: Policies that are chosen, and trained, at once.
            retries: How often a failed training run is tried again, each time with another seed.
            region_contexts: Contexts drawn in a region; in the whole space four times as many.
            evaluate: "all" for every policy on every target, "chosen" for where it may change
                which policy is chosen; "chosen" for "generalist-first" if left out.

        Raises:
            ConfigurationError: If the directory has a study with another configuration.
            StudyError: If it is damaged, or there is none and nothing to make one from.
        """
        path = Path(path)
        place = path.absolute()  # an environment may change the working directory
        if env is None and space is None:
            store = open_store(place, wait)
            return cls(path, store, trust=trust)
        aim = {} if objective == "mean" else {"objective": objective}
        given = set_up(
            env,
            space=space,
            return_range=return_range,
            selector={"name": selector, "options": {**(selector_options or {}), **aim}},
            trainer={"name": trainer, "options": trainer_options or {}},
            evaluate=evaluate,
            seed=seed,
            episodes=episodes,
            batch=batch,
            retries=retries,
            region_contexts=region_contexts,
        )
        store = open_store(place, wait, given.facts)
        try:
            return cls(path, store, given)
        except BaseException:
            store.close()
            raise

    @property
    def training(self) -> TrainerSpec:
        """Training specification, as data.

        Raises:
            StudyError: If training is not this study's, or its environments are not known here,
                or not trusted.
        """
        if self._training is None:
            raise StudyError(
                f"The study in {str(self.path)!r} has no environment: training is yours, with ask "
                "and tell. Make a study with an environment to have it trained."
            )
        environment = self._training.environment
        if self._training.live is None and not environment.get("importable", True):
            raise StudyError(
                f"The environments of the study in {str(self.path)!r} are made by the function "
                f"{environment['name']!r}, which cannot be imported by name. Pass it again to "
                "resume: Study.open(path, function, space=space)."
            )
        self.trust.check()
        return self._training

    @property
    def family(self) -> EnvironmentFamily:
        """The environments."""
        return self.training.make_family()

    @property
    def trainer(self) -> Trainer:
        """The trainer."""
        return self.training.make_trainer()

    def run(
        self,
        budget: int | None = None,
        *,
        total_steps: int | None = None,
        time_limit: float | None = None,
        min_gain: float | None = None,
        rules: Iterable[StopRule] = (),
        callbacks: Iterable[Callback] = (),
        progress: bool | Literal["auto"] = "auto",
        log: Iterable[str] = (),
        checkpoint_seconds: float | None = 60.0,
        jobs: int | None = None,
        executor: str | Executor | None = None,
        executor_options: Mapping[str, Any] | None = None,
        run_limit: float | None = None,
        join: bool = False,
        eval_processes: int | None = None,
    ) -> str:
        """Choose, train and evaluate until a stop rule holds.

        May be interrupted at any moment and called again, here or in another process: the same
        contexts are chosen and the same returns come out. Others may ask and tell meanwhile; what
        they asked for is theirs to train.

        Args:
            budget: Number of finished policies, those of earlier runs included.
            total_steps: Environment steps of training and evaluation, earlier runs included.
            time_limit: Seconds for this run; a policy that would end later is not begun.
            min_gain: Stop when the next three policies are expected to add less than this share
                of the range of returns, or the last ones did; see `NoGain`.
            rules: Further rules.
            callbacks: Called with every `Event`; context managers are entered and left with the
                run. An error of one is logged, and the run continues.
            progress: Whether the run is shown. "auto": unless `logging` shows "sdmbtl" at INFO.
            log: Trackers: "tensorboard" (in the study's directory), "wandb", "mlflow".
            checkpoint_seconds: Time between two checkpoints of a training run; None for none.
            jobs: Number of training runs at once.
            executor: "serial" (this process), "processes", "ray", "submitit" (SLURM), or an
                `Executor`, which is left open. With several jobs "processes" if left out.
            executor_options: Its settings, such as {"address": "auto"} or {"partition": "gpu"}.
            run_limit: Seconds that one training run may take before it counts as hanging.
            join: Work together with other processes that run the study, also on other machines.
            eval_processes: Processes that evaluate a policy that was trained in this process; as
                many as cores if left out.

        Returns:
            Why it stopped, in words.

        Raises:
            BusyError: If another process runs the study, and `join` is not set.
            StudyError: If several training runs in a row failed, or the disk is full.
            MissingPackageError: If a tracker or Ray is asked for and not installed.
        """
        stops = list(rules)
        stops += [] if budget is None else [Budget(budget)]
        stops += [] if total_steps is None else [TotalSteps(total_steps)]
        stops += [] if time_limit is None else [TimeLimit(time_limit)]
        stops += [] if min_gain is None else [NoGain(min_gain)]
        if not stops:
            raise StudyError(
                "A run needs a 'budget', 'total_steps', a 'time_limit', a 'min_gain' or a rule."
            )
        with ExitStack() as stack:
            leases = stack.enter_context(LeaseKeeper(self.store, alone=not join))
            workers = stack.enter_context(
                open_executor(self, executor, jobs, run_limit, executor_options)
            )
            helpers = stack.enter_context(evaluation_helpers(eval_processes, self.trainer))
            checkpoints = None
            if checkpoint_seconds is not None:
                from sdmbtl.training import Checkpoints

                checkpoints = Checkpoints(self.files.root / "checkpoints", checkpoint_seconds)
            self.refresh()
            shown = make_displays(self, progress, budget, time_limit)
            written = make_trackers(self, log)
            # From here on the arguments are known to be usable: a refused run records nothing.
            given = {"budget": budget, "total_steps": total_steps, "min_gain": min_gain}
            given = {name: value for name, value in given.items() if value is not None}
            with self.store.transaction():
                self.store.set_fact(STOPPED, None)
                if given:
                    self.store.set_fact(STOP_RULES, as_json(given))
            tell = stack.enter_context(one_callback([*shown, *written, *callbacks]))
            loop = Loop(self, leases, tell, workers, helpers, checkpoints, stops, budget)
            measure_random_actions(self, workers)
            loop.evaluate_extended()
            reason = loop.run()
            with self.store.transaction():
                self.store.set_fact(STOPPED, reason)
        self.store.back_up()
        return reason

    def extend(
        self,
        space: SpaceLike | None = None,
        *,
        defaults: Mapping[str, Any] | None = None,
        objective: str | None = None,
    ) -> list[str]:
        """Give the study another space, another objective, or both; its policies stay.

        The space may have other targets, weights and values, and more dimensions. Returns on
        targets of both spaces are kept. The next `run` evaluates policies on the new targets, as
        the study is set to. A kill leaves the study before or after the extension.

        Args:
            space: As for `open`.
            defaults: For new dimensions the value that policies were trained with so far. Without
                one, it is the environment's own.
            objective: As for `open`.

        Returns:
            The changes, in words.

        Raises:
            StudyError: If a dimension is missing, a default is not known, or nothing changes.
            BusyError: If another process runs the study.
        """
        setup, changes = extend_study(self, space, defaults or {}, objective)
        self._load(setup, trust=False)
        return changes

    def start_from(self, path: str | Path) -> Trial:
        """Take a policy that was trained elsewhere as the first one, with 0 steps.

        It is evaluated by the next `run`, and others may start from it. In a study that began with
        the same file, nothing is changed.

        Args:
            path: A policy file; for the trainer "sb3" also an archive of stable-baselines3.

        Raises:
            StudyError: If the study began otherwise, or its selector does.
            TrainerError: If the trainer cannot start from the policy.
        """
        policy = self.trainer.read_start(Path(path))
        content = policy_bytes(policy, {"id": 0, "from": Path(path).name})
        with self.write_lock():
            if self.trials:
                first = self.trials[0]
                if first.run is not None and first.run.policy_sha256 == sha256(content).hexdigest():
                    return first
                raise StudyError(
                    f"The study in {str(self.path)!r} began with another policy. Make a new study "
                    "to start from this one."
                )
            (trial,) = self.selector.next_trials(1)
            if not self.space.is_whole(trial.source):
                raise StudyError(
                    f"The selector {self.selector.name!r} begins with a single context, and "
                    "not with a policy for all. Use the selector 'generalist-first'."
                )
            if trial.source.sees_context != policy.sees_context:
                seen = "always" if policy.sees_context else "both"
                raise StudyError(
                    "The policy and the study differ in whether the context is seen. Set the "
                    f"selector option sees_context={seen}."
                )
            run = TrainingRun(steps=0, policy_sha256=self.files.write(trial.id, content))
            trial = trial.updated(run=run, reason=f"Given: {Path(path).name}.")
            self.store.write(trial)
        return trial

    @overload
    def ask(self, n: None = None, *, lease: float | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, lease: float | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, lease: float | None = None) -> Trial | list[Trial]:
        """Choose the next source, or a list of the next `n`, to be trained elsewhere.

        Args:
            n: As for `Selector.ask`.
            lease: Seconds after which they are given to whoever asks next with a lease, unless
                they are reported or renewed until then; see `lease_of`. None for never.
        """
        count = 1 if n is None else check_int("n", n, low=1, error=SelectorError)
        if lease is not None:
            check_float("lease", lease, low=0.0, error=StudyError)
        with self.write_lock():
            leases = {} if lease is None else self.store.leases()
            asked = [t for t in self.pending if t.run is None and t.id in leases]
            again = [t for t in asked if leases[t.id].is_free][:count]
            new = self.selector.next_trials(count - len(again)) if len(again) < count else []
            trials = [*again, *new]
            self.store.write(*trials)
            if lease is not None:
                for trial in trials:
                    self.store.set_lease(trial.id, grant(leases.get(trial.id), lease))
        self.store.back_up()  # they are being trained: their ids must not be given to others
        return trials[0] if n is None else trials

    def lease_of(self, trial: Trial | int) -> int | None:
        """Return the token of a trial's lease, to be given to `tell` and `renew`; None if free."""
        self.refresh()
        lease = self.store.leases().get(self.selector.find(trial).id)
        return None if lease is None or lease.holder is None else lease.token

    def renew(self, trial: Trial | int, lease: int) -> bool:
        """Record a heartbeat for a lease, by its token.

        Returns:
            False if this lease does not hold the trial (any more): its result would not count.
        """
        with self.write_lock():
            number = self.selector.find(trial).id
            now = self.store.leases().get(number)
            if now is None or now.holder is None or now.token != lease:
                return False
            self.store.set_lease(number, now.renewed())
        return True

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
            lease: The number of the lease that it was asked with.
            **options: Further keywords, as for `Selector.tell`.

        Returns:
            The trial as it is recorded now.

        Raises:
            LostLeaseError: If the trial is not held by this lease; nothing is recorded.
        """
        played = None if returns is None else as_episodes(returns, self.space)
        row = None if played is None else mean_over_episodes(played)
        with self.write_lock():
            number, leases = None, self.store.leases()
            try:
                number = None if options.get("repeat") else self.selector.find(trial).id
            except UnknownTrialError:
                if lease is not None:
                    raise
            if lease is not None and number is not None:
                if number not in leases or leases[number].token != lease:
                    raise LostLeaseError(
                        f"Lease {lease} of policy {number} was never given, or it expired and the "
                        "policy was given to another asker: the result was not recorded. Ask for "
                        "another context, or report this one as a further policy with repeat=True."
                    )
            elif number in leases and leases[number].token > 1 and self.trials[number].run is None:
                raise StudyError(
                    f"Policy {number} was given to somebody {leases[number].token} times, because "
                    "no heartbeat came. Pass the 'lease' of this result, as 'ask' printed it."
                )
            try:
                reported = self.selector.reported_trial(trial, row, **options)
            except DuplicateTellError:
                known = self.selector.find(trial)
                new, old = (np.empty(0) if r is None else r for r in (row, known.row))
                is_same = known.status == options.get("status", "finished")
                if not is_same or not np.array_equal(new, old, equal_nan=True):
                    raise
                return known  # exactly this was reported before
            if any(reported is known for known in self.trials):
                return reported  # skipped
            if error:
                run = reported.run or TrainingRun()
                reported = reported.updated(run=replace(run, errors=(*run.errors, error)))
            episodes = {}
            if played is not None:
                episodes = {reported.id: played}
                if played.shape[1] > 1 or reported.has_policy:
                    reported = reported.updated(episodes=episodes_behind(played))
            self.store.write(reported, episodes=episodes)
            if reported.id in leases:
                self.store.set_lease(reported.id, replace(leases[reported.id], holder=None))
        self.store.back_up()
        return reported

    def forget(self, trial: TrialLike, *, reason: str | None = None) -> Trial:
        """Take back what is recorded of a finished policy; its file stays."""
        with self.write_lock():
            forgotten = self.selector.find(trial).forgotten(reason)
            self.store.write(forgotten)
        self.store.back_up()
        return forgotten

    def retry_failed(self) -> int:
        """Give contexts whose training failed back to the selector; returns how many."""
        with self.write_lock():
            failed = [t.updated(status="cancelled") for t in self.trials if t.status == "failed"]
            self.store.write(*failed)
        return len(failed)

    def portfolio(self) -> Portfolio:
        """The policies as one object.

        A policy whose file is missing or damaged is left out with a warning. If all policies were
        trained elsewhere, the portfolio chooses among them but has none that could act.

        Raises:
            StudyError: If there is none yet.
        """
        members = []
        returns = self.episodes()
        for trial in (t for t in self.trials if t.row is not None):
            policy = None
            if trial.has_policy:
                state = self.files.state(trial)
                if state != "intact":
                    warnings.warn(
                        f"The policy file {self.files.path(trial.id)} is {state}; policy "
                        f"{trial.id} is left out. Run: sdmbtl doctor {self.path}",
                        stacklevel=2,
                    )
                    continue
                policy = self.files.load(trial.id)
            members.append(Member(trial.id, trial.context, policy, returns[trial.id], trial.source))
        if not members and self.n_finished:
            raise StudyError(
                f"The files of all {self.n_finished} policies of the study in {str(self.path)!r} "
                "are missing or damaged; their returns are recorded. Bring them back."
            )
        if not members:
            way_out = "Continue with: sdmbtl resume" if self._training else "See: sdmbtl tell"
            raise StudyError(
                f"The study in {str(self.path)!r} has no finished policies yet. {way_out} "
                f"{self.path}"
            )
        family, made = None, self.configuration.family
        if made is not None and made.get("importable", True):
            options = {**made["options"], "space": self.configuration.space}
            family = {"name": made["name"], "options": options}
        return Portfolio(self.space, members, family=family, return_range=self.return_range)

    def distill(
        self,
        context: Knowledge = "told",
        *,
        steps: int | None = None,
        out: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Policy:
        """Make one network that does what the portfolio does, and write its file.

        After a kill the same call continues; once the network is there, it is read.

        Args:
            context: "told": the network sees the context. "hidden": it sees observations and its
                own last actions only, and finds out with a memory.
            steps: Environment steps; 30 % of those that trained the policies if left out.
            out: Directory for the file; "networks" in the study if left out.
            progress: Called after each round; may raise to end it.

        Raises:
            PortfolioError: If a policy was trained elsewhere, so that it cannot teach.
            MissingPackageError: If JAX is not installed.
        """
        return load_policy(distill_study(self, context, steps, out, progress))

    def baseline(
        self, context: Knowledge = "hidden", *, progress: Progress | None = None
    ) -> Baseline:
        """Train one policy on random contexts with all the steps of the study, and compare.

        Both play new episodes on every target. After a kill the same call continues; once the
        comparison is there, and the study has no more steps since, it is read.

        Args:
            context: "hidden", or "told" for a policy that sees the context.
            progress: Called now and then; may raise to end it.

        Raises:
            StudyError: If the study has no finished policy yet.
            TrainingError: If the training failed.
        """
        return train_baseline(self, context, progress)

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
        with evaluation_helpers(eval_processes, self.trainer) as helpers:
            played = evaluate_chosen(self, contexts, episodes, seed, helpers, progress)
        if played.errors:
            failed = played.describe_errors().rstrip(".")
            warnings.warn(printable(f"{failed}. Those contexts are NaN."), stacklevel=2)
        return played.returns

    def evaluate_missing(
        self, callbacks: Iterable[Callback] = (), *, eval_processes: int | None = None
    ) -> dict[str, int]:
        """Evaluate recorded policies on every target on which they have no return.

        They play the episodes of `evaluate="all"` there. Returns that are known stay as they are; a
        policy that could not be evaluated at all becomes a finished one.

        Returns:
            How many returns, each of one policy on one target, were `missing` and are `left`.
        """
        with (
            LeaseKeeper(self.store) as leases,
            one_callback(callbacks) as tell,
            evaluation_helpers(eval_processes, self.trainer) as helpers,
        ):
            self.refresh()
            before = count_missing(self)
            Loop(self, leases, tell, SerialExecutor(), helpers).evaluate_missing()
        return {"missing": before, "left": count_missing(self)}

    def snapshot(self) -> StudySnapshot:
        """Return the study at this moment: policies, coverage, gaps, forecasts, problems."""
        return take_snapshot(self)

    def status(self) -> dict[str, Any]:
        """Return the snapshot as JSON data."""
        return self.snapshot().to_dict()

    @property
    def plot(self) -> StudyPlots:
        """Figures on Matplotlib axes: `plot.coverage()`, `plot.map()`, `plot.curves()`."""
        from sdmbtl.plots import StudyPlots

        return StudyPlots(self)

    def _repr_html_(self) -> str:
        from sdmbtl.studies.describe import study_html

        return study_html(self.snapshot())

    def __repr__(self) -> str:
        return (
            f"Study({str(self.path)!r}: {self.n_finished} policies, {len(self.space)} targets, "
            f"mean best return {self.performance:.4g})"
        )

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order."""
        return self.selector.trials

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked and not reported yet."""
        return self.selector.pending

    @property
    def trained(self) -> list[Trial]:
        """The trials that have a policy file on record, without those that were forgotten."""
        return [t for t in self.trials if t.has_policy and t.status != "forgotten"]

    @property
    def n_finished(self) -> int:
        """Number of finished policies."""
        return sum(t.status == "finished" for t in self.trials)

    def refresh(self) -> None:
        """Take over what other processes have recorded since."""
        known, recorded = self.trials, self.store.trials(self.space)
        self.selector.record(*(t for t in recorded if t.id >= len(known) or t is not known[t.id]))

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Hold the write lock, knowing all that other processes have recorded.

        Trials that are written meanwhile (`StudyStore.write`) are in the selector's history
        afterwards: the database comes first.
        """
        with self.store.transaction() as written:
            self.refresh()
            yield
        self.selector.record(*written.values())

    @property
    def steps(self) -> int:
        """Environment steps so far: of training, of evaluations and of random actions."""
        return self.training_steps + self.evaluation_steps

    @property
    def training_steps(self) -> int:
        """Environment steps of training, of every policy that was trained."""
        return sum(t.run.steps or 0 for t in self.trials if t.run is not None)

    @property
    def evaluation_steps(self) -> int:
        """Environment steps of evaluations and of random actions."""
        played = sum(t.run.evaluation_steps for t in self.trials if t.run is not None)
        return played + (0 if self.random_actions is None else self.random_actions.steps)

    @property
    def performance(self) -> float:
        """Mean over the targets of the best return so far; NaN before the first policy."""
        return self.selector.performance

    @property
    def returns(self) -> NDArray[np.float64]:
        """(k, N, E) returns of the finished policies on every target in every episode.

        NaN where a policy was reported with fewer episodes, or not evaluated.
        """
        finished = list(self.episodes().values())
        episodes = max((r.shape[1] for r in finished), default=self.configuration.episodes)
        returns = np.full((len(finished), len(self.space), episodes), np.nan)
        for each, played in zip(returns, finished, strict=True):
            each[:, : played.shape[1]] = played
        return returns

    def episodes(self) -> dict[int, NDArray[np.float64]]:
        """Return (N, E) returns of each finished trial, by id; of a reported row, E = 1."""
        stored = self.store.episodes()
        rows = {t.id: t.row for t in self.trials if t.row is not None}
        return {number: stored.get(number, row[:, None]) for number, row in rows.items()}

    @property
    def return_range(self) -> tuple[float, float] | None:
        """Lowest and highest return of an episode, if known."""
        known = self.configuration.return_range
        return None if known is None else (known[0], known[1])

    @property
    def return_span(self) -> float:
        """Width of the range of returns: the known one, otherwise of those seen; 0 if none is."""
        if self.return_range is not None:
            return self.return_range[1] - self.return_range[0]
        returns = self.selector.rows.returns
        seen = returns[np.isfinite(returns)]
        with np.errstate(over="ignore"):
            return float(np.ptp(seen)) if len(seen) else 0.0

    def share(self, value: float) -> float | None:
        """Return a return as a share of the range of returns; None if either is not known."""
        return share_of_range(value, self.return_range)

    @property
    def random_actions(self) -> RandomActions | None:
        """Returns of random actions, as measured before the first policy; None if they were not."""
        return recorded_random_actions(self.store.facts())

    @property
    def stop_rules(self) -> dict[str, Any]:
        """Stop rules of the last run, as keywords of `run`, without its time limit."""
        return dict(self.store.facts().get(STOP_RULES, {}))

    @property
    def running_process(self) -> int | None:
        """Number of a process that runs the study now; None if there is none."""
        return next((run.process for run in self.store.runs() if not run.is_free), None)
