"""`sdmbtl run` and `sdmbtl resume`."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from sdmbtl.cli import options
from sdmbtl.cli.output import note, print_json
from sdmbtl.cli.parsing import parse_seconds, parse_settings
from sdmbtl.cli.signals import StopSignals, stoppable
from sdmbtl.cli.status import DEFAULT_BUDGET, print_result
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.studies import Study

_CHOICE, _TRAINING = "Choice of contexts", "Training"


def run(
    env: options.EnvArgument,
    *,
    out: Path | None = typer.Option(
        None, metavar="DIR", help="Directory of the study.", show_default="runs/ENV"
    ),
    start: Path | None = typer.Option(
        None,
        "--from",
        metavar="FILE",
        help="First policy, already trained: a policy file, or for sb3 an archive (.zip).",
    ),
    seed: options.SeedOption = 0,
    quiet: options.QuietOption = False,
    as_json: options.JsonOption = False,
    log: options.LogOption = None,
    budget: options.BudgetOption = None,
    total_steps: options.TotalStepsOption = None,
    time: options.TimeOption = None,
    min_gain: options.MinGainOption = None,
    space: options.SpaceOption = None,
    levels: options.LevelsOption = None,
    option: options.EnvOption = None,
    selector: str = typer.Option(
        "auto",
        metavar="NAME",
        help="Selection strategy, or your module:Class; auto depends on the trainer.",
        rich_help_panel=_CHOICE,
    ),
    objective: str = typer.Option(
        "mean",
        metavar="mean|cvar:0.1|worst|share:0.9",
        help="Quantity to raise: mean, worst tenth, worst, or share above 90 %.",
        rich_help_panel=_CHOICE,
    ),
    selector_option: list[str] | None = typer.Option(
        None, metavar="KEY=VALUE", help="Setting of the selector.", rich_help_panel=_CHOICE
    ),
    trainer: options.TrainerOption = "auto",
    steps: options.StepsOption = None,
    set_: options.SetOption = None,
    episodes: options.EpisodesOption = 10,
    evaluate: str | None = typer.Option(
        None,
        metavar="all|chosen",
        help="Targets to evaluate on; chosen: those where episodes may change the best policy.",
        show_default="chosen for generalist-first, otherwise all",
        rich_help_panel=_TRAINING,
    ),
    jobs: options.JobsOption = 1,
    executor: options.ExecutorOption = None,
    executor_option: options.ExecutorSettingOption = None,
    join: options.JoinOption = False,
) -> None:
    """Train policies on chosen contexts and evaluate them.

    Without a stopping rule, 12 policies are trained. The same command, or
    'sdmbtl resume DIR', continues an interrupted run. '--selector NAME' with
    a selector of the paper, such as m/gp-mbtl, trains on single contexts.
    """
    path = out or Path("runs") / re.sub(r"[:/]", "-", env.lower())
    rules = _stop_rules(budget, total_steps, time, min_gain)
    how = {
        "jobs": jobs,
        "executor": executor,
        "executor_options": parse_settings(executor_option, "--executor-option"),
        "join": join,
        "log": log or (),
    }
    settings: dict[str, Any] = {
        "selector": selector,
        "selector_options": parse_settings(selector_option, "--selector-option"),
        "objective": objective,
        "trainer": trainer,
        "trainer_options": parse_settings(set_, "--set"),
        "episodes": episodes,
        "evaluate": evaluate,
        "seed": seed,
    }
    if steps is not None:
        settings["trainer_options"]["total_timesteps"] = steps
    with stoppable(_continuation(path)) as signals:
        from sdmbtl.studies import Study

        is_new = not path.exists()
        study = Study.open(path, options.make_family(env, space, levels, option), **settings)
        if start is not None:
            _start_from(study, start, is_new=is_new)
        named = "" if space is None or Path(space).exists() else f" {space}"
        reason = _run(study, signals, rules, how, quiet=quiet, space=named)
    _print_end(study, reason, quiet=quiet, as_json=as_json)


def _start_from(study: Study, start: Path, *, is_new: bool) -> None:
    """Start a study from a policy; if it is refused, a directory made for it is deleted."""
    place = study.path.absolute()
    try:
        study.start_from(start)
    except BaseException:
        if is_new and not study.trials:
            study.close()
            shutil.rmtree(place)
        raise


def resume(
    path: options.StudyArgument,
    *,
    retry_failed: bool = typer.Option(
        False, "--retry-failed", help="Another attempt at contexts that failed."
    ),
    trust: options.TrustOption = False,
    wait: options.WaitOption = 30.0,
    quiet: options.QuietOption = False,
    as_json: options.JsonOption = False,
    log: options.LogOption = None,
    budget: options.BudgetOption = None,
    total_steps: options.TotalStepsOption = None,
    time: options.TimeOption = None,
    min_gain: options.MinGainOption = None,
    jobs: options.JobsOption = 1,
    executor: options.ExecutorOption = None,
    executor_option: options.ExecutorSettingOption = None,
    join: options.JoinOption = False,
) -> None:
    """Continue a study with its recorded settings.

    Without a stopping rule, the rule of the earlier run applies, except for
    its time. Contexts handed out by 'sdmbtl ask' stay with whoever asked.
    """
    rules = _stop_rules(budget, total_steps, time, min_gain)
    how = {
        "jobs": jobs,
        "executor": executor,
        "executor_options": parse_settings(executor_option, "--executor-option"),
        "join": join,
        "log": log or (),
    }
    with stoppable(_continuation(path)) as signals:
        from sdmbtl.studies import Study

        study = Study.open(path, trust=trust, wait=wait)
        _ = study.training  # refuses code that is not trusted before anything is changed
        if retry_failed:
            count = study.retry_failed()
            note(f"{counted(count, 'context')} whose training failed may be chosen again.")
        reason = _run(study, signals, rules, how, quiet=quiet)
    _print_end(study, reason, quiet=quiet, as_json=as_json)


def _stop_rules(
    budget: int | None, total_steps: int | None, time: str | None, min_gain: float | None
) -> dict[str, Any]:
    """Return the stopping rules that are given, as keywords of `Study.run`."""
    rules = {
        "budget": budget,
        "total_steps": total_steps,
        "time_limit": None if time is None else parse_seconds(time, "--time"),
        "min_gain": min_gain,
    }
    return {name: value for name, value in rules.items() if value is not None}


def _continuation(path: Path) -> str:
    """Return the message for a signal, with the command that continues."""
    again = f"sdmbtl resume {quote(str(path))}"
    return f"Interrupted; everything so far is kept. Continue with the same command, or: {again}"


def _run(
    study: Study,
    signals: StopSignals,
    rules: Mapping[str, Any],
    how: Mapping[str, Any],
    *,
    quiet: bool,
    space: str = "",
) -> str:
    """Run a study, with notes at its beginning, and return why it stopped."""
    training = study.training  # fails if its environments cannot be made here
    signals.check()
    if quiet:
        warnings.simplefilter("ignore")  # until the signals are handled no more
    else:
        tasks = counted(len(study.space), "task")
        parts = [f"{training.environment['name']}{space}", tasks, training.trainer]
        note(" · ".join(["sdmbtl", *parts, str(study.path)]))
        if study.n_finished:
            finished = counted(study.n_finished, "finished policy", "finished policies")
            note(f"Continuing after {finished}.")
    if not rules:
        rules = study.stop_rules or {"budget": DEFAULT_BUDGET}
        if study.stop_rules and not quiet:
            earlier = ", ".join(f"{name} {value}" for name, value in rules.items())
            note(f"Using the earlier stopping rule: {earlier}")
    return study.run(
        **rules,
        **how,
        callbacks=[lambda _: signals.check()],
        progress=not quiet,
    )


def _print_end(study: Study, reason: str, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        print_json({**study.status(), "stopped": reason})
    elif not quiet:
        print_result(study.snapshot(), reason)
