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
from sdmbtl.wording import (
    chosen_by,
    counted,
    covered_in_words,
    expected_to_add,
    figure,
    gain_figure,
    in_words,
    points,
    reach_in_words,
    sentence,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Scores below this are no better than none.
NO_SCORE = 0.05

#: One policy is nearly as good as all if it lacks no more than this share of the range of returns.
NEARLY = 0.005

#: Policies that are listed in a line at most.
MOST_LISTED = 10

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
    found = {**study.status(), "running_process": study.database.find_worker()}
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
    print_lines(console, *_outlook(status))


def _rounds_table(status: Mapping[str, Any]) -> RenderableType:
    known = status["return_range"] is not None
    partial = _has_partial_rows(status)
    last = ["return", "coverage" if known else "mean best", "gain"]
    if partial:
        last = ["evaluated", "return", last[1], "over", "gain"]
    has_regions = _has_regions(status)
    if has_regions:
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
            gain_figure(entry["gain"], _known_span(status)),
        ]
        if partial:
            evaluated = f"{entry['evaluated_targets']} of {status['targets']}"
            numbers.insert(0, evaluated if finished else "-")
            numbers.insert(3, str(entry["performance_targets"]) if finished else "-")
        if has_regions:
            table.add_row(str(entry["id"]), *_source_cells(entry), *numbers)
            continue
        chosen = chosen_by(entry["strategy"], entry["structure"], entry["model"])
        table.add_row(str(entry["id"]), *context_cells(entry["context"]), *numbers, Text(chosen))
    return table


def _has_partial_rows(status: Mapping[str, Any]) -> bool:
    """Whether a policy was evaluated on some of the targets only."""
    finished = [entry for entry in status["rounds"] if entry["status"] == "finished"]
    return any(entry["evaluated_targets"] < status["targets"] for entry in finished)


def _source_cells(entry: Mapping[str, Any]) -> list[str | Text]:
    """What a policy was trained on, the one it started from, and how long."""
    steps = entry["steps"] or entry["asked_steps"]
    parent = "-" if entry["parent"] is None else str(entry["parent"])
    return [Text(entry["trained_on"]), parent, "-" if steps is None else f"{steps:,}"]


def _known_span(status: Mapping[str, Any]) -> float | None:
    known = status["return_range"]
    return None if known is None else float(known[1] - known[0])


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
            gain_figure(entry["expected_gain"], _known_span(status)),
            gain_figure(entry["gain"], _known_span(status)),
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


def summary(status: Mapping[str, Any]) -> list[str]:
    """Where a study stands, in lines; the first says what it is."""
    where = f"{status['environment']}, trainer {status['trainer']}"
    if status["environment"] is None:
        where = "Policies trained elsewhere (ask and tell)"
    lines = [f"{where}, selector {status['selector']}, seed {status['seed']}"]
    lines.append(_coverage(status))
    if status["covered"] is not None:
        lines += covered_in_words(status["covered"])
    lines += _partial_rows(status)
    lines += [*_random_actions(status), *_best_single(status)]
    lines += [*_steps_lines(status), *_outlook(status)]
    lines += [
        f"{counted(status[key], 'policy', 'policies')} {key}"
        for key in ("pending", "failed", "forgotten")
        if status[key]
    ]
    lines += [
        f"policy {entry['id']} failed: {entry['errors'][-1]}"
        for entry in status["rounds"]
        if entry["status"] == "failed" and entry["errors"]
    ]
    lines += [
        f"policy {entry['id']} could not be evaluated on {entry['failed_targets']} of "
        f"{counted(status['targets'], 'target')}: {entry['first_target_error']}"
        for entry in status["rounds"]
        if entry["status"] == "finished" and entry["failed_targets"]
    ]
    lines += _earlier_rows(status)
    lines += [
        f"policy {entry['id']} is far below the others: its training may have failed"
        for entry in status["rounds"]
        if entry["probably_failed"]
    ]
    lines += [
        f"Environments changed after {counted(change['policies'], 'policy', 'policies')}: "
        f"{'; '.join(change['changes'])}"
        for change in status["environment_changes"]
    ]
    lines += _no_better_than_random(status)
    if status.get("running_process") is not None:
        lines.append(f"Process {status['running_process']} is working on the study now.")
    if "stopped" in status:
        lines.append(f"Stopped: {status['stopped']}.")
    elif status["budget"] is not None:
        done = ", all trained" if status["policies"] >= status["budget"] else ""
        lines.append(f"Budget: {counted(status['budget'], 'policy', 'policies')}{done}.")
    return lines


def _has_regions(status: Mapping[str, Any]) -> bool:
    """Whether a policy was trained on more than a point, or from another one."""
    return any(entry["width"] or entry["parent"] is not None for entry in status["rounds"])


def _steps_lines(status: Mapping[str, Any]) -> list[str]:
    """What training took: policies on regions may differ in their steps."""
    if not status["steps"] or not _has_regions(status):
        return []
    return [f"{status['steps']:,} environment steps in all"]


def _outlook(status: Mapping[str, Any]) -> list[str]:
    """What was detected or predicts best, and what is left to gain."""
    lines = []
    scores = dict(status["scores"])
    own = scores.pop(status["model"], None)
    if own is not None and max([own, *scores.values()]) < NO_SCORE:
        lines.append("No model predicts the gains yet: all scores are near 0.")
    elif own is not None:
        lines.append(f"Best predictor so far: {status['model']}, score {own:.2f}.")
        lines += [f"  {text}." for text in _other_models(scores, status["passed_over"])]
    if status["structure"] is not None:
        lines.append(f"Detected structure: {status['structure']}.")
    left, known = status["remaining_gain"], status["return_range"] is not None
    if left is not None:
        words = expected_to_add(left["policies"], left["gain"], status["return_span"], known=known)
        if status["pending"]:
            words = f"after what is pending, {words}"
        lines.append(sentence(words))
        lines += _past_forecasts(status)
    if status["reach"] is not None:
        lines.append(sentence(reach_in_words(status["reach"], known=known)))
    return lines


def _other_models(scores: Mapping[str, float], passed_over: Mapping[str, list[str]]) -> list[str]:
    """The other models with their scores; why those with a higher score are not used."""
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    others = ", ".join(f"{name} {score:.2f}" for name, score in ordered)
    lines = [f"Others: {others}"] if others else []
    return lines + [f"{why.capitalize()}: {', '.join(n)}" for why, n in passed_over.items()]


def _past_forecasts(status: Mapping[str, Any]) -> list[str]:
    """What was expected of the policies so far, and what came."""
    pairs = [
        (entry["expected_gain"], entry["gain"])
        for entry in status["rounds"]
        if entry["expected_gain"] is not None and entry["gain"] is not None
    ]
    if not pairs:
        return []
    expected, came = (sum(values) for values in zip(*pairs, strict=True))
    span = _known_span(status)
    gains = [f"{g:.3g}" if span is None else points(g / span) for g in (expected, came)]
    if len(pairs) == 1:
        return [f"One policy so far was expected to add {gains[0]}; it added {gains[1]}."]
    who = in_words(len(pairs)).capitalize()
    return [f"{who} policies so far were expected to add {gains[0]}; they added {gains[1]}."]


def _coverage(status: Mapping[str, Any]) -> str:
    targets = counted(status["targets"], "target")
    if not status["policies"]:
        return f"No policy is finished yet; {targets}."
    policies = counted(status["policies"], "policy", "policies")
    text = f"{policies} on {targets}: mean best return {figure(status['performance'])}"
    if status["evaluated_targets"] < status["targets"]:
        text += f" over the {status['evaluated_targets']} with a return"
    if status["coverage"] is None:
        return text
    low, high = status["return_range"]
    return f"{text} ({low:g} to {high:g}), coverage {status['coverage']:.3f}"


def _partial_rows(status: Mapping[str, Any]) -> list[str]:
    """Over what the means are, if rows are partial."""
    if not _has_partial_rows(status):
        return []
    finished = [entry for entry in status["rounds"] if entry["status"] == "finished"]
    partial = [e for e in finished if e["evaluated_targets"] < status["targets"]]
    which = ", ".join(str(entry["id"]) for entry in partial[:MOST_LISTED])
    which += ", ..." if len(partial) > MOST_LISTED else ""
    lines = [
        f"Evaluated on some of the targets only: {'policy' if len(partial) == 1 else 'policies'} "
        f"{which}. A mean is over the targets with a return by then; a gain, over those that had "
        "one before."
    ]
    missing = status["targets"] - status["evaluated_targets"]
    if missing:
        have = "target has" if missing == 1 else "targets have"
        lines.append(f"{missing} of {status['targets']} {have} no return: not counted above.")
    return lines


def _earlier_rows(status: Mapping[str, Any]) -> list[str]:
    """Which policies were corrected or taken back, and why if that was said: a line for each."""
    lines = []
    for entry in status["rounds"]:
        if entry["earlier"]:
            what = "was forgotten" if entry["status"] == "forgotten" else "was corrected"
            last = entry["earlier"][-1]
            is_of_this = last["became"] == entry["status"] and last["reason"]
            why = f": {last['reason']}" if is_of_this else ""
            lines.append(f"policy {entry['id']} {what}{why}")
    return lines


def _random_actions(status: Mapping[str, Any]) -> list[str]:
    """What random actions do, if it was measured: a line, or none."""
    random = status["random_actions"]
    if random is None:
        return []
    if random["coverage"] is None:
        return [f"Random actions: mean return {figure(random['performance'])}."]
    return [f"Random actions: coverage {random['coverage']:.3f}."]


def _no_better_than_random(status: Mapping[str, Any]) -> list[str]:
    """Which policies do no better where they were trained: two lines, or none."""
    numbers = [str(e["id"]) for e in status["rounds"] if e["no_better_than_random"]]
    if not numbers:
        return []
    which = f"{'policy' if len(numbers) == 1 else 'policies'} {', '.join(numbers)}"
    return [
        f"No better than random actions where trained: {which}.",
        "  Give more steps (--steps), or other settings (sdmbtl trainers lists them).",
    ]


def _best_single(status: Mapping[str, Any]) -> list[str]:
    """What the best policy does alone, from two policies on: a line, or none."""
    best, count = status["best_single"], status["policies"]
    if best is None or count < 2:
        return []
    everyone = "both" if count == 2 else f"all {count}"
    if status["coverage"] is None:
        alone = f"has a mean return of {figure(best['performance'])} alone"
        together = figure(status["performance"])
    else:
        alone, together = f"covers {best['coverage']:.3f} alone", f"{status['coverage']:.3f}"
    if status["performance"] - best["performance"] <= NEARLY * status["return_span"]:
        return [f"One policy is nearly as good as {everyone}: policy {best['id']} {alone}."]
    return [f"The best single policy ({best['id']}) {alone}, {everyone} together {together}."]


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
    if status.get("running_process") is not None:
        steps.append((f"sdmbtl status {place}", "look again: a process is working on it"))
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
