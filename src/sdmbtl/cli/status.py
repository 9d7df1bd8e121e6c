"""`sdmbtl status`: policies, coverage, targets, learning curves, models and structure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sdmbtl.checks import known_name
from sdmbtl.cli.options import JsonOption, StudyArgument
from sdmbtl.cli.output import (
    ArgumentError,
    context_cells,
    context_table,
    plain_table,
    print_json,
    print_lines,
    result_console,
    say,
)
from sdmbtl.summary import has_partial_rows, has_regions, known_span, outlook, summary
from sdmbtl.wording import chosen_by, counted, figure, gain_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sdmbtl.studies import Study

#: Policies that are trained without a stopping rule.
DEFAULT_BUDGET = 12

_VIEWS = ("policies", "targets", "curves", "models", "structure")


def status(
    path: StudyArgument,
    show: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="policies; targets, with the best policy on each; curves, as CSV; models, with "
            "scores of their forecasts; or structure, as the paper detects it.",
        ),
    ] = "policies",
    as_json: JsonOption = False,
) -> None:
    """Show the state of a study, also while it is running."""
    from sdmbtl.studies import Study

    known_name("--show", show, _VIEWS, error=ArgumentError)
    study = Study.open(path)
    if show == "targets":
        _show_targets(study, as_json=as_json)
    elif show == "curves":
        _show_curves(study, as_json=as_json)
    elif show == "structure":
        _show_structure(study, as_json=as_json)
    else:
        found = {**study.status(), "running_process": study.database.find_worker()}
        if as_json:
            print_json(found)
        elif show == "models":
            _print_models(found)
        else:
            print_status(found)
            print_next_steps(path, found)


# -- policies --------------------------------------------------------------------------------------


def print_status(status: Mapping[str, Any]) -> None:
    """Print a table of the policies and a summary."""
    console = result_console()
    if status["rounds"]:
        console.print(_policies_table(status))
        console.print()
    print_lines(console, *summary(status))
    if status["rounds"]:
        latest = status["rounds"][-1]
        console.print(Text(f"Why policy {latest['id']}: {latest['reason']}"))


def _policies_table(status: Mapping[str, Any]) -> RenderableType:
    known = status["return_range"] is not None
    partial = has_partial_rows(status)
    on_regions = has_regions(status)
    last = ["return", "coverage" if known else "mean best", "gain"]
    if partial:
        last = ["evaluated", "return", last[1], "over", "gain"]
    if on_regions:
        table = plain_table("#")
        table.add_column("trained on", overflow="fold")
        for name in ("from", "steps", *last):
            table.add_column(name, justify="right", no_wrap=True)
    else:
        table = context_table(["#"], status["dimensions"], last)
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
            steps = entry["steps"] or entry["asked_steps"]
            parent = "-" if entry["parent"] is None else str(entry["parent"])
            source = [Text(entry["trained_on"]), parent, "-" if steps is None else f"{steps:,}"]
            table.add_row(str(entry["id"]), *source, *numbers)
        else:
            chosen = Text(chosen_by(entry["strategy"], entry["structure"], entry["model"]))
            table.add_row(str(entry["id"]), *context_cells(entry["context"]), *numbers, chosen)
    return table


def print_next_steps(path: Path, status: Mapping[str, Any]) -> None:
    """Print commands that make sense now."""
    place = quote(str(path))
    steps = []
    if status["environment"] is None:
        steps.append((f"sdmbtl ask {place}", "next context to train on"))
        steps.append((f"sdmbtl status {place} --show targets", "targets in the order of a row"))
    elif status["policies"]:
        steps.append((f"sdmbtl portfolio {place} --export OUT", "use the policies"))
        if status["importable"]:
            steps.append((f"sdmbtl evaluate {place}", "check with new episodes"))
    if status["policies"]:
        steps.append((f"sdmbtl report {place} --open", "see it in the browser"))
    if status.get("running_process") is not None:
        steps.append((f"sdmbtl report {place} --live", "see it live"))
    else:
        steps += _ways_to_continue(path, status)
    width = max(len(command) for command, _ in steps)
    say("\nNext:")
    for command, purpose in steps:
        say(f"  {command:<{width}}  {purpose}")


def _ways_to_continue(path: Path, status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return commands that continue a study that is not running, and their purposes."""
    place = quote(str(path))
    steps = []
    if status["failed_evaluations"] and status["importable"]:
        again = f"sdmbtl evaluate {place} --missing"
        steps.append((again, "evaluate again where that failed"))
    if "stopped" in status:
        return [*steps, (f"sdmbtl status {place}", "details")]
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


# -- targets and curves ----------------------------------------------------------------------------


def _show_targets(study: Study, *, as_json: bool) -> None:
    """List the targets in the order of a row, with the best policy on each."""
    from sdmbtl.studies.best_policies import best_policies

    listed = best_policies(study)
    if as_json:
        print_json(listed)
        return
    partial = any(math.isnan(value) for value in study.selector.rows.returns.flat)
    failed = [entry for entry in listed if entry["failed_evaluations"]]
    columns = ["policy", "mean return"]
    columns += ["predicted", "its return"] if partial else []
    columns += ["failed"] if failed else []
    table = context_table(["target"], study.space.names, columns)
    for entry in listed:
        cells = [figure(entry["policy"], ""), figure(entry["mean_return"])]
        if partial:
            cells += [figure(entry["predicted_policy"], ""), figure(entry["predicted_return"])]
        cells += [str(entry["failed_evaluations"])] if failed else []
        table.add_row(str(entry["target"]), *context_cells(entry["context"]), *cells)
    console = result_console()
    console.print(table)
    if partial:
        print_lines(
            console,
            "",
            "Policy: the best of those evaluated on the target. Predicted: the best of all, with "
            "its predicted return.",
        )
    if failed:
        where = f"target {failed[0]['target']}"
        print_lines(console, "", f"Failed evaluations, on {where}: {failed[0]['first_error']}")


def _show_curves(study: Study, *, as_json: bool) -> None:
    from sdmbtl.studies.curves import curves_as_csv, learning_curves

    if as_json:
        print_json(learning_curves(study))
    else:
        say(curves_as_csv(study), nl=False)


# -- models and structure --------------------------------------------------------------------------


def _print_models(status: Mapping[str, Any]) -> None:
    """Print how well each model predicted the gain of each policy."""
    console = result_console()
    scores = status["scores"]
    if not scores:
        text = f"The selector {status['selector']} has no models that predict."
        if status["selector"] == "auto":
            text = "No model was tested yet: that needs three finished policies."
        print_lines(console, text)
        return
    span = known_span(status)
    table = plain_table("policy", *scores, "expected", "gain")
    for entry in status["rounds"]:
        if entry["status"] == "finished":
            cells = [
                figure(entry["scores"].get(name), ".2f") + ("*" if entry["model"] == name else " ")
                for name in scores
            ]
            gains = [gain_figure(entry[key], span) for key in ("expected_gain", "gain")]
            table.add_row(str(entry["id"]), *cells, *gains)
    table.add_row("mean", *(f"{score:.2f} " for score in scores.values()))
    console.print(table)
    print_lines(
        console,
        "",
        "Score: how well a model predicted, before training, where the policy would improve; 0 "
        "to 1. * marks the model that chose.",
        *outlook(status),
    )


def _show_structure(study: Study, *, as_json: bool) -> None:
    """Print the structure of the returns as the paper detects it."""
    from sdmbtl.selectors import StructureDetectionSelector
    from sdmbtl.transfer.detection import MountainDetector

    selector = study.selector
    rows = selector.rows
    by_structure = isinstance(selector, StructureDetectionSelector)
    detector = selector.detector if by_structure else MountainDetector()
    detection = detector.detect(rows.scaled())
    slopes = detection.slopes
    if as_json:
        data = {"path": str(study.path), "policies": len(rows), "targets": len(rows.space)}
        found = {**data, "unit": rows.scale, **detection.to_dict()}
        print_json({**found, "slopes": None if slopes is None else slopes.to_dict()})
        return
    console = result_console()
    size = f"{counted(len(rows), 'policy', 'policies')}, {counted(len(rows.space), 'target')}"
    print_lines(console, f"Detected structure: {detection.structure} ({size})")
    if rows.scale != 1.0:
        print_lines(console, f"The returns are extreme: figures are in units of {rows.scale:.4g}.")
    for criterion in detection.criteria:
        answer = "holds" if criterion.passed else "does not hold"
        print_lines(console, f'Criterion "{criterion.name}" {answer}: {criterion.explanation}.')
    if slopes is not None:
        print_lines(
            console, "", "Change of the return across the full range of a dimension, for targets:"
        )
        table = plain_table("dimension", "above the source", "below the source")
        for name, left, right, known in zip(
            slopes.names, slopes.left, slopes.right, slopes.known, strict=True
        ):
            values = (figure(float(left), "+.4g"), figure(float(right), "+.4g"))
            table.add_row(Text(name), *(values if known else ("not known", "not known")))
        console.print(table)
    if not by_structure:
        print_lines(console, "", f"The selector {selector.name} does not choose by structure.")
