"""`sdmbtl run` and `sdmbtl resume`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.options import (
    CHOICE,
    TRAINING,
    EnvArgument,
    EpisodesOption,
    FamilyOption,
    LevelsOption,
    PhysicsOption,
    SetOption,
    SpaceOption,
    StepsOption,
    TrainerOption,
)
from sdmbtl.cli.output import JsonOption, counted, note, note_console, print_json
from sdmbtl.cli.signals import Stopped, StopSignals
from sdmbtl.cli.status import DEFAULT_BUDGET, print_next_steps, print_status
from sdmbtl.cli.study import StudyArgument, opened_with_environment

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.studies import Study

_STOP = "When to stop"

BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget",
        help="Stop after so many policies, earlier runs included.",
        rich_help_panel=_STOP,
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="TIME",
        help="Stop when this time is used: 90s, 30m, 2h.",
        rich_help_panel=_STOP,
    ),
]
MinGainOption = Annotated[
    float | None,
    typer.Option(
        "--min-gain",
        help="Stop when the next policies are expected to add less than this share of the range "
        "of returns; if the selector cannot tell, when the last ones added less.",
        rich_help_panel=_STOP,
    ),
]
PatienceOption = Annotated[
    int,
    typer.Option(
        "--patience",
        help="How many policies, together, must reach --min-gain.",
        rich_help_panel=_STOP,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


@dataclass(frozen=True)
class Limits:
    """When a run stops, as given on the command line."""

    budget: int | None
    time: str | None
    min_gain: float | None
    patience: int

    def __post_init__(self) -> None:
        from sdmbtl.studies.stopping import Budget, NoGain

        if self.budget is not None:  # said before a study is made
            Budget(self.budget)
        if self.min_gain is not None:
            NoGain(self.min_gain, self.patience)

    @property
    def given(self) -> bool:
        """Whether anything says when to stop."""
        return any(v is not None for v in (self.budget, self.time, self.min_gain))

    def to_options(self) -> str:
        """The limits as options that give them again; the budget is on record."""
        options = []
        if self.time is not None:
            options.append(f" --time {self.time}")
        if self.min_gain is not None:
            options.append(f" --min-gain {self.min_gain:g} --patience {self.patience}")
        return "".join(options)


def run(
    env: EnvArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the study.", show_default="runs/env"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Root of every random number.", min=0)] = 0,
    budget: BudgetOption = None,
    time: TimeOption = None,
    min_gain: MinGainOption = None,
    patience: PatienceOption = 3,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    space: SpaceOption = None,
    levels: LevelsOption = None,
    option: FamilyOption = None,
    physics: PhysicsOption = None,
    selector: Annotated[
        str, typer.Option(help="What chooses the contexts.", rich_help_panel=CHOICE)
    ] = "auto",
    selector_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of it.", rich_help_panel=CHOICE),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(help="Policies chosen and trained at once.", rich_help_panel=CHOICE),
    ] = 1,
    trainer: TrainerOption = "auto",
    steps: StepsOption = None,
    set_: SetOption = None,
    observe_context: Annotated[
        bool,
        typer.Option(
            "--observe-context", help="Let policies see their context.", rich_help_panel=TRAINING
        ),
    ] = False,
    episodes: EpisodesOption = 10,
    retries: Annotated[
        int,
        typer.Option(help="Further attempts if a training fails.", rich_help_panel=TRAINING),
    ] = 1,
) -> None:
    """Choose contexts, train a policy on each, evaluate it on all targets.

    Without --budget, --time and --min-gain, 12 policies are trained.
    Interrupted, it goes on where it was when the same command is given
    again, or with 'sdmbtl resume DIR'.
    """
    from sdmbtl.studies import Study

    path = out or Path("runs") / env.lower().replace(":", "-")
    limits = Limits(budget, time, min_gain, patience)
    family_options = arguments.family_options(option, physics)
    trainer_options = arguments.trainer_options(set_, steps)
    if observe_context:
        trainer_options["observe_context"] = True
    signals = StopSignals()
    with _stopped_cleanly(path, limits, signals):
        study = Study.open(
            path,
            made_family(env, space, levels, family_options),
            selector=selector,
            selector_options=arguments.settings(selector_option or (), "--selector-option"),
            trainer=trainer,
            trainer_options=trainer_options,
            seed=seed,
            episodes=episodes,
            batch=batch,
            retries=retries,
        )
        _run(study, limits, signals, as_json=as_json, quiet=quiet)


def resume(
    path: StudyArgument,
    budget: BudgetOption = None,
    time: TimeOption = None,
    min_gain: MinGainOption = None,
    patience: PatienceOption = 3,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Let contexts be chosen again whose training failed."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Go on with a study, as it was made.

    Without --budget, --time and --min-gain, it goes on to the last budget.
    """
    limits = Limits(budget, time, min_gain, patience)
    signals = StopSignals()
    with _stopped_cleanly(path, limits, signals):
        study = opened_with_environment(path)
        if not limits.given and "budget" not in study.database.facts():
            raise ArgumentError(
                f"The study in {str(path)!r} has no budget on record. Say when to stop: --budget, "
                "--time or --min-gain."
            )
        if retry_failed:
            count = study.retry_failed()
            note(f"{counted(count, 'context')} whose training failed may be chosen again.")
        _run(study, limits, signals, as_json=as_json, quiet=quiet)


def made_family(
    env: str, space: str | None, levels: int | None, options: dict[str, Any]
) -> EnvironmentFamily:
    """The environments as they are named on the command line."""
    from sdmbtl.environments import make_family

    if ":" in env and space is None:
        raise ArgumentError(
            f"The environments of {env!r} need a context space: --space FILE.toml, with a table "
            "[dimensions.NAME] for each dimension."
        )
    if levels is not None:
        if space is not None and (space.endswith(".toml") or ":" in env):
            raise ArgumentError(
                f"--levels is for the spaces of a family; the file {space!r} has its own levels."
            )
        return make_family(env, space=make_family(env, **options).space(space, levels), **options)
    is_file = space is not None and Path(space).is_file()
    return make_family(env, space=Path(str(space)) if is_file else space, **options)


def _run(study: Study, limits: Limits, signals: StopSignals, *, as_json: bool, quiet: bool) -> None:
    from sdmbtl.cli.progress import RunDisplay

    budget = limits.budget
    if not limits.given:
        budget = study.database.facts().get("budget", DEFAULT_BUDGET)
    time_limit = arguments.seconds(limits.time)
    display = RunDisplay(study, note_console(), budget=budget, time_limit=time_limit)

    def observe(event: Any) -> None:
        signals.check()
        if not quiet:
            display(event)

    if not quiet:
        note(_introduction(study))
    with _shown(display, wanted=not quiet):
        reason = study.run(
            budget,
            time_limit=time_limit,
            min_gain=limits.min_gain,
            patience=limits.patience,
            observer=observe,
        )
    status = {**study.status(), "stopped": reason}
    if as_json:
        print_json(status)
    elif not quiet:
        print_status(status)
        print_next_steps(study.path, status)


@contextmanager
def _shown(display: Any, *, wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    with display:
        yield


@contextmanager
def _stopped_cleanly(path: Path, limits: Limits, signals: StopSignals) -> Iterator[None]:
    """Say what is kept when a signal ends a run, and how to go on."""
    with signals.handled():
        try:
            yield
            return
        except Stopped as stop:
            status = stop.exit_status
    if not (path / "study.db").exists():
        note("Interrupted before the study was made.")
    else:
        kept = counted(_finished(path), "policy is", "policies are")
        note(
            f"Interrupted; {kept} kept. "
            f"Go on with: sdmbtl resume {quote(str(path))}{limits.to_options()}"
        )
    raise typer.Exit(status)


def _finished(path: Path) -> int:
    from sdmbtl.studies import Study

    return Study.open(path).n_finished


def _introduction(study: Study) -> str:
    """What is run, and whether it was begun before."""
    configuration = study.configuration
    name = (configuration.family or {"name": "no environment"})["name"]
    trainer = (configuration.trainer or {"name": "none"})["name"]
    targets = f"{counted(len(study.space), 'target')} ({', '.join(study.space.names)})"
    text = f"{name}: {targets}, trainer {trainer}, study in {study.path}"
    if study.trials:
        finished = counted(study.n_finished, "finished policy", "finished policies")
        text += f"\nGoing on after {finished}."
    return text
