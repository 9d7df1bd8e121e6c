"""Where a study stands, in sentences: made of its status as JSON data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sdmbtl.wording import (
    counted,
    covered_in_words,
    expected_to_add,
    figure,
    in_words,
    points,
    reach_in_words,
    sentence,
)

#: Scores below this are no better than none.
NO_SCORE = 0.05

#: One policy is nearly as good as all if it lacks no more than this share of the range of returns.
NEARLY = 0.005

#: Policies that are listed in a line at most.
MOST_LISTED = 10


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
    lines += [*_steps_lines(status), *outlook(status)]
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
    if not has_partial_rows(status):
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


def _random_actions(status: Mapping[str, Any]) -> list[str]:
    """What random actions do, if it was measured: a line, or none."""
    random = status["random_actions"]
    if random is None:
        return []
    if random["coverage"] is None:
        return [f"Random actions: mean return {figure(random['performance'])}."]
    return [f"Random actions: coverage {random['coverage']:.3f}."]


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


def _steps_lines(status: Mapping[str, Any]) -> list[str]:
    """What training took: policies on regions may differ in their steps."""
    if not status["steps"] or not has_regions(status):
        return []
    return [f"{status['steps']:,} environment steps in all"]


def outlook(status: Mapping[str, Any]) -> list[str]:
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
        lines += past_forecasts(status)
    if status["reach"] is not None:
        lines.append(sentence(reach_in_words(status["reach"], known=known)))
    return lines


def _other_models(scores: Mapping[str, float], passed_over: Mapping[str, list[str]]) -> list[str]:
    """The other models with their scores; why those with a higher score are not used."""
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    others = ", ".join(f"{name} {score:.2f}" for name, score in ordered)
    lines = [f"Others: {others}"] if others else []
    return lines + [f"{why.capitalize()}: {', '.join(n)}" for why, n in passed_over.items()]


def past_forecasts(status: Mapping[str, Any]) -> list[str]:
    """What was expected of the policies so far, and what came."""
    pairs = [
        (entry["expected_gain"], entry["gain"])
        for entry in status["rounds"]
        if entry["expected_gain"] is not None and entry["gain"] is not None
    ]
    if not pairs:
        return []
    expected, came = (sum(values) for values in zip(*pairs, strict=True))
    span = known_span(status)
    gains = [f"{g:.3g}" if span is None else points(g / span) for g in (expected, came)]
    if len(pairs) == 1:
        return [f"One policy so far was expected to add {gains[0]}; it added {gains[1]}."]
    who = in_words(len(pairs)).capitalize()
    return [f"{who} policies so far were expected to add {gains[0]}; they added {gains[1]}."]


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


def has_regions(status: Mapping[str, Any]) -> bool:
    """Whether a policy was trained on more than a point, or from another one."""
    return any(entry["width"] or entry["parent"] is not None for entry in status["rounds"])


def has_partial_rows(status: Mapping[str, Any]) -> bool:
    """Whether a policy was evaluated on some of the targets only."""
    finished = [entry for entry in status["rounds"] if entry["status"] == "finished"]
    return any(entry["evaluated_targets"] < status["targets"] for entry in finished)


def known_span(status: Mapping[str, Any]) -> float | None:
    """Width of the known range of returns; None if it is not known."""
    known = status["return_range"]
    return None if known is None else float(known[1] - known[0])
