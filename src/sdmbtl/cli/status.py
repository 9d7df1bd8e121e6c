"""`sdmbtl status`, and how other commands show where a study stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sdmbtl.cli.options import JsonOption, StudyArgument
from sdmbtl.cli.output import (
    context_cells,
    context_table,
    plain_table,
    print_json,
    print_lines,
    result_console,
    say,
    source_table,
)
from sdmbtl.summary import has_partial_rows, has_regions, known_span, outlook, summary
from sdmbtl.wording import chosen_by, figure, gain_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

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
    """Show where a study stands, also while it is running."""
    from sdmbtl.studies import Study

    study = Study.open(path)
    found = {**study.status(), "running_process": study.running_process}
    if as_json:
        print_json(found)
    elif evidence:
        print_evidence(found)
    else:
        print_status(found)
        print_next_steps(path, found)


def print_status(status: Mapping[str, Any]) -> None:
    """Print a table of the policies and a summary."""
    console = result_console()
    if status["rounds"]:
        console.print(_rounds_table(status))
        console.print()
    print_lines(console, *summary(status))
    if status["rounds"]:
        latest = status["rounds"][-1]
        console.print(Text(f"Why policy {latest['id']}: {latest['reason']}"))


def print_evidence(status: Mapping[str, Any]) -> None:
    """Print how well each model predicted where each policy would improve."""
    console = result_console()
    if not status["scores"]:
        console.print(Text(_no_evidence(status)))
        return
    console.print(_evidence_table(status))
    console.print()
    console.print(Text(_EVIDENCE_EXPLAINED))
    print_lines(console, *outlook(status))


def _rounds_table(status: Mapping[str, Any]) -> RenderableType:
    known = status["return_range"] is not None
    partial = has_partial_rows(status)
    last = ["return", "coverage" if known else "mean best", "gain"]
    if partial:
        last = ["evaluated", "return", last[1], "over", "gain"]
    on_regions = has_regions(status)
    if on_regions:
        table = source_table(["policy"], ["from", "steps", *last])
    else:
        table = context_table(["policy"], status["dimensions"], last)
        table.add_column("chosen by")
    for entry in status["rounds"]:
        value = figure(entry["coverage"], ".3f") if known else figure(entry["performance"])
        finished = entry["status"] == "finished"
        numbers = [
            figure(entry["training_return"]),
            value if finished else entry["status"],
            gain_figure(entry["gain"], known_span(status)),
        ]
        if partial:
            evaluated = f"{entry['evaluated_targets']} of {status['targets']}"
            numbers.insert(0, evaluated if finished else "-")
            numbers.insert(3, str(entry["performance_targets"]) if finished else "-")
        if on_regions:
            table.add_row(str(entry["id"]), *_source_cells(entry), *numbers)
            continue
        chosen = chosen_by(entry["strategy"], entry["structure"], entry["model"])
        table.add_row(str(entry["id"]), *context_cells(entry["context"]), *numbers, Text(chosen))
    return table


def _source_cells(entry: Mapping[str, Any]) -> list[str | Text]:
    """What a policy was trained on, the one it started from, and how long."""
    steps = entry["steps"] or entry["asked_steps"]
    parent = "-" if entry["parent"] is None else str(entry["parent"])
    return [Text(entry["trained_on"]), parent, "-" if steps is None else f"{steps:,}"]


def _evidence_table(status: Mapping[str, Any]) -> RenderableType:
    """A row for each policy, a column for each model."""
    table = plain_table()
    for name in ("policy", *status["scores"], "expected", "gain"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    for entry in status["rounds"]:
        if entry["status"] != "finished":
            continue
        table.add_row(
            str(entry["id"]),
            *(_score(entry, name) for name in status["scores"]),
            gain_figure(entry["expected_gain"], known_span(status)),
            gain_figure(entry["gain"], known_span(status)),
        )
    table.add_row("mean", *(f"{score:.2f} " for score in status["scores"].values()))
    return table


def _score(entry: Mapping[str, Any], model: str) -> str:
    """The score of a model, with a star if it chose the context."""
    score = figure(entry["scores"].get(model), ".2f")
    return score + ("*" if entry["model"] == model else " ")


def _no_evidence(status: Mapping[str, Any]) -> str:
    if status["selector"] != "auto":
        return (
            f"The selector {status['selector']} has no models that predict; auto has, with "
            "--width 0 --init scratch."
        )
    return (
        "No model was tested yet: that needs three finished policies, there "
        f"{'is' if status['policies'] == 1 else 'are'} {status['policies']}."
    )


def print_next_steps(path: Path, status: Mapping[str, Any]) -> None:
    """What one may do now."""
    place = quote(str(path))
    steps = []
    if status["environment"] is None:
        steps = [
            (f"sdmbtl ask {place}", "the next context to train on"),
            (f"sdmbtl targets {place}", "the targets in order, and the best policy on each"),
        ]
    elif status["policies"]:
        steps.append((f"sdmbtl portfolio {place}", "which policy serves what; export them"))
        if status["importable"]:
            steps.append((f"sdmbtl evaluate {place}", "measure them in new episodes"))
    if status["policies"]:
        steps.append((f"sdmbtl report {place}", "a page that shows all of it, for the browser"))
    if status.get("running_process") is not None:
        steps.append((f"sdmbtl watch {place}", "the same page live: a process is working on it"))
    else:
        steps += _ways_to_continue(path, status)
    width = max(len(command) for command, _ in steps)
    say("\nNext:")
    for command, purpose in steps:
        say(f"  {command:<{width}}  {purpose}")


def _ways_to_continue(path: Path, status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Commands that go on with a study on which nobody works, and what they do."""
    place = quote(str(path))
    steps = []
    if status["failed_evaluations"] and status["importable"]:
        again = f"sdmbtl evaluate {place} --missing"
        steps.append((again, "evaluate again where that failed, once the cause is fixed"))
    if "stopped" in status:
        return [*steps, (f"sdmbtl status {place}", "this table again")]
    if not status["importable"]:
        again = f"Study.open({str(path)!r}, {status['environment']}, space=...).run(...)"
        return [*steps, (again, "continue in Python, with the function that makes environments")]
    if status["environment"] is None:
        return steps
    if status["failed"]:
        return [*steps, (f"sdmbtl resume {place} --retry-failed", "once the cause is fixed")]
    rules, done = status["stop_rules"], status["policies"]
    if rules and (status["pending"] or rules.get("budget", done + 1) > done):
        return [*steps, (f"sdmbtl resume {place}", "continue")]
    more = f"sdmbtl resume {place} --budget {done + DEFAULT_BUDGET}"
    return [*steps, (more, f"train {DEFAULT_BUDGET} more")]
