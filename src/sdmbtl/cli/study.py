"""The commands about studies: run, resume, status, evaluate, ask, tell and doctor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.output import (
    JsonOption,
    add_context_columns,
    context_cells,
    counted,
    figure,
    note,
    note_console,
    plain_table,
    print_json,
    result_console,
    shown,
    warnings_as_notes,
)
from sdmbtl.cli.signals import Stopped, StopSignals

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.studies import Study
    from sdmbtl.studies.doctor import Diagnosis

#: Policies that are trained if nothing says when to stop.
DEFAULT_BUDGET = 12

#: Contexts that are listed as the worst ones.
WORST = 5

_STOP, _CHOICE, _TRAINING = "When to stop", "Choice", "Training"

StudyArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the study.")]
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
        help="Stop when policies add less than this share of the range of returns.",
        rich_help_panel=_STOP,
    ),
]
PatienceOption = Annotated[
    int,
    typer.Option(
        "--patience",
        help="Number of policies that together must reach --min-gain.",
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


# -- run and resume --------------------------------------------------------------------------------


def run(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV",
            help="An environment family ('sdmbtl environments' lists them), or module:function.",
        ),
    ],
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
    space: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="The contexts: a space of the family, or a file.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(
            help="Values of each dimension, for a space of the family.",
            min=1,
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the family.", rich_help_panel=_CHOICE),
    ] = None,
    physics: Annotated[
        str | None,
        typer.Option(help="The same as --option physics=...", rich_help_panel=_CHOICE),
    ] = None,
    selector: Annotated[
        str, typer.Option(help="What chooses the contexts.", rich_help_panel=_CHOICE)
    ] = "auto",
    selector_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of it.", rich_help_panel=_CHOICE),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(help="Policies chosen and trained at once.", rich_help_panel=_CHOICE),
    ] = 1,
    trainer: Annotated[
        str, typer.Option(help="auto, ppo or sb3.", rich_help_panel=_TRAINING)
    ] = "auto",
    steps: Annotated[
        int | None,
        typer.Option(
            help="Environment steps for each policy; as the trainer recommends if left out.",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the trainer, as hyperparameters.gamma=0.98",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    observe_context: Annotated[
        bool,
        typer.Option(
            "--observe-context", help="Let policies see their context.", rich_help_panel=_TRAINING
        ),
    ] = False,
    episodes: Annotated[
        int,
        typer.Option(help="Episodes for each policy on each target.", rich_help_panel=_TRAINING),
    ] = 10,
    retries: Annotated[
        int,
        typer.Option(help="Further attempts if a training fails.", rich_help_panel=_TRAINING),
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
    family_options = arguments.settings(option or (), "--option")
    if physics is not None:
        family_options["physics"] = physics
    trainer_options = arguments.nested_settings(set_ or (), "--set")
    if steps is not None:
        trainer_options["steps"] = steps
    if observe_context:
        trainer_options["observe_context"] = True
    signals = StopSignals()
    with _stopped_cleanly(path, limits, signals):
        study = Study.open(
            path,
            _family(env, space, levels, family_options),
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


def opened_with_environment(path: Path) -> Study:
    """Open a study whose policies are trained here.

    Raises:
        ArgumentError: If they are trained elsewhere, so that nobody here has them.
    """
    from sdmbtl.studies import Study

    study = Study.open(path)
    if study.configuration.family is None:
        place = quote(str(path))
        raise ArgumentError(
            f"The policies of the study in {str(path)!r} are trained elsewhere, so they are not "
            f"here. Use 'sdmbtl ask {place}', 'sdmbtl tell {place}' and 'sdmbtl status {place}'."
        )
    return study


def _family(
    env: str, space: str | None, levels: int | None, options: dict[str, Any]
) -> EnvironmentFamily:
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
        _print_status(status)
        _print_next_steps(study.path, status)


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


# -- status ----------------------------------------------------------------------------------------


def status(path: StudyArgument, as_json: JsonOption = False) -> None:
    """Show where a study stands; another process may be running it."""
    from sdmbtl.studies import Study

    found = Study.open(path).status()
    if as_json:
        print_json(found)
    else:
        _print_status(found)
        _print_next_steps(path, found)


def _print_status(status: Mapping[str, Any]) -> None:
    console = result_console()
    if status["rounds"]:
        console.print(_rounds_table(status))
        console.print()
    for line in _summary(status):
        console.print(Text(line), soft_wrap=True)


def _rounds_table(status: Mapping[str, Any]) -> RenderableType:
    known = status["return_range"] is not None
    table = plain_table()
    table.add_column("policy", justify="right")
    add_context_columns(table, status["dimensions"])
    for name in ("trained", "coverage" if known else "mean best", "gain"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("chosen by")
    for entry in status["rounds"]:
        value = figure(entry["coverage"], ".3f") if known else figure(entry["performance"])
        table.add_row(
            str(entry["id"]),
            *context_cells(entry["context"]),
            figure(entry["training_return"]),
            value if entry["status"] == "finished" else entry["status"],
            _gain(entry["gain"], status["return_range"]),
            entry["strategy"] + (f" ({entry['structure']})" if entry["structure"] else ""),
        )
    return table


def _gain(gain: float | None, known: list[float] | None) -> str:
    if known is None or gain is None:
        return figure(gain, "+.4g")
    return figure(gain / (known[1] - known[0]), "+.3f")


def _summary(status: Mapping[str, Any]) -> list[str]:
    name = status["environment"] or "no environment (ask and tell)"
    lines = [
        f"{name}, trainer {status['trainer'] or '-'}, selector {status['selector']}, "
        f"seed {status['seed']}"
    ]
    if not status["policies"]:
        lines.append(f"No policy is finished yet; {counted(status['targets'], 'target')}.")
    else:
        lines.append(_coverage(status))
    lines += [
        f"{counted(status[key], 'policy', 'policies')} {key}"
        for key in ("pending", "failed")
        if status[key]
    ]
    lines += [
        f"policy {entry['id']} failed: {entry['errors'][-1]}"
        for entry in status["rounds"]
        if entry["status"] == "failed" and entry["errors"]
    ]
    if "stopped" in status:
        lines.append(f"Stopped: {status['stopped']}.")
    elif status["budget"] is not None:
        lines.append(f"Budget: {counted(status['budget'], 'policy', 'policies')}.")
    return lines


def _coverage(status: Mapping[str, Any]) -> str:
    policies = counted(status["policies"], "policy", "policies")
    text = (
        f"{policies} on {counted(status['targets'], 'target')}: mean best return "
        f"{figure(status['performance'])}"
    )
    if status["coverage"] is None:
        return text
    low, high = status["return_range"]
    return f"{text}, coverage {status['coverage']:.3f} of {low:g} to {high:g}"


def _print_next_steps(path: Path, status: Mapping[str, Any]) -> None:
    """What one may do now."""
    place = quote(str(path))
    steps = []
    if status["environment"] is None:
        steps = [(f"sdmbtl ask {place}", "the next context to train on")]
    elif status["policies"]:
        steps = [
            (f"sdmbtl portfolio {place}", "which policy covers what; export them"),
            (f"sdmbtl evaluate {place}", "measure them in new episodes"),
        ]
    if "stopped" in status:
        steps.append((f"sdmbtl status {place}", "this table again"))
    elif status["environment"] is not None and (status["budget"] or 0) > status["policies"]:
        steps.append((f"sdmbtl resume {place}", "go on to the budget"))
    elif status["environment"] is not None:
        more = status["policies"] + DEFAULT_BUDGET
        steps.append((f"sdmbtl resume {place} --budget {more}", "train more"))
    width = max(len(command) for command, _ in steps)
    typer.echo("\nNext:")
    for command, purpose in steps:
        typer.echo(f"  {command:<{width}}  {purpose}")


# -- evaluate --------------------------------------------------------------------------------------


def evaluate(
    path: StudyArgument,
    episodes: Annotated[
        int | None,
        typer.Option(help="Episodes on each context; as in the study if left out.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other episodes.", min=0)] = 0,
    samples: Annotated[
        int | None,
        typer.Option(help="Play on so many contexts between the targets instead.", min=1),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play new episodes, each context with the policy chosen for it."""
    study = opened_with_environment(path)
    contexts = list(study.space) if samples is None else _sampled(study, samples, seed)
    with warnings_as_notes():
        returns = study.evaluate(contexts, episodes=episodes, seed=seed)
    means = returns.mean(axis=1)
    order = means.argsort(kind="stable")
    result = {
        "path": str(path),
        "contexts": "targets" if samples is None else "samples",
        "count": len(contexts),
        "episodes": returns.shape[1],
        "seed": seed,
        "mean": float(means.mean()),
        "interval": _interval(means),
        "coverage": _share(study, float(means.mean())),
        "worst": [{"context": contexts[i], "mean": means[i]} for i in order[:WORST]],
        "by_context": [
            {"context": c, "mean": m} for c, m in zip(contexts, means.tolist(), strict=True)
        ],
    }
    if as_json:
        print_json(result)
    else:
        _print_evaluation(result, list(study.space.names))


def _sampled(study: Study, count: int, seed: int) -> list[dict[str, float]]:
    """Contexts that fill the box evenly, on the scale of each dimension."""
    from sdmbtl.contexts import ContextSpace, Interval

    box = dict.fromkeys(study.space.names, Interval(0.0, 1.0))
    units = ContextSpace.sample(count, seed=seed, **box).targets
    return [study.space.context(vector) for vector in study.space.from_unit(units)]


def _interval(means: Any) -> list[float] | None:
    """95 % interval of the mean over the contexts, by Student's t."""
    import numpy as np
    import scipy

    if len(means) < 2:
        return None
    margin = scipy.special.stdtrit(len(means) - 1, 0.975) * means.std(ddof=1) / np.sqrt(len(means))
    return [float(means.mean() - margin), float(means.mean() + margin)]


def _share(study: Study, value: float) -> float | None:
    from sdmbtl.studies.status import share

    return share(study, value)


def _print_evaluation(result: Mapping[str, Any], names: list[str]) -> None:
    console = result_console()
    of = "all targets" if result["contexts"] == "targets" else "contexts between the targets"
    interval = ""
    if result["interval"] is not None:
        low, high = result["interval"]
        interval = f", 95 % interval {low:.4g} to {high:.4g}"
    lines = [
        f"{counted(result['episodes'], 'new episode')} on each of {result['count']} {of}",
        f"Mean return {result['mean']:.4g}{interval} over contexts",
    ]
    if result["coverage"] is not None:
        lines.append(f"Coverage {result['coverage']:.3f} of the range of returns")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    console.print("\nWorst contexts:")
    table = plain_table()
    add_context_columns(table, names)
    table.add_column("mean return", justify="right")
    for entry in result["worst"]:
        table.add_row(*context_cells(entry["context"]), figure(entry["mean"]))
    console.print(table)


# -- ask and tell ----------------------------------------------------------------------------------


def ask(
    path: StudyArgument,
    space: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="Make a study of these contexts if there is none."),
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="What chooses the contexts of a new study.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a new study.", min=0)] = None,
    n: Annotated[int | None, typer.Option("-n", help="How many at once.", min=1)] = None,
) -> None:
    """Choose a context to be trained elsewhere; printed as JSON.

    It is pending until 'sdmbtl tell' reports what became of it.
    """
    from sdmbtl.studies import Study

    if space is None and (selector is not None or seed is not None):
        raise ArgumentError(
            "--selector and --seed belong to a new study: give --space FILE.toml too. A study that "
            "is there keeps its own."
        )
    if space is None:
        study = Study.open(path)
    else:
        study = Study.open(path, space=space, selector=selector or "auto", seed=seed or 0)
    keys = ("id", "context", "strategy", "structure", "reason", "numbers")
    asked = [{key: getattr(c, key) for key in keys} for c in study.ask(n or 1)]
    console = note_console()
    if console.is_terminal:
        for found in asked:
            console.print(
                Text(
                    f"Train on {shown(found['context'])} ({found['strategy']}: {found['reason']}), "
                    f"then: sdmbtl tell {quote(str(path))} ROW.json --id {found['id']}"
                )
            )
    print_json(asked[0] if n is None else asked)


def tell(
    path: StudyArgument,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROW.json]",
            help="A return for each target (null: not evaluated), or a list of episodes for each, "
            'or {"id": ..., "returns": [...], "source_return": ...}; - reads the standard input.',
            show_default=False,
        ),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--id", help="Which candidate; needed if several are pending.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON|KEY=VALUE", help="The context instead, also one that was never asked."
        ),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The training failed.")] = False,
    error: Annotated[str | None, typer.Option(help="Why it failed.")] = None,
    cancelled: Annotated[
        bool, typer.Option("--cancelled", help="It was stopped; the context may be chosen again.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Report what became of a context that was trained elsewhere."""
    from sdmbtl.studies import Study

    _check_told(row, failed=failed, cancelled=cancelled, error=error)
    told = _told(row)
    study = Study.open(path)
    if context:
        candidate: int | dict[str, Any] = arguments.context(context)
    else:
        candidate = _candidate(study, number, told)
    study.tell(
        candidate,
        told.get("returns"),
        status="failed" if failed else "cancelled" if cancelled else "finished",
        source_return=told.get("source_return"),
        error=error,
    )
    found = study.status()
    if as_json:
        print_json(found)
        return
    what = "failed" if failed else "cancelled" if cancelled else "finished"
    typer.echo(f"Recorded as {what}.")
    for line in _summary(found)[1:]:
        typer.echo(line)


def _check_told(row: str | None, *, failed: bool, cancelled: bool, error: str | None) -> None:
    if failed and cancelled:
        raise ArgumentError("A training has either --failed or was --cancelled, not both.")
    if error is not None and not failed:
        raise ArgumentError("--error says why a training failed: give --failed too.")
    if row is None and not (failed or cancelled):
        raise ArgumentError(
            "What are its returns? Give a JSON file, or - for the standard input; or --failed, or "
            "--cancelled."
        )
    if row is not None and (failed or cancelled):
        raise ArgumentError("A training that did not finish has no returns. Leave the file out.")


def _told(row: str | None) -> dict[str, Any]:
    """What a file says, as an object with "returns"."""
    if row is None:
        return {}
    data = arguments.json_file(row)
    if isinstance(data, list):
        return {"returns": data}
    if not isinstance(data, dict) or not isinstance(data.get("returns"), list):
        raise ArgumentError(
            "A row is a list with a return for each target, or an object with such a list as "
            f"'returns'. Got {type(data).__name__ if not isinstance(data, dict) else list(data)} "
            "instead."
        )
    return data


def _candidate(study: Study, number: int | None, told: Mapping[str, Any]) -> int | dict[str, Any]:
    """Which candidate is meant: by number, by context, or the only one that is pending."""
    if number is not None:
        return number
    if isinstance(told.get("id"), int):
        return int(told["id"])
    if isinstance(told.get("context"), dict):
        return dict(told["context"])
    pending = study.selector.pending
    if len(pending) == 1:
        return pending[0].id
    place = quote(str(study.path))
    if not pending:
        raise ArgumentError(
            f"No candidate is pending. Ask for one with 'sdmbtl ask {place}', or give the context "
            "of a policy that was trained without being asked: --context."
        )
    listed = "".join(f"\n  --id {c.id}  {shown(c.context)}" for c in pending)
    raise ArgumentError(f"{len(pending)} candidates are pending. Say which one it is:{listed}")


# -- doctor ----------------------------------------------------------------------------------------


def doctor(
    path: StudyArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for damage in a study; exit status 1 if problems remain."""
    from sdmbtl.studies import doctor as clinic

    diagnosis = clinic.repair(path) if repair else clinic.examine(path)
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        _print_diagnosis(path, diagnosis, repair=repair)
    if not diagnosis.healthy:
        raise typer.Exit(1)


def _print_diagnosis(path: Path, diagnosis: Diagnosis, *, repair: bool) -> None:
    for done in diagnosis.repaired:
        typer.echo(f"repaired  {done}")
    for finding in diagnosis.findings:
        typer.echo(f"{finding.level:<8}  {finding.text}")
        if finding.remedy:
            typer.echo(f"{'':<8}  -> {finding.remedy}")
    if diagnosis.healthy:
        typer.echo("The study is healthy.")
    elif not repair:
        typer.echo(f"Mend what can be mended with: sdmbtl doctor {quote(str(path))} --repair")
