"""What a reader wants to know first, in a few words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.report.corners import Corner, find_corner
from sdmbtl.summary import known_span, past_forecasts
from sdmbtl.wording import (
    counted,
    duration,
    figure,
    points,
    reach_in_words,
    sentence,
    shown_context,
    whole_percent,
)

#: A target is badly covered if its best return is this share of the range below the best known.
BADLY = 0.25
#: What policies are trained on, in words.
KINDS = {"whole": "the whole space", "region": "regions", "point": "single contexts"}
#: So many of the worst targets are listed.
MOST_LISTED = 8


@dataclass(frozen=True)
class Card:
    """One thing to know: what it is about, the answer, and what stands behind it."""

    label: str
    value: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class WeakSpots:
    """What is still badly covered.

    Attributes:
        limit: The return below which a target is.
        count: Number of targets below it.
        worst: Indices of the worst targets, badly covered or not, the worst first.
        corner: Where most of them are; None if they are spread, or there are none.
        without_return: Number of targets without a return.
    """

    limit: float | None
    count: int
    worst: tuple[int, ...]
    corner: Corner | None
    without_return: int


def weak_spots(
    space: ContextSpace,
    best: NDArray[np.float64],
    returns: tuple[float, float] | None,
    *,
    badly: float = BADLY,
) -> WeakSpots:
    """Find what is still badly covered.

    Args:
        space: The context space.
        best: (N,) best return on each target, NaN where there is none.
        returns: Lowest and highest return, known or seen; None if there is no such range.
        badly: How far below the best known return that is, as a share of the range.
    """
    missing = int(np.isnan(best).sum())
    order = [int(i) for i in np.argsort(best, kind="stable") if not np.isnan(best[i])]
    if returns is None or not order:
        return WeakSpots(None, 0, tuple(order[:MOST_LISTED]), None, missing)
    width = returns[1] / 2 - returns[0] / 2  # halves, as extreme returns need
    limit = (np.nanmax(best) / 2 - badly * width) * 2
    with np.errstate(invalid="ignore"):
        low = best < limit
    corner = find_corner(space, low)
    return WeakSpots(float(limit), int(low.sum()), tuple(order[:MOST_LISTED]), corner, missing)


def headline(status: Mapping[str, Any]) -> str:
    """The study in a line."""
    name = status["environment"] or Path(status["path"]).name
    targets = counted(status["targets"], "target")
    if not status["policies"]:
        return f"{name}: no policy is finished yet, {targets}"
    policies = counted(status["policies"], "policy", "policies")
    if status["coverage"] is None:
        mean = figure(status["performance"])
        return f"{name}: {policies}, a mean best return of {mean} on {targets}"
    return f"{name}: {policies}, coverage {status['coverage']:.3f} on {targets}"


def cards(
    status: Mapping[str, Any],
    weak: WeakSpots,
    space: ContextSpace,
    next_gain: float | None,
    kinds: Sequence[str],
) -> tuple[Card, ...]:
    """The four things to know first.

    Args:
        status: Where the study stands.
        weak: What is badly covered.
        space: The context space.
        next_gain: What the next policy is expected to add to the mean best return, if known.
        kinds: What each finished policy was trained on, a key of `KINDS`.
    """
    return (
        _coverage_card(status),
        _weak_card(status, weak, space),
        _outlook_card(status, next_gain),
        _training_card(status, kinds),
    )


def _coverage_card(status: Mapping[str, Any]) -> Card:
    covered, lines = status["covered"], []
    value = figure(status["coverage"], ".3f")
    if status["coverage"] is None:
        value = figure(status["performance"])
    if covered is not None:
        near = whole_percent(covered["within_5_percent"])
        lines.append(f"Worst tenth of the targets: {covered['worst_tenth']:.3f}")
        lines.append(f"{near} of the targets within 5 % of the best return")
    best, random = status["best_single"], status["random_actions"]
    if best is not None and status["policies"] > 1:
        lines.append(f"Best single policy ({best['id']}): {_share_or_return(best)}")
    if random is not None:
        lines.append(f"Random actions: {_share_or_return(random)}")
    return Card("Mean best return" if status["coverage"] is None else "Coverage", value, (*lines,))


def _share_or_return(entry: Mapping[str, Any]) -> str:
    if entry["coverage"] is None:
        return figure(entry["performance"])
    return figure(entry["coverage"], ".3f")


def _weak_card(status: Mapping[str, Any], weak: WeakSpots, space: ContextSpace) -> Card:
    label = "Still badly covered"
    if weak.limit is None:
        return Card(label, "not known yet", ("It takes a policy, and returns that differ.",))
    lines = []
    if weak.corner is not None:
        share = f"{weak.corner.found} of {weak.count}"
        lines.append(f"Mostly where {weak.corner.words} ({share})")
    worst = shown_context(space.target(weak.worst[0]))
    lines.append(f"Worst: {worst}")
    lines.append(f"Badly: a best return below {weak.limit:.4g}")
    if weak.without_return:
        lines.append(f"Not evaluated at all: {counted(weak.without_return, 'target')}")
    value = f"{weak.count} of {counted(status['targets'], 'target')}"
    return Card(label, value if weak.count else "nothing", (*lines,))


def _outlook_card(status: Mapping[str, Any], next_gain: float | None) -> Card:
    span, lines = known_span(status), past_forecasts(status)
    value = "no forecast yet"
    if next_gain is not None:
        value = f"+{next_gain:.3g}" if span is None else f"+{points(next_gain / span)}"
        lines = ["Predicted rise of the coverage" if span else "Predicted rise", *lines]
    elif status["policies"] > 2:
        value, lines = "no forecast", ["This selector makes none.", *lines]
    if status["reach"] is not None:
        lines.append(sentence(reach_in_words(status["reach"], known=span is not None)))
    label = "The next policy"
    return Card(f"{label}, after those pending" if status["pending"] else label, value, (*lines,))


def _training_card(status: Mapping[str, Any], kinds: Sequence[str]) -> Card:
    seconds = status["timing"]["seconds"]
    lines = _trained_on(status, kinds)
    if seconds:
        lines.append(", ".join(f"{stage} {duration(value)}" for stage, value in seconds.items()))
    lines += [
        f"{counted(status[key], 'policy', 'policies')} {key}"
        for key in ("pending", "failed", "forgotten")
        if status[key]
    ]
    if status["failed_evaluations"]:
        lines.append(f"{counted(status['failed_evaluations'], 'failed evaluation')}")
    if status.get("running_process") is not None:
        lines.append("It is running now.")
    elif status["budget"] is not None:
        lines.append(f"Budget: {counted(status['budget'], 'policy', 'policies')}")
    if status["environment"] is None:
        return Card("Trained elsewhere", f"{status['policies']} reported", (*lines,))
    return Card("Training", f"{status['steps']:,} steps", (*lines,))


def _trained_on(status: Mapping[str, Any], kinds: Sequence[str]) -> list[str]:
    """How many policies were trained on what, and which of them learnt nothing there."""
    lines, counts = [], {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    if counts:
        (first, number), *rest = counts.items()
        words = [f"{counted(number, 'policy', 'policies')} on {KINDS[first]}"]
        lines.append(", ".join([*words, *(f"{count} on {KINDS[kind]}" for kind, count in rest)]))
    useless = [str(entry["id"]) for entry in status["rounds"] if entry["no_better_than_random"]]
    if useless:
        lines.append(f"No better than random actions where trained: {', '.join(useless)}")
    return lines
