"""Everything that the page of a study shows, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.contexts.regions import unit_box
from sdmbtl.report.headline import Card, WeakSpots, cards, headline, weak_spots
from sdmbtl.report.packing import PackedRows
from sdmbtl.report.reproduction import Reproduction, reproduction
from sdmbtl.summary import summary
from sdmbtl.wording import chosen_by

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.studies import Study

#: Of a longer learning curve, so many points are shown.
MOST_POINTS = 200
#: Of more failures, so many are shown; of a longer error, its last characters.
MOST_FAILURES, LONGEST_ERROR = 100, 2000


@dataclass(frozen=True)
class DimensionData:
    """A dimension: its name, its values in the order of the targets, and their coordinates.

    Attributes:
        name: The name.
        unit: What the values are measured in, if known.
        scale: How values become unit coordinates.
        low: The lowest value.
        high: The highest value.
        values: The values of a grid; None of a list of targets.
        units: Their unit coordinates.
    """

    name: str
    unit: str | None
    scale: str
    low: float
    high: float
    values: tuple[float, ...] | None
    units: tuple[float, ...] | None


@dataclass(frozen=True)
class SpaceData:
    """The context space.

    Attributes:
        dimensions: The dimensions.
        targets: Number of targets.
        points: (N, D) the targets, if they are a list; None of a grid, whose last dimension
            varies fastest.
        units: (N, D) their unit coordinates.
    """

    dimensions: tuple[DimensionData, ...]
    targets: int
    points: list[list[float]] | None
    units: list[list[float]] | None


@dataclass(frozen=True)
class PolicyData:
    """A policy: what it was trained on, why, and what came of it.

    Attributes:
        id: Its number.
        status: What became of it.
        trained_on: In words.
        kind: "whole" space, "region" or "point".
        box: Lowest and highest unit coordinate in each dimension.
        context: Values of the centre.
        parent: The policy that it started from, if any.
        steps: Environment steps, taken or asked for.
        chosen_by: The strategy, model or structure, in a word or two.
        reason: Why, in a sentence or two.
        structure: The structure that was detected before the choice.
        model: The model whose prediction the choice rests on.
        numbers: The figures behind the reason.
        scores: How well each model predicted it.
        expected_gain: What it was expected to add to the mean best return.
        gain: What it added.
        performance: The mean best return with it.
        own_return: Its return where it was trained.
        evaluated: Number of targets with a return.
        remarks: What is strange about it, in sentences.
        curve: Steps and mean return during training.
        seconds: Seconds of its stages.
        attributes: What the user has attached, as text.
    """

    id: int
    status: str
    trained_on: str
    kind: str
    box: list[list[float]]
    context: dict[str, float]
    parent: int | None
    steps: int | None
    chosen_by: str
    reason: str
    structure: str | None
    model: str | None
    numbers: Mapping[str, float]
    scores: Mapping[str, float]
    expected_gain: float | None
    gain: float | None
    performance: float | None
    own_return: float | None
    evaluated: int
    remarks: tuple[str, ...]
    curve: list[list[float]]
    seconds: Mapping[str, float]
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class FailureData:
    """Something that went wrong: with which policy, when, and the error."""

    policy: int
    what: str
    error: str


@dataclass(frozen=True)
class StudyData:
    """Everything that the page of a study shows.

    Attributes:
        title: What is studied.
        headline: The study in a line.
        cards: The four things to know first.
        summary: Where it stands, in sentences.
        running: Whether a process is working on it.
        space: The context space.
        returns: Lowest and highest return that shares are of; None if there is no such range.
        range_known: Whether that is the known range, not that of the returns so far.
        policies: Every policy, in order.
        rows: Returns of the finished ones on the targets.
        weak: What is badly covered.
        random: Mean return of random actions, if measured.
        best_single: Id and mean return of the best single policy.
        next_gain: What the next policy is expected to add to the mean best return.
        mean_scores: Mean score of each model that predicts.
        structure: What the selector's detector finds in all rows, if it has one.
        failures: What went wrong.
        more_failures: Number of failures that are not listed.
        settings: Names and values of the settings.
        versions: Of the software.
        reproduction: How to make it again.
    """

    title: str
    headline: str
    cards: tuple[Card, ...]
    summary: tuple[str, ...]
    running: bool
    space: SpaceData
    returns: tuple[float, float] | None
    range_known: bool
    policies: tuple[PolicyData, ...]
    rows: PackedRows
    weak: WeakSpots
    random: float | None
    best_single: Mapping[str, Any] | None
    next_gain: float | None
    mean_scores: Mapping[str, float]
    structure: str | None
    failures: tuple[FailureData, ...]
    more_failures: int
    settings: Mapping[str, str]
    versions: Mapping[str, str]
    reproduction: Reproduction
    kind: str = field(default="study", init=False)


def study_data(study: Study) -> StudyData:
    """Gather what the page of a study shows; nothing of it is changed, no policy is opened."""
    errors = study.store.errors()
    status = {**study.status(), "running_process": study.running_process}
    space, rows = study.space, study.selector.rows
    returns, covered = study.return_range, status["covered"]
    if returns is None and covered is not None:
        returns = (covered["range"][0], covered["range"][1])
    weak = weak_spots(space, np.asarray(rows.best), returns)
    next_gain = study.remaining_gain(1) if status["policies"] else None
    finished = [trial for trial in study.trials if trial.row is not None]
    packed = np.array([trial.row for trial in finished]).reshape(len(finished), len(space))
    failures = _failures(status, errors)
    policies = tuple(
        _policy(trial, entry, space, status["timing"]["by_trial"])
        for trial, entry in zip(study.trials, status["rounds"], strict=True)
    )
    kinds = [policy.kind for policy in policies if policy.status == "finished"]
    random = status["random_actions"]
    return StudyData(
        title=status["environment"] or study.path.name,
        headline=headline(status),
        cards=cards(status, weak, space, next_gain, kinds),
        summary=tuple(summary(status)),
        running=status["running_process"] is not None,
        space=_space(space),
        returns=returns,
        range_known=study.return_range is not None,
        policies=policies,
        rows=PackedRows.of(packed, tuple(trial.id for trial in finished)),
        weak=weak,
        random=None if random is None else random["performance"],
        best_single=status["best_single"],
        next_gain=next_gain,
        mean_scores=status["scores"],
        structure=status["structure"],
        failures=tuple(failures[:MOST_FAILURES]),
        more_failures=max(len(failures) - MOST_FAILURES, 0),
        settings=_settings(study, status),
        versions=status["versions"],
        reproduction=reproduction(study.configuration, status["stop_rules"], str(study.path)),
    )


def _space(space: ContextSpace) -> SpaceData:
    dimensions = []
    for name, dimension in space.dimensions.items():
        levels = dimension.values if isinstance(dimension, Levels) and space.is_grid else None
        units = None if levels is None else tuple(dimension.to_unit(levels).round(6).tolist())
        values = None if levels is None else tuple(_rounded(v) for v in levels.tolist())
        ends = (_rounded(dimension.low), _rounded(dimension.high))
        dimensions.append(
            DimensionData(name, dimension.unit, dimension.scale, *ends, values, units)
        )
    points = units_of_points = None
    if not space.is_grid:
        points = [[_rounded(v) for v in target] for target in space.targets.tolist()]
        units_of_points = space.unit_targets.round(5).tolist()
    return SpaceData(tuple(dimensions), len(space), points, units_of_points)


def _rounded(value: float) -> float:
    """A number with six digits: more are not shown."""
    return float(f"{value:.6g}")


def _policy(
    trial: Trial,
    entry: Mapping[str, Any],
    space: ContextSpace,
    seconds: Mapping[str, Mapping[str, float]],
) -> PolicyData:
    lows, highs = unit_box(space, trial.source)
    region = "whole" if space.is_whole(trial.source) else "region"
    return PolicyData(
        id=trial.id,
        status=entry["status"],
        trained_on=entry["trained_on"],
        kind="point" if trial.source.is_point else region,
        box=np.column_stack([lows, highs]).round(6).tolist(),
        context={name: _rounded(value) for name, value in entry["context"].items()},
        parent=entry["parent"],
        steps=entry["steps"] or entry["asked_steps"],
        chosen_by=chosen_by(entry["strategy"], entry["structure"], entry["model"]),
        reason=entry["reason"],
        structure=entry["structure"],
        model=entry["model"],
        numbers=entry["numbers"],
        scores=entry["scores"],
        expected_gain=entry["expected_gain"],
        gain=entry["gain"],
        performance=entry["performance"],
        own_return=entry["training_return"],
        evaluated=entry["evaluated_targets"],
        remarks=tuple(_remarks(entry)),
        curve=_thinned(entry["curve"]),
        seconds=seconds.get(str(trial.id), {}),
        attributes={name: _text(value) for name, value in entry["attributes"].items()},
    )


def _remarks(entry: Mapping[str, Any]) -> list[str]:
    remarks = []
    if entry["probably_failed"]:
        remarks.append("Far below the others: its training may have failed.")
    if entry["no_better_than_random"]:
        remarks.append("No better than random actions where it was trained.")
    if entry["failed_targets"]:
        remarks.append(f"Its evaluation failed on {entry['failed_targets']} targets.")
    if entry["attempts"] > 1:
        remarks.append(f"Trained in attempt {entry['attempts']}.")
    for earlier in entry["earlier"]:
        what = "Forgotten" if earlier["became"] == "forgotten" else "Corrected"
        remarks.append(f"{what}: {earlier['reason']}" if earlier["reason"] else f"{what}.")
    return remarks


def _thinned(curve: list[list[float]]) -> list[list[float]]:
    """A curve with not too many points, both ends among them."""
    curve = [point for point in curve if None not in point]
    if len(curve) > MOST_POINTS:
        chosen = np.linspace(0, len(curve) - 1, MOST_POINTS).round().astype(int)
        curve = [curve[i] for i in chosen]
    return [[steps, _rounded(value)] for steps, value in curve]


def _failures(
    status: Mapping[str, Any], errors: Mapping[int, Mapping[int, str]]
) -> list[FailureData]:
    """Failed training runs, then failed evaluations: one for each policy and error."""
    found = []
    for entry in status["rounds"]:
        for attempt, error in enumerate(entry["errors"], start=1):
            found.append(FailureData(entry["id"], f"training, attempt {attempt}", _short(error)))
    for number, by_target in errors.items():
        by_error: dict[str, list[int]] = {}
        for target, error in by_target.items():
            by_error.setdefault(error, []).append(target)
        for error, targets in by_error.items():
            several = f"{len(targets)} targets" if len(targets) > 1 else f"target {targets[0]}"
            found.append(FailureData(number, f"evaluation on {several}", _short(error)))
    return found


def _short(error: str) -> str:
    return error if len(error) <= LONGEST_ERROR else f"… {error[-LONGEST_ERROR:]}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _settings(study: Study, status: Mapping[str, Any]) -> dict[str, str]:
    """Every setting by name, as text."""
    configuration = study.configuration
    found: dict[str, Any] = {
        "environment": status["environment"] or "none: trained elsewhere",
        **{
            f"environment.{k}": v
            for k, v in (configuration.family or {}).get("options", {}).items()
        },
        "targets": status["targets"],
        "episodes for each target": configuration.episodes,
        "returns": status["return_range"] or "range not known",
        "selector": configuration.selector["name"],
        **{f"selector.{k}": v for k, v in configuration.selector["options"].items()},
        "seed": configuration.seed,
        "batch": configuration.batch,
        "retries": configuration.retries,
        "stop": status["stop_rules"] or "no rule on record",
    }
    if configuration.trainer is not None:
        settings = configuration.trainer["settings"].items()
        found |= {"trainer": configuration.trainer["name"]}
        found |= {f"trainer.{name}": value for name, value in settings}
    return {name: _text(value) for name, value in found.items()}
