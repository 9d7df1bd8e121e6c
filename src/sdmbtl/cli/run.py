"""`sdmbtl run` and `sdmbtl resume`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings

import typer

from sdmbtl.cli import arguments, options
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.output import note, print_json, warnings_as_notes
from sdmbtl.cli.signals import StopSignals
from sdmbtl.cli.status import DEFAULT_BUDGET, print_next_steps, print_status
from sdmbtl.cli.study import opened_with_environment
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.studies import Study


@dataclass(frozen=True)
class Limits:
    """When a run stops, as given on the command line."""

    budget: int | None
    total_steps: int | None
    time: str | None
    min_gain: float | None
    patience: int

    def __post_init__(self) -> None:
        from sdmbtl.studies.stopping import Budget, NoGain, TotalSteps

        if self.budget is not None:  # said before a study is made
            Budget(self.budget)
        if self.total_steps is not None:
            TotalSteps(self.total_steps)
        if self.min_gain is not None:
            NoGain(self.min_gain, self.patience)
        arguments.seconds(self.time)

    @property
    def given(self) -> bool:
        """Whether anything says when to stop."""
        limits = (self.budget, self.total_steps, self.time, self.min_gain)
        return any(limit is not None for limit in limits)

    def to_options(self) -> str:
        """The limits as options that give them again; the budget is on record."""
        given = "" if self.total_steps is None else f" --total-steps {self.total_steps}"
        given += "" if self.time is None else f" --time {self.time}"
        if self.min_gain is not None:
            given += f" --min-gain {self.min_gain:g} --patience {self.patience}"
        return given


@dataclass(frozen=True)
class Output:
    """What a run prints, writes and may use, as given on the command line."""

    as_json: bool
    quiet: bool
    log_every: float | None
    tensorboard: Path | None
    eval_processes: int | None

    def to_options(self) -> str:
        """The options that give it again."""
        given = "" if self.eval_processes is None else f" --eval-processes {self.eval_processes}"
        if self.tensorboard is not None:
            given += f" --tensorboard {quote(str(self.tensorboard))}"
        return given


def run(
    env: options.EnvArgument,
    out: options.OutOption = None,
    seed: options.SeedOption = 0,
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
) -> None:
    """Choose regions or contexts, train a policy on each, evaluate it on all targets.

    Without --budget, --total-steps, --time and --min-gain, 12 policies are
    trained. '--width 0 --init scratch' trains on single contexts, as the paper.
    To continue, give the same command again, or 'sdmbtl resume DIR'.
    """
    path = out or Path("runs") / arguments.directory_name(env)
    limits = Limits(budget, total_steps, time, min_gain, patience)
    output = Output(as_json, quiet, arguments.seconds(log_every), tensorboard, eval_processes)
    with _stoppable(path, limits, output) as signals:
        study = _open(
            path,
            arguments.family(env, space, levels, option, physics),
            selector=selector,
            selector_options=arguments.settings(selector_option or (), "--selector-option"),
            width=arguments.width(width),
            init=arguments.init(init),
            specialist_steps=specialist_steps,
            trainer=trainer,
            trainer_options=arguments.trainer_options(set_, steps, observe_context=observe_context),
            seed=seed,
            episodes=episodes,
            batch=batch,
            retries=retries,
            accept_changes=accept_changes,
        )
        _run(study, limits, output, signals)


def resume(
    path: options.StudyArgument,
    budget: options.BudgetOption = None,
    total_steps: options.TotalStepsOption = None,
    time: options.TimeOption = None,
    min_gain: options.MinGainOption = None,
    patience: options.PatienceOption = 3,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Let contexts whose training failed be chosen again."),
    ] = False,
    accept_changes: options.AcceptChangesOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    log_every: options.LogEveryOption = "30s",
    tensorboard: options.TensorBoardOption = None,
    eval_processes: options.EvalProcessesOption = None,
) -> None:
    """Continue a study with the settings it was made with.

    Without --budget, --total-steps, --time and --min-gain, it continues to
    the last budget.
    """
    limits = Limits(budget, total_steps, time, min_gain, patience)
    output = Output(as_json, quiet, arguments.seconds(log_every), tensorboard, eval_processes)
    with _stoppable(path, limits, output) as signals:
        study = opened_with_environment(path, accept_changes=accept_changes)
        if not limits.given and study.budget is None:
            raise ArgumentError(
                f"The study in {str(path)!r} has no budget on record. Say when to stop: --budget, "
                "--total-steps, --time or --min-gain."
            )
        if retry_failed:
            _ = study.training  # refuses changed environments before anything is changed
            count = study.retry_failed()
            note(f"{counted(count, 'context')} whose training failed may be chosen again.")
        _run(study, limits, output, signals)


def _open(path: Path, family: EnvironmentFamily, **settings: Any) -> Study:
    """Make a study, or resume the one that is there."""
    from sdmbtl.studies import Study

    return Study.open(path, family, **settings)


@contextmanager
def _stoppable(path: Path, limits: Limits, output: Output) -> Iterator[StopSignals]:
    """A signal ends the run, saying what is kept and how to continue."""
    signals = StopSignals()
    with signals.ending_with(lambda: _interrupted(path, limits, output)):
        yield signals


def _run(study: Study, limits: Limits, output: Output, signals: StopSignals) -> None:
    budget = limits.budget if limits.given else study.budget or DEFAULT_BUDGET
    with catch_warnings(action="ignore") if output.quiet else warnings_as_notes():
        _ = study.training  # whether its environments have changed, before anything else is said
    signals.check()
    if not output.quiet:
        note(_introduction(study))
        with warnings_as_notes():
            study.warn_of_environment()
    reason = study.run(
        budget,
        total_steps=limits.total_steps,
        time_limit=arguments.seconds(limits.time),
        min_gain=limits.min_gain,
        patience=limits.patience,
        callbacks=[lambda _: signals.check()],
        progress=not output.quiet,
        log_every=None if output.as_json else output.log_every,
        tensorboard=output.tensorboard,
        eval_processes=output.eval_processes,
    )
    status = {**study.status(), "stopped": reason}
    if output.as_json:
        print_json(status)
    elif not output.quiet:
        print_status(status)
        print_next_steps(study.path, status)


def _interrupted(path: Path, limits: Limits, output: Output) -> str:
    """What is kept when a signal ends a run, and how to continue."""
    from sdmbtl.studies import Study

    if not (path / "study.db").exists():
        return "Interrupted before the study was made."
    kept = counted(Study.open(path).n_finished, "policy is", "policies are")
    command = f"sdmbtl resume {quote(str(path))}{limits.to_options()}{output.to_options()}"
    return f"Interrupted; {kept} kept. Continue with: {command}"


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
