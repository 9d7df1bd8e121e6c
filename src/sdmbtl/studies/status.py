"""Where a study stands, as JSON data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import StructureError
from sdmbtl.json_data import as_json
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl.selectors.structure_detection_selector import StructureDetectionSelector
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.environment import accepted_changes
from sdmbtl.studies.random_actions import RandomActions, recorded_random_actions
from sdmbtl.studies.reach import HORIZON, STEP, GainCurve, Reach, reach_of, spread_of
from sdmbtl.studies.stopping import LEAST_POLICIES, recorded_rules
from sdmbtl.transfer import Coverage, bounded, coverage_of, mean_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdmbtl.contexts import ContextSpace
    from sdmbtl.selectors import Selector, Trial
    from sdmbtl.studies.study import Study

#: For so many more policies it is said what they are expected to add.
POLICIES_AHEAD = 3
#: For this coverage it is said how many more policies it will take.
WANTED_COVERAGE = 0.95


def study_status(study: Study) -> dict[str, Any]:
    """Everything but `timing` is the same however often the study was interrupted."""
    configuration = study.configuration
    facts, timing = study.store.facts(), _timing(study)
    errors = study.store.errors()
    superseded = len(study.store.stale_results())
    random = recorded_random_actions(facts)
    rounds = _rounds(study, errors, random)
    finished = [r for r in rounds if r["status"] == "finished"]
    covered = coverage_of(study.selector.rows.best, study.selector.rows.returns, study.return_range)
    status = {
        "path": str(study.path),
        "environment": None if configuration.family is None else configuration.family["name"],
        "importable": (configuration.family or {}).get("importable", True),
        "environment_changes": accepted_changes(facts),
        "trainer": None if configuration.trainer is None else configuration.trainer["name"],
        "selector": configuration.selector["name"],
        "seed": configuration.seed,
        "dimensions": list(study.space.names),
        "targets": len(study.space),
        "episodes": configuration.episodes,
        "budget": recorded_rules(facts).get("budget"),
        "stop_rules": recorded_rules(facts),
        "policies": len(finished),
        "pending": sum(r["status"] == "pending" for r in rounds),
        "failed": sum(r["status"] == "failed" for r in rounds),
        "forgotten": sum(r["status"] == "forgotten" for r in rounds),
        "superseded": superseded,
        "failed_evaluations": sum(r["failed_targets"] for r in rounds),
        "steps": sum(r["steps"] or 0 for r in rounds),
        "performance": study.performance,
        "evaluated_targets": int(np.count_nonzero(~np.isnan(study.selector.rows.best))),
        "coverage": study.share(study.performance),
        "covered": None if covered is None else covered.to_dict(),
        "best_single": _best_single(study),
        "random_actions": _random_actions(study, random),
        "return_range": configuration.return_range,
        "return_span": study.return_span,
        "structure": _structure(study),
        **_model(study.selector),
        "scores": _mean_scores(study.selector),
        "remaining_gain": _remaining_gain(study),
        "reach": _reach(study, covered, finished),
        "rounds": rounds,
        "versions": facts.get("versions", {}),
        "timing": timing,
    }
    return {name: as_json(value) for name, value in status.items()}


def _best_single(study: Study) -> dict[str, Any] | None:
    """The policy with the highest mean over all targets; None if none was evaluated on all."""
    rows = {t.id: t.row for t in study.trials if t.row is not None}
    means = {number: mean_of(row) for number, row in rows.items() if not np.isnan(row).any()}
    if not means:
        return None
    best = max(means, key=lambda number: means[number])
    return {"id": best, "performance": means[best], "coverage": study.share(means[best])}


def _random_actions(study: Study, random: RandomActions | None) -> dict[str, Any] | None:
    """What random actions do on average; None if it was not measured."""
    if random is None:
        return None
    return {
        "performance": random.mean,
        "coverage": study.share(random.mean),
        "targets": len(random.targets),
    }


def _rounds(
    study: Study, errors: Mapping[int, Mapping[int, str]], random: RandomActions | None
) -> list[dict[str, Any]]:
    best = np.full(len(study.space), np.nan)
    rounds: list[dict[str, Any]] = []
    evidence = study.selector.evidence()
    failed = set(study.selector.failed_runs())
    rows = 0
    for trial in study.trials:
        entry = _described(trial, study.space, errors.get(trial.id, {}))
        if trial.row is not None:
            before, best = best, np.fmax(best, trial.row)
            mean = mean_of(best)
            entry |= {
                "evaluated_targets": int(np.count_nonzero(~np.isnan(trial.row))),
                "performance": mean,
                "performance_targets": int(np.count_nonzero(~np.isnan(best))),
                "coverage": study.share(mean),
                "gain": _gain(before, best),
                "scores": {e["model"]: e["score"] for e in evidence if e["rows"] == rows},
                "probably_failed": trial.id in failed,
                "no_better_than_random": random is not None
                and random.are_no_worse_than(trial, study.space, study.configuration.episodes),
            }
            rows += 1
        rounds.append(entry)
    return rounds


def _gain(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Rise of the mean best return, over the targets that were evaluated before; NaN if none was.

    A target that is evaluated for the first time changes the mean, and is not a gain.
    """
    known = ~np.isnan(before)
    return bounded(mean_of(after[known]) - mean_of(before[known]))


def _described(trial: Trial, space: ContextSpace, errors: Mapping[int, str]) -> dict[str, Any]:
    run = trial.run or TrainingRun()
    return {
        "id": trial.id,
        "context": trial.context,
        "source": space.in_words(trial.source),
        "trained_on": space.in_words(trial.source.where),
        "region": trial.region,
        "width": trial.width,
        "parent": trial.parent,
        "asked_steps": trial.steps,
        "status": trial.status,
        "strategy": trial.strategy,
        "structure": trial.structure,
        "model": trial.model,
        "reason": trial.reason,
        "numbers": trial.numbers,
        "expected_gain": trial.expected_gain,
        "attributes": trial.attributes,
        "steps": run.steps,
        "curve": run.curve,
        "source_return": trial.source_return,
        "training_return": _own_return(trial, run),
        "attempts": run.attempt + 1,
        "errors": list(run.errors),
        "lost_workers": list(run.lost),
        "failed_targets": len(errors),
        "first_target_error": errors[min(errors)] if errors else None,
        "earlier": trial.earlier,
        "evaluated_targets": 0,
        "performance": None,
        "performance_targets": None,
        "coverage": None,
        "gain": None,
        "scores": {},
        "probably_failed": False,
        "no_better_than_random": False,
    }


def _own_return(trial: Trial, run: TrainingRun) -> float | None:
    """Return of a policy on its own context: in training, or else as reported."""
    if run.training_return is not None or trial.row is None:
        return run.training_return
    return trial.source_return if trial.index is None else float(trial.row[trial.index])


def _mean_scores(selector: Selector) -> dict[str, float]:
    """Mean score of each model so far."""
    scores: dict[str, list[float]] = {}
    for entry in selector.evidence():
        scores.setdefault(entry["model"], []).append(entry["score"])
    return {name: float(np.mean(values)) for name, values in scores.items()}


def _structure(study: Study) -> str | None:
    """What the selector's detector finds in all rows; None if it has none, or knows too little."""
    selector = study.selector
    if not isinstance(selector, StructureDetectionSelector):
        return None
    try:
        return selector.detector.detect(selector.rows.scaled()).structure
    except StructureError:
        return None


def _model(selector: Selector) -> dict[str, Any]:
    """The model that predicts the next policy, and why not those with a higher score."""
    if not isinstance(selector, PredictiveSelector) or not selector.evidence():
        return {"model": None, "passed_over": {}}
    verdict = selector.contest.verdict()
    return {"model": verdict.name, "passed_over": verdict.passed_over}


def _remaining_gain(study: Study) -> dict[str, Any] | None:
    """What some more policies are expected to add, None if the selector cannot tell."""
    gain = study.remaining_gain(POLICIES_AHEAD)
    if gain is None:
        return None
    span = study.return_span
    return {"policies": POLICIES_AHEAD, "gain": gain, "share": gain / span if span else None}


def _reach(
    study: Study, covered: Coverage | None, finished: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """When most is covered, as forecast; None while too little is known."""
    sound = [entry for entry in finished if not entry["probably_failed"]]
    if covered is None or len(sound) < LEAST_POLICIES:
        return None
    three, six = (study.remaining_gain(policies) for policies in (STEP, 2 * STEP))
    if three is None or six is None:
        return None
    width = covered.returns[1] - covered.returns[0]
    # Forecasts are about what comes after the pending policies.
    pending = sum(t.expected_gain or 0.0 for t in study.pending)
    # The first policy has no gain.
    tested = [e for e in sound if e["expected_gain"] is not None and not math.isnan(e["gain"])]
    steps = [entry["steps"] for entry in finished if entry["steps"]]
    reach: Reach = reach_of(
        WANTED_COVERAGE,
        covered.mean + pending / width,
        GainCurve.through(three / width, six / width),
        spread_of([e["expected_gain"] for e in tested], [e["gain"] for e in tested]),
        most=HORIZON if _has_regions(study) else min(HORIZON, len(study.space)),
        steps_per_policy=float(np.mean(steps)) if steps else None,
    )
    return reach.to_dict()


def _has_regions(study: Study) -> bool:
    """Whether there may be more policies than targets."""
    return any(not trial.source.is_point for trial in study.trials)


def _timing(study: Study) -> dict[str, Any]:
    seconds = study.store.seconds()
    stages: dict[str, float] = {}
    for each in seconds.values():
        for stage, value in each.items():
            stages[stage] = stages.get(stage, 0.0) + value
    return {"seconds": stages, "by_trial": {str(k): v for k, v in sorted(seconds.items())}}
