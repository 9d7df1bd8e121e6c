"""Everything that the page of a study shows, as plain data."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.callbacks.displays import LIVE_FILE
from sdmbtl.contexts import ContextSpace, Dimension, Levels
from sdmbtl.contexts.regions import unit_box
from sdmbtl.files import unsafe_path_reason
from sdmbtl.foreign import DAMAGED, read_json
from sdmbtl.json_data import as_json
from sdmbtl.palette import policy_colour
from sdmbtl.studies.describe import (
    comparison_lines,
    detail_lines,
    gap_lines,
    headline,
    objective_text,
    policy_problems,
    problem_lines,
    title,
)
from sdmbtl.studies.snapshot import PolicySnapshot, StudySnapshot
from sdmbtl.wording import chosen_by, figure, gain_figure, gain_text, level_figure, whole_percent

if TYPE_CHECKING:
    from sdmbtl.studies import Study

#: A longer learning curve is thinned to this many points.
MOST_POINTS = 200
#: At most this many failures are shown, and this many characters of an error.
MOST_FAILURES, LONGEST_ERROR = 100, 2000
#: Code of a return that is not known; the highest return has one less.
MISSING = 65_535


def study_data(study: Study) -> dict[str, Any]:
    """Gather the content of a study's page as JSON data; nothing of the study is changed."""
    snapshot, errors = study.snapshot(), study.store.errors()
    finished = [trial for trial in study.trials if trial.row is not None]
    rows = study.selector.expected_returns
    failures = _failures(snapshot, errors)
    covered, known = snapshot.covered, snapshot.return_range is not None
    random, single = snapshot.random_actions, snapshot.best_single
    data = {
        "title": f"{title(snapshot)}: {headline(snapshot)}",
        "tiles": _tiles(snapshot),
        "summary": [
            *comparison_lines(snapshot),
            *gap_lines(snapshot),
            *problem_lines(snapshot),
        ],
        "details": detail_lines(snapshot),
        "running": snapshot.running_process is not None,
        "progress": read_progress(study),
        "space": _space(study.space),
        "returns": snapshot.return_range or (None if covered is None else covered.returns),
        "range_known": known,
        "policies": [_policy(policy, study.space, snapshot) for policy in snapshot.rounds],
        "rows": {"policies": [trial.id for trial in finished], **pack_rows(rows)},
        "gaps": snapshot.gaps,
        "random": None if random is None else random.performance,
        "best_single": None if single is None else single.performance,
        "failures": failures[:MOST_FAILURES],
        "more_failures": max(0, len(failures) - MOST_FAILURES),
        "settings": _settings(study, snapshot),
        "versions": snapshot.versions,
    }
    return {name: as_json(value) for name, value in data.items()}


def read_progress(study: Study) -> dict[str, Any] | None:
    """Read the progress of the policy in training; None if there is no run."""
    root, path = study.files.root, study.files.root / LIVE_FILE
    if study.running_process is None or unsafe_path_reason(path, root) is not None:
        return None
    try:
        found = read_json(path)
        curve = tuple((int(steps), float(value)) for steps, value in found["curve"])
        share = None if found["share"] is None else float(found["share"])
        return {
            "policy": int(found["policy"]),
            "share": share,
            "text": str(found["text"]),
            "curve": _thinned(curve),
        }
    except DAMAGED:  # a file of nobody, or of somebody else
        return None


def pack_rows(returns: NDArray[np.float64]) -> dict[str, Any]:
    """Pack (k, N) returns, NaN where not known, in two bytes each.

    Returns:
        The lowest and the highest return, and `data`: base64 of unsigned 16-bit little-endian
        numbers, row by row, from 0 for the lowest to 65,534 for the highest; 65,535 is missing.
    """
    known = returns[np.isfinite(returns)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    shares = (returns - low) / ((high - low) or 1.0)
    steps = np.where(np.isfinite(shares), np.rint(shares * (MISSING - 1)), MISSING)
    packed = base64.b64encode(steps.astype("<u2").tobytes()).decode()
    return {"low": low, "high": high, "data": packed}


def _tiles(snapshot: StudySnapshot) -> list[tuple[str, str]]:
    """Labels and values of the key figures."""
    if not snapshot.finished:
        return []
    level = level_figure(snapshot.performance, snapshot.coverage)
    tiles = [("Mean best return" if snapshot.coverage is None else "Coverage", level)]
    if (aim := objective_text(snapshot)) is not None:
        tiles.append((f"Objective {snapshot.objective}", aim))
    single, random = snapshot.best_single, snapshot.random_actions
    for label, other in (("Best single policy", single), ("Random actions", random)):
        if other is not None:
            tiles.append((label, level_figure(other.performance, other.coverage)))
    for label, context, mean in (
        *(("One network", n.context, n.mean_return) for n in snapshot.networks),
        *(("One policy, same steps", b.context, b.mean_return) for b in snapshot.baselines),
    ):
        own = snapshot.level(mean)
        tiles.append((f"{label}, context {context}", level_figure(own.performance, own.coverage)))
    if snapshot.next_gain is not None:
        tiles.append(("Another policy", gain_text(snapshot.next_gain, snapshot.known_span)))
    return tiles


def _space(space: ContextSpace) -> dict[str, Any]:
    """Dimensions with the values of a grid in the order of the targets, or the list of targets."""
    dimensions = []
    for name, dimension in space.dimensions.items():
        levels = dimension.values if isinstance(dimension, Levels) and space.is_grid else None
        dimensions.append(
            {
                "name": name,
                "unit": dimension.unit,
                "scale": dimension.scale,
                "low": _rounded(dimension.low),
                "high": _rounded(dimension.high),
                "values": None if levels is None else [_shown(dimension, v) for v in levels],
                "units": None if levels is None else dimension.to_unit(levels).round(6),
            }
        )
    points = units = None
    if not space.is_grid:
        ds, units = space.dimensions.values(), space.positions.round(5)
        points = [[_shown(d, v) for d, v in zip(ds, point, strict=True)] for point in space.targets]
    about = {"dimensions": dimensions, "targets": len(space), "weights": space.weights}
    return {**about, "points": points, "units": units}


def _shown(dimension: Dimension, value: float) -> Any:
    shown = dimension.show(value)
    return shown if isinstance(shown, str) else _rounded(shown)


def _policy(policy: PolicySnapshot, space: ContextSpace, snapshot: StudySnapshot) -> dict[str, Any]:
    trial = policy.trial
    lows, highs = unit_box(space, trial.source)
    span = snapshot.known_span
    seconds = snapshot.timing["by_trial"].get(str(trial.id), {})
    numbers = {
        "chosen by": chosen_by(trial.strategy, trial.structure, trial.model),
        "return where trained": figure(policy.training_return),
        **{name.replace("_", " "): figure(value) for name, value in trial.numbers.items()},
        **{f"weight of {n}": whole_percent(weight) for n, weight in policy.model_weights.items()},
        **{f"seconds of {name}": f"{value:.3g}" for name, value in seconds.items()},
    }
    remarks = policy_problems(policy)
    if policy.no_better_than_random:
        remarks.append("no better than random actions")
    return {
        "id": trial.id,
        "status": trial.status,
        "colour": policy_colour(trial.id),
        "trained_on": policy.trained_on,
        "kind": policy.kind,
        "box": np.column_stack([lows, highs]).round(6),
        "parent": trial.parent,
        "steps": policy.steps,
        "reason": trial.reason,
        "expected_gain": trial.expected_gain,
        "gain": policy.gain,
        "expected_text": gain_figure(trial.expected_gain, span),
        "gain_text": gain_figure(policy.gain, span),
        "performance": policy.performance,
        "level_text": level_figure(policy.performance, policy.coverage),
        "serves": policy.serves,
        "remarks": remarks,
        "numbers": numbers,
        "curve": _thinned(policy.run.curve),
    }


def _thinned(curve: tuple[tuple[int, float], ...]) -> list[list[float]]:
    """A curve with not too many points, both ends among them."""
    points = [(steps, value) for steps, value in curve if np.isfinite(value)]
    if len(points) > MOST_POINTS:
        chosen = np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)
        points = [points[i] for i in chosen]
    return [[steps, _rounded(value)] for steps, value in points]


def _failures(snapshot: StudySnapshot, errors: dict[int, dict[int, str]]) -> list[dict[str, Any]]:
    """Failed training runs, then failed evaluations: one for each policy and error."""
    found = []
    for policy in snapshot.rounds:
        for attempt, error in enumerate(policy.run.errors, start=1):
            found.append((f"Policy {policy.trial.id}, training, attempt {attempt}", error))
    for number, by_target in errors.items():
        by_error: dict[str, list[int]] = {}
        for target, error in by_target.items():
            by_error.setdefault(error, []).append(target)
        for error, targets in by_error.items():
            where = f"{len(targets)} targets" if len(targets) > 1 else f"target {targets[0]}"
            found.append((f"Policy {number}, evaluation on {where}", error))
    return [{"what": what, "error": error[-LONGEST_ERROR:]} for what, error in found]


def _settings(study: Study, snapshot: StudySnapshot) -> dict[str, str]:
    """Every setting by name, as text."""
    configuration = study.configuration
    family, trainer = configuration.family or {}, configuration.trainer
    found: dict[str, Any] = {
        "environment": snapshot.environment or "none: trained elsewhere",
        **{f"environment.{k}": v for k, v in family.get("options", {}).items()},
        "targets": snapshot.targets,
        "episodes for each target": configuration.episodes,
        "returns": snapshot.return_range or "range not known",
        "selector": configuration.selector["name"],
        **{f"selector.{k}": v for k, v in configuration.selector["options"].items()},
        "seed": configuration.seed,
        "batch": configuration.batch,
        "retries": configuration.retries,
        "stop": dict(snapshot.stop_rules) or "no rule on record",
    }
    if trainer is not None:
        found |= {"trainer": trainer["name"]}
        found |= {f"trainer.{name}": value for name, value in trainer["settings"].items()}
    return {name: _text(value) for name, value in found.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
