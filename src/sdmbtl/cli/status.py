"""`sdmbtl status`, and how other commands show where a study stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from sdmbtl.cli.output import (
    JsonOption,
    add_context_columns,
    context_cells,
    counted,
    figure,
    plain_table,
    print_json,
    result_console,
)
from sdmbtl.cli.study import StudyArgument

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Policies that are trained if nothing says when to stop.
DEFAULT_BUDGET = 12


def status(path: StudyArgument, as_json: JsonOption = False) -> None:
    """Show where a study stands; another process may be running it."""
    from sdmbtl.studies import Study

    found = Study.open(path).status()
    if as_json:
        print_json(found)
    else:
        print_status(found)
        print_next_steps(path, found)


def print_status(status: Mapping[str, Any]) -> None:
    """Print a table of the policies and a summary."""
    console = result_console()
    if status["rounds"]:
        console.print(_rounds_table(status))
        console.print()
    for line in summary(status):
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
            Text(entry["strategy"] + (f" ({entry['structure']})" if entry["structure"] else "")),
        )
    return table


def _gain(gain: float | None, known: list[float] | None) -> str:
    if known is None or gain is None:
        return figure(gain, "+.4g")
    return figure(gain / (known[1] - known[0]), "+.3f")


def summary(status: Mapping[str, Any]) -> list[str]:
    """Where a study stands, in lines; the first says what it is."""
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


def print_next_steps(path: Path, status: Mapping[str, Any]) -> None:
    """What one may do now."""
    place = quote(str(path))
    steps = []
    if status["environment"] is None:
        steps = [
            (f"sdmbtl ask {place}", "the next context to train on"),
            (f"sdmbtl targets {place}", "the targets in order, and who is best on each"),
        ]
    elif status["policies"]:
        steps = [
            (f"sdmbtl portfolio {place}", "which policy covers what; export them"),
            (f"sdmbtl evaluate {place}", "measure them in new episodes"),
        ]
    if "stopped" in status:
        steps.append((f"sdmbtl status {place}", "this table again"))
    elif status["environment"] is not None and status["failed"]:
        steps.append((f"sdmbtl resume {place} --retry-failed", "once the cause is mended"))
    elif status["environment"] is not None and (
        status["pending"] or (status["budget"] or 0) > status["policies"]
    ):
        steps.append((f"sdmbtl resume {place}", "go on"))
    elif status["environment"] is not None:
        more = status["policies"] + DEFAULT_BUDGET
        steps.append((f"sdmbtl resume {place} --budget {more}", "train more"))
    width = max(len(command) for command, _ in steps)
    typer.echo("\nNext:")
    for command, purpose in steps:
        typer.echo(f"  {command:<{width}}  {purpose}")
