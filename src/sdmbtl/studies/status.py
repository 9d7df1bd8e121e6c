"""Where a study stands, as JSON data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sdmbtl.studies.database import TrialRecord
    from sdmbtl.studies.study import Study


def study_status(study: Study) -> dict[str, Any]:
    """Everything but `timing` is the same however often the study was interrupted."""
    configuration = study.configuration
    facts = study.database.facts()
    rounds = _rounds(study)
    finished = [r for r in rounds if r["status"] == "finished"]
    return {
        "path": str(study.path),
        "environment": None if configuration.family is None else configuration.family["name"],
        "trainer": None if configuration.trainer is None else configuration.trainer["name"],
        "selector": configuration.selector["name"],
        "seed": configuration.seed,
        "dimensions": list(study.space.names),
        "targets": len(study.space),
        "episodes": configuration.episodes,
        "budget": facts.get("budget"),
        "policies": len(finished),
        "pending": sum(r["status"] == "pending" for r in rounds),
        "failed": sum(r["status"] == "failed" for r in rounds),
        "steps": sum((t.training or {}).get("steps", 0) for t in study.trials),
        "performance": _number(study.performance),
        "coverage": study.share(study.performance),
        "return_range": configuration.return_range,
        "rounds": rounds,
        "versions": facts.get("versions", {}),
        "timing": _timing(study),
    }


def _rounds(study: Study) -> list[dict[str, Any]]:
    best = np.full(len(study.space), np.nan)
    before = math.nan
    rounds = []
    for trial in study.trials:
        entry = _described(study, trial)
        if trial.row is not None:
            best = np.fmax(best, trial.row)
            mean = float(np.nanmean(best))
            entry |= {
                "performance": mean,
                "coverage": study.share(mean),
                "gain": _number(mean - before),
            }
            before = mean
        rounds.append(entry)
    return rounds


def _described(study: Study, trial: TrialRecord) -> dict[str, Any]:
    training = trial.training or {}
    return {
        "id": trial.id,
        "context": study.space.context(trial.source),
        "status": trial.status,
        "structure": trial.structure,
        "strategy": trial.strategy,
        "reason": trial.reason,
        "numbers": trial.numbers,
        "steps": training.get("steps"),
        "training_return": training.get("source_return"),
        "attempts": trial.attempt + 1,
        "errors": trial.errors,
        "performance": None,
        "coverage": None,
        "gain": None,
    }


def _timing(study: Study) -> dict[str, Any]:
    seconds = study.database.seconds()
    stages: dict[str, float] = {}
    for each in seconds.values():
        for stage, value in each.items():
            stages[stage] = stages.get(stage, 0.0) + value
    return {"seconds": stages, "by_trial": {str(k): v for k, v in sorted(seconds.items())}}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
