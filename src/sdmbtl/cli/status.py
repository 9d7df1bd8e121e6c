"""`sdmbtl status`: policies, coverage and targets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from sdmbtl.checks import known_name
from sdmbtl.cli.options import JsonOption, StudyArgument
from sdmbtl.cli.output import ArgumentError, plain_table, print_json, print_lines, say
from sdmbtl.console import PlainConsole
from sdmbtl.wording import figure, gain_figure, level_figure, shown_context

if TYPE_CHECKING:
    from sdmbtl.studies import Study
    from sdmbtl.studies.snapshot import StudySnapshot

#: Policies that are trained without a stopping rule.
DEFAULT_BUDGET = 12

_VIEWS = ("policies", "targets")


def status(
    path: StudyArgument,
    show: str = typer.Option(
        "policies",
        metavar="policies|targets",
        help="Table: the policies, or the targets with the best policy on each.",
    ),
    as_json: JsonOption = False,
) -> None:
    """Show the state of a study, also while it is running."""
    from sdmbtl.studies import Study

    known_name("--show", show, _VIEWS, error=ArgumentError)
    study = Study.open(path)
    if show == "targets":
        _show_targets(study, as_json=as_json)
    elif as_json:
        print_json(study.status())
    else:
        _print_policies(path, study.snapshot())


# -- policies --------------------------------------------------------------------------------------


def _print_policies(path: Path, snapshot: StudySnapshot) -> None:
    """Print a table of the policies, a summary, and commands to go on with."""
    from sdmbtl.studies.describe import status_lines

    table = plain_table("#")
    table.add_column("trained on", overflow="fold")
    level_name = "mean best" if snapshot.known_span is None else "coverage"
    for name in ("from", "steps", "return", level_name, "gain"):
        table.add_column(name, justify="right", no_wrap=True)
    for policy in snapshot.rounds:
        level = level_figure(policy.performance, policy.coverage)
        table.add_row(
            str(policy.trial.id),
            Text(policy.trained_on),
            figure(policy.trial.parent, ""),
            figure(policy.steps, ","),
            figure(policy.training_return),
            level if policy.trial.status == "finished" else policy.trial.status,
            gain_figure(policy.gain, snapshot.known_span),
        )
    console = PlainConsole()
    if snapshot.rounds:
        console.print(table)
        console.print()
    print_lines(*status_lines(snapshot))
    if snapshot.rounds:
        latest = snapshot.rounds[-1]
        print_lines(f"Why policy {latest.trial.id}: {latest.trial.reason}")
    _print_commands(_next_commands(path, snapshot))


def print_result(snapshot: StudySnapshot, stopped: str) -> None:
    """Print the result of a run, and commands that use it."""
    from sdmbtl.studies.describe import gap_lines, level_lines, outlook_lines, problem_lines

    marked = [("✓ ", "  ", level_lines), ("! ", "  ", gap_lines)]
    marked += [("  ", "  ", outlook_lines), ("! ", "! ", problem_lines)]
    lines = [
        f"{later if number else first}{line}"
        for first, later, describe in marked
        for number, line in enumerate(describe(snapshot))
    ]
    if snapshot.stop_rules.get("budget") != len(snapshot.finished):
        lines.append(f"  Stopped: {stopped}.")
    say(err=True)  # below the rows of the run
    print_lines(*lines, hanging=2)
    place = quote(snapshot.path)
    _print_commands(
        {
            "See it": f"sdmbtl report {place} --open",
            "Use it": f"sdmbtl portfolio {place} --export OUT",
            "Details": f"sdmbtl status {place}",
        }
    )


def _next_commands(path: Path, snapshot: StudySnapshot) -> dict[str, str]:
    """Return commands to go on with, by their purposes."""
    place, done = quote(str(path)), len(snapshot.finished)
    commands = {}
    if snapshot.environment is None:
        commands["Next context"] = f"sdmbtl ask {place}"
        commands["Targets"] = f"sdmbtl status {place} --show targets"
    elif done:
        commands["Use it"] = f"sdmbtl portfolio {place} --export OUT"
    if done:
        commands["See it"] = f"sdmbtl report {place} --open"
    if snapshot.running_process is not None:
        return commands | {"Watch it": f"sdmbtl report {place} --live"}
    if snapshot.importable and any(policy.failed_targets for policy in snapshot.rounds):
        commands["Evaluate again"] = f"sdmbtl evaluate {place} --missing"
    if not snapshot.importable:
        again = f"Study.open({str(path)!r}, {snapshot.environment}, space=...).run(...)"
        commands["Continue in Python"] = again
    elif snapshot.environment is not None:
        rules, states = snapshot.stop_rules, {policy.trial.status for policy in snapshot.rounds}
        is_unfinished = "pending" in states or rules.get("budget", done + 1) > done
        more = "" if rules and is_unfinished else f" --budget {done + DEFAULT_BUDGET}"
        more = " --retry-failed" if "failed" in states else more
        commands["Continue"] = f"sdmbtl resume {place}{more}"
    return commands


def _print_commands(commands: Mapping[str, str]) -> None:
    width = max(map(len, commands), default=0)
    say()
    for purpose, command in commands.items():
        say(f"  {purpose:<{width}}  {command}")


# -- targets ---------------------------------------------------------------------------------------


def _show_targets(study: Study, *, as_json: bool) -> None:
    """List the targets in the order of a row, with the best policy on each."""
    from sdmbtl.studies.evaluation import best_policies

    listed = best_policies(study)
    if as_json:
        print_json(listed)
        return
    table = plain_table("target")
    table.add_column("context", overflow="fold")
    for name in ("policy", "expected return", "episodes"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in listed:
        cells = [figure(entry["policy"], ""), figure(entry["expected_return"])]
        cells.append(str(entry["episodes"]))
        table.add_row(str(entry["target"]), Text(shown_context(entry["context"])), *cells)
    console = PlainConsole()
    console.print(table)
    if any(entry["episodes"] == 0 for entry in listed):
        print_lines("", "A return without episodes is predicted from other targets.")
