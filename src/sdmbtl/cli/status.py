"""`sdmbtl status`, and the lines at the end of a run."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sdmbtl.cli.options import JsonOption, StudyArgument
from sdmbtl.cli.output import plain_table, print_json, print_lines, result_console, say
from sdmbtl.wording import coverage_text, figure, gain_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.studies.snapshot import PolicySnapshot, StudySnapshot

#: Policies that are trained if nothing says when to stop.
DEFAULT_BUDGET = 12

_EVIDENCE_EXPLAINED = (
    "Score: how well a model predicted, before the policy was trained, where it would improve on "
    "the best policies so far; 0 to 1, and 0 where nothing improved. * is the model that chose."
)


def status(
    path: StudyArgument,
    evidence: Annotated[
        bool,
        typer.Option("--evidence", help="Show how well each model predicted each policy's gains."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the policies and the coverage of a study, also while it is running."""
    from sdmbtl.studies import Study
    from sdmbtl.studies.describe import status_lines

    snapshot = Study.open(path).snapshot()
    console = result_console()
    if as_json:
        print_json(snapshot.to_dict())
        return
    if evidence:
        _print_evidence(snapshot)
        return
    if snapshot.rounds:
        console.print(_policy_table(snapshot))
        console.print()
    print_lines(console, *status_lines(snapshot))
    if snapshot.rounds:
        latest = snapshot.rounds[-1]
        console.print(Text(f"Why policy {latest.id}: {latest.reason}"))
    say("")
    _print_commands(_next_commands(path, snapshot))


def print_result(snapshot: StudySnapshot, stopped: str) -> None:
    """Print what a run came to, and what to do with it."""
    from sdmbtl.studies.describe import problem_lines, result_lines

    first, *lines = result_lines(snapshot)
    console = result_console()
    print_lines(console, f"✓ {first}", *(f"  {line}" for line in lines), hanging=2)
    print_lines(console, *(f"! {line}" for line in problem_lines(snapshot)), hanging=2)
    print_lines(console, f"  Stopped: {stopped}.", hanging=2)
    place = quote(snapshot.path)
    say("")
    commands = [
        ("See it", f"sdmbtl report {place} --open"),
        ("Use it", f"sdmbtl portfolio {place} --export OUT"),
        ("Details", f"sdmbtl status {place}"),
    ]
    _print_commands(commands)


def _print_commands(commands: list[tuple[str, str]]) -> None:
    width = max(len(purpose) for purpose, _ in commands)
    for purpose, command in commands:
        say(f"  {purpose:<{width}}  {command}")


def _policy_table(snapshot: StudySnapshot) -> RenderableType:
    """A row for each policy: what it was trained on, and what it brought."""
    known = snapshot.known_span is not None
    table = plain_table()
    columns = ["#", "trained on", "from", "steps", "return"]
    columns += ["evaluated"] if snapshot.partial else []
    for name in (*columns, "coverage" if known else "mean best", "gain"):
        left = name == "trained on"
        table.add_column(name, justify="left" if left else "right", no_wrap=not left)
    for policy in snapshot.rounds:
        steps = policy.steps or policy.asked_steps
        level = figure(policy.performance)
        if policy.coverage is not None:
            level = coverage_text(policy.coverage)
        evaluated = [f"{policy.evaluated_targets} of {snapshot.targets}"]
        table.add_row(
            str(policy.id),
            Text(policy.trained_on),
            "-" if policy.parent is None else str(policy.parent),
            "-" if steps is None else f"{steps:,}",
            figure(policy.training_return),
            *(evaluated if snapshot.partial else []),
            level if policy.status == "finished" else policy.status,
            gain_figure(policy.gain, snapshot.known_span),
        )
    return table


def _print_evidence(snapshot: StudySnapshot) -> None:
    """Print how well each model predicted where each policy would improve."""
    from sdmbtl.studies.describe import model_lines, past_forecasts

    console = result_console()
    if not snapshot.scores:
        console.print(Text(_no_evidence(snapshot)))
        return
    table = plain_table()
    for name in ("policy", *snapshot.scores, "expected", "gain"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    for policy in snapshot.finished:
        table.add_row(
            str(policy.id),
            *(_score(policy, name) for name in snapshot.scores),
            gain_figure(policy.expected_gain, snapshot.known_span),
            gain_figure(policy.gain, snapshot.known_span),
        )
    table.add_row("mean", *(f"{score:.2f} " for score in snapshot.scores.values()))
    console.print(table)
    console.print()
    print_lines(console, _EVIDENCE_EXPLAINED, *model_lines(snapshot), *past_forecasts(snapshot))


def _score(policy: PolicySnapshot, model: str) -> str:
    """The score of a model, with a star if it chose the context."""
    score = figure(policy.scores.get(model), ".2f")
    return score + ("*" if policy.model == model else " ")


def _no_evidence(snapshot: StudySnapshot) -> str:
    if snapshot.selector != "predictive":
        return (
            f"The selector {snapshot.selector} has no models that predict; predictive has."
        )
    return (
        "No model was tested yet: that needs three finished policies, there "
        f"{'is' if len(snapshot.finished) == 1 else 'are'} {len(snapshot.finished)}."
    )


def _next_commands(path: Path, snapshot: StudySnapshot) -> list[tuple[str, str]]:
    """Commands to go on with, and their purposes."""
    place, done = quote(str(path)), len(snapshot.finished)
    commands = []
    if snapshot.environment is None:
        commands.append(("Next context", f"sdmbtl ask {place}"))
        commands.append(("Targets", f"sdmbtl targets {place}"))
    elif done:
        commands.append(("Use it", f"sdmbtl portfolio {place} --export OUT"))
    if done:
        commands.append(("See it", f"sdmbtl report {place} --open"))
    if snapshot.running_process is not None:
        return [*commands, ("Watch it", f"sdmbtl watch {place}")]
    if snapshot.importable and any(policy.failed_targets for policy in snapshot.rounds):
        commands.append(("Evaluate again", f"sdmbtl evaluate {place} --missing"))
    if not snapshot.importable:
        again = f"Study.open({str(path)!r}, {snapshot.environment}, space=...).run(...)"
        commands.append(("Continue in Python", again))
    elif snapshot.environment is not None:
        rules = snapshot.stop_rules
        pending = any(policy.status == "pending" for policy in snapshot.rounds)
        more = (
            ""
            if rules and (pending or rules.get("budget", done + 1) > done)
            else (f" --budget {done + DEFAULT_BUDGET}")
        )
        if any(policy.status == "failed" for policy in snapshot.rounds):
            more = " --retry-failed"
        commands.append(("Continue", f"sdmbtl resume {place}{more}"))
    return commands
