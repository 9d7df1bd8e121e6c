"""`sdmbtl run` and `sdmbtl resume`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

from sdmbtl.checks import known_name
from sdmbtl.cli import arguments, options
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.config import ConfigOption
from sdmbtl.cli.output import note, print_json, warnings_as_notes
from sdmbtl.cli.signals import StopSignals
from sdmbtl.cli.status import DEFAULT_BUDGET, print_result
from sdmbtl.cli.study import opened_with_environment
from sdmbtl.execution import executor_names
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.studies import Study
    from sdmbtl.studies.parallel_plan import ParallelOptions


@dataclass(frozen=True)
class Limits:
    """When a run stops, as given on the command line; checked before a study is made."""

    budget: int | None
    total_steps: int | None
    time: str | None
    min_gain: float | None
    patience: int

    def __post_init__(self) -> None:
        if self.min_gain is not None and math.isnan(self.min_gain):
            raise ArgumentError("--min-gain is a share of the range of returns, 0 to 1. Got nan.")
        _ = self.seconds

    @property
    def seconds(self) -> float | None:
        """The seconds of this run."""
        return None if self.time is None else arguments.seconds(self.time, "--time")

    @property
    def given(self) -> bool:
        """Whether anything says when to stop."""
        limits = (self.budget, self.total_steps, self.time, self.min_gain)
        return any(limit is not None for limit in limits)

    def to_options(self) -> str:
        """The limits as options that give them again."""
        given = "" if self.budget is None else f" --budget {self.budget}"
        given += "" if self.total_steps is None else f" --total-steps {self.total_steps}"
        if self.min_gain is not None:
            given += f" --min-gain {self.min_gain:g} --patience {self.patience}"
        return given + ("" if self.time is None else f" --time {self.time}")


@dataclass(frozen=True)
class Output:
    """What a run prints, writes and may use, as given; checked as the limits are."""

    as_json: bool
    quiet: bool
    log_every: str
    tensorboard: Path | None

    def __post_init__(self) -> None:
        _ = self.log_seconds
        if self.tensorboard is not None:
            from sdmbtl.callbacks.tensorboard import check_tensorboard

            check_tensorboard(self.tensorboard)

    @property
    def log_seconds(self) -> float | None:
        """Seconds between two lines that say what happens; None for none of them."""
        seconds = arguments.seconds(self.log_every, "--log-every")
        if not seconds > 0:
            raise ArgumentError(f"--log-every is a time above 0. Got {self.log_every!r} instead.")
        return None if self.as_json else seconds

    def to_options(self) -> str:
        """The options that give it again."""
        if self.tensorboard is None:
            return ""
        return f" --tensorboard {quote(str(self.tensorboard))}"


@dataclass(frozen=True)
class Choice:
    """How contexts are chosen, as given."""

    selector: str
    selector_option: list[str] | None
    width: str
    init: str
    specialist_steps: int | None
    batch: int

    @property
    def keywords(self) -> dict[str, Any]:
        """As keywords of `Study.open`."""
        return {
            "selector": self.selector,
            "selector_options": arguments.settings(self.selector_option or (), "--selector-option"),
            "width": arguments.width(self.width),
            "init": arguments.init(self.init),
            "specialist_steps": self.specialist_steps,
            "batch": self.batch,
        }


@dataclass(frozen=True)
class Training:
    """How policies are trained, as given."""

    trainer: str
    set: list[str] | None
    steps: int | None
    observe_context: bool
    episodes: int
    retries: int

    @property
    def keywords(self) -> dict[str, Any]:
        """As keywords of `Study.open`."""
        options = arguments.trainer_options(
            self.set, self.steps, observe_context=self.observe_context
        )
        return {
            "trainer": self.trainer,
            "trainer_options": options,
            "episodes": self.episodes,
            "retries": self.retries,
        }


@dataclass(frozen=True)
class Parallel:
    """How much is done at once, and where, as given; checked as the limits are."""

    jobs: int
    executor: str | None
    address: str | None
    run_limit: str | None
    memory_limit: float | None
    join: bool
    eval_processes: int | None

    def __post_init__(self) -> None:
        if self.executor is not None:
            known_name("--executor", self.executor, executor_names(), error=ArgumentError)
        if self.address is not None and self.executor != "ray":
            raise ArgumentError("--address is of a Ray cluster: give --executor ray too.")
        if self.memory_limit is not None and self._name != "processes":
            raise ArgumentError(
                "--memory-limit is for processes of this machine: give --jobs or --executor "
                "processes too. Ray has a limit of its own."
            )
        if self.run_limit is not None and self._name == "serial":
            raise ArgumentError(
                "--run-limit ends a process that hangs: give --jobs or --executor processes too."
            )
        _ = self.keywords

    @property
    def _name(self) -> str:
        return self.executor or ("processes" if self.jobs > 1 else "serial")

    @property
    def keywords(self) -> ParallelOptions:
        """As keywords of `Study.run`."""
        limit = self.memory_limit
        settings = {
            "address": self.address,
            "memory_limit": None if limit is None else max(int(limit * 2**30), 1),
        }
        return {
            "jobs": self.jobs,
            "executor": self.executor,
            "executor_options": {k: v for k, v in settings.items() if v is not None},
            "run_limit": None
            if self.run_limit is None
            else arguments.seconds(self.run_limit, "--run-limit"),
            "join": self.join,
            "eval_processes": self.eval_processes,
        }

    def to_options(self) -> str:
        """The options that give it again."""
        given = {
            "--jobs": self.jobs if self.jobs > 1 else None,
            "--executor": self.executor,
            "--address": self.address,
            "--run-limit": self.run_limit,
            "--memory-limit": self.memory_limit,
            "--eval-processes": self.eval_processes,
        }
        words = [f" {name} {quote(str(value))}" for name, value in given.items() if value]
        return "".join(words) + (" --join" if self.join else "")


def run(
    env: options.EnvArgument,
    out: options.OutOption = None,
    seed: options.SeedOption = 0,
    seeds: options.SeedsOption = None,
    budget: options.BudgetOption = None,
    total_steps: options.TotalStepsOption = None,
    time: options.TimeOption = None,
    min_gain: options.MinGainOption = None,
    patience: options.PatienceOption = 3,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    log_every: options.LogEveryOption = "30s",
    tensorboard: options.TensorBoardOption = None,
    eval_processes: options.EvalProcessesOption = None,
    jobs: options.JobsOption = 1,
    executor: options.ExecutorOption = None,
    address: options.AddressOption = None,
    run_limit: options.RunLimitOption = None,
    memory_limit: options.MemoryLimitOption = None,
    join: options.JoinOption = False,
    space: options.SpaceOption = None,
    levels: options.LevelsOption = None,
    option: options.FamilyOption = None,
    physics: options.PhysicsOption = None,
    selector: options.SelectorOption = "auto",
    selector_option: options.SelectorSettingOption = None,
    width: options.WidthOption = "auto",
    init: options.InitOption = "auto",
    batch: options.BatchOption = 1,
    trainer: options.TrainerOption = "auto",
    steps: options.StepsOption = None,
    specialist_steps: options.SpecialistStepsOption = None,
    set_: options.SetOption = None,
    observe_context: options.ObserveContextOption = False,
    episodes: options.EpisodesOption = 10,
    retries: options.RetriesOption = 1,
    accept_changes: options.AcceptChangesOption = False,
    config: ConfigOption = None,  # noqa: ARG001 - it has set what the others are
) -> None:
    """Choose regions or contexts, train a policy on each, evaluate it on all targets.

    Without --budget, --total-steps, --time and --min-gain, 12 policies are
    trained. '--width 0 --init scratch' trains on single contexts, as the paper.
    To continue, give the same command again, or 'sdmbtl resume DIR'.
    """
    limits = Limits(budget, total_steps, time, min_gain, patience)
    output = Output(as_json, quiet, log_every, tensorboard)
    parallel = Parallel(jobs, executor, address, run_limit, memory_limit, join, eval_processes)
    choice = Choice(selector, selector_option, width, init, specialist_steps, batch)
    training = Training(trainer, set_, steps, observe_context, episodes, retries)
    settings = {**choice.keywords, **training.keywords, "accept_changes": accept_changes}
    for path, own_seed in _list_studies(env, out, seed, seeds).items():
        with _stoppable(path, limits, output, parallel) as signals:
            family = arguments.family(env, space, levels, option, physics)
            study = _open(path, family, seed=own_seed, **settings)
            _run(study, limits, output, parallel, signals)


def _list_studies(env: str, out: Path | None, seed: int, seeds: int | None) -> dict[Path, int]:
    """The directories of the studies that are to be made, with their seeds."""
    root = out or Path("runs") / arguments.directory_name(env)
    if seeds is None:
        return {root: seed}
    return {root / f"seed-{number}": number for number in range(seed, seed + seeds)}


def resume(
    path: options.StudyArgument,
    budget: options.BudgetOption = None,
    total_steps: options.TotalStepsOption = None,
    time: options.TimeOption = None,
    min_gain: options.MinGainOption = None,
    patience: options.PatienceOption = 3,
    retry_failed: options.RetryFailedOption = False,
    retrain_missing: options.RetrainMissingOption = False,
    adopt_pending: options.AdoptPendingOption = False,
    accept_changes: options.AcceptChangesOption = False,
    trust: options.TrustOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    log_every: options.LogEveryOption = "30s",
    tensorboard: options.TensorBoardOption = None,
    wait: options.WaitOption = 30.0,
    eval_processes: options.EvalProcessesOption = None,
    jobs: options.JobsOption = 1,
    executor: options.ExecutorOption = None,
    address: options.AddressOption = None,
    run_limit: options.RunLimitOption = None,
    memory_limit: options.MemoryLimitOption = None,
    join: options.JoinOption = False,
) -> None:
    """Continue a study with the settings it was made with.

    Without --budget, --total-steps, --time and --min-gain, it stops as the
    run before was asked to; its time does not count. What 'sdmbtl ask' gave
    out is left to who asked for it.
    """
    limits = Limits(budget, total_steps, time, min_gain, patience)
    output = Output(as_json, quiet, log_every, tensorboard)
    parallel = Parallel(jobs, executor, address, run_limit, memory_limit, join, eval_processes)
    with _stoppable(path, limits, output, parallel, trust=trust) as signals:
        study = opened_with_environment(path, accept_changes=accept_changes, trust=trust, wait=wait)
        if not limits.given and not study.stop_rules:
            raise ArgumentError(
                f"The study in {str(path)!r} has no budget on record. Say when to stop: --budget, "
                "--total-steps, --time or --min-gain."
            )
        if retry_failed:
            _ = study.training  # refuses changed environments before anything is changed
            count = study.retry_failed()
            note(f"{counted(count, 'context')} whose training failed may be chosen again.")
        if adopt_pending:
            _ = study.training
            count = study.adopt_pending()
            note(f"{counted(count, 'pending policy', 'pending policies')} will be trained here.")
        _run(study, limits, output, parallel, signals, retrain_missing=retrain_missing)


def _open(path: Path, family: EnvironmentFamily, **settings: Any) -> Study:
    """Make a study, or resume the one that is there."""
    from sdmbtl.studies import Study

    return Study.open(path, family, **settings)


@contextmanager
def _stoppable(
    path: Path, limits: Limits, output: Output, parallel: Parallel, *, trust: bool = False
) -> Iterator[StopSignals]:
    """A signal ends the run, saying what is kept and how to continue."""
    signals = StopSignals()
    # Without a time, which is about one run alone, all limits are on record.
    again = "" if limits.time is None else limits.to_options()
    options = f"{again}{output.to_options()}{parallel.to_options()}{' --trust' if trust else ''}"
    with signals.ending_with(lambda: _interrupted(path, options)):
        yield signals


def _run(
    study: Study,
    limits: Limits,
    output: Output,
    parallel: Parallel,
    signals: StopSignals,
    *,
    retrain_missing: bool = False,
) -> None:
    limits = _completed(limits, study, quiet=output.quiet)
    with catch_warnings(action="ignore") if output.quiet else warnings_as_notes():
        _ = study.training  # whether its environments have changed, before anything else is said
    signals.check()
    if not output.quiet:
        note(_introduction(study))
        with warnings_as_notes():
            study.warn_of_environment()
    reason = study.run(
        limits.budget,
        total_steps=limits.total_steps,
        time_limit=limits.seconds,
        min_gain=limits.min_gain,
        patience=limits.patience,
        callbacks=[lambda _: signals.check()],
        progress=not output.quiet,
        log_every=output.log_seconds,
        tensorboard=output.tensorboard,
        retrain_missing=retrain_missing,
        **parallel.keywords,
    )
    if output.as_json:
        print_json({**study.status(), "stopped": reason})
    elif not output.quiet:
        print_result(study.snapshot(), reason)


def _completed(limits: Limits, study: Study, *, quiet: bool) -> Limits:
    """The limits of a run: as given, otherwise as in the run before, otherwise the usual budget."""
    if limits.given:
        return limits
    if not study.stop_rules:
        return replace(limits, budget=DEFAULT_BUDGET)
    limits = replace(limits, **study.stop_rules)
    if not quiet:
        note(f"Using the earlier stopping rule:{limits.to_options()}")
    return limits


def _interrupted(path: Path, options: str) -> str:
    """What is kept when a signal ends a run, and how to continue."""
    from sdmbtl.studies import Study

    if not (path / "study.db").exists():
        return "Interrupted before the study was made."
    kept = counted(Study.open(path).n_finished, "policy is", "policies are")
    return f"Interrupted; {kept} kept. Continue with: sdmbtl resume {quote(str(path))}{options}"


def _introduction(study: Study) -> str:
    """What is run, and whether it was begun before."""
    configuration = study.configuration
    name = (configuration.family or {"name": "no environment"})["name"]
    trainer = (configuration.trainer or {"name": "none"})["name"]
    targets = f"{counted(len(study.space), 'target')} ({', '.join(study.space.names)})"
    text = f"{name}: {targets}, trainer {trainer}, study in {study.path}"
    if study.trials:
        finished = counted(study.n_finished, "finished policy", "finished policies")
        text += f"\nContinuing after {finished}."
    return text
