"""The best policy on each target: of those evaluated there, and of all as predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.studies.evaluation import errors_by_target

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study


def best_policies(study: Study) -> list[dict[str, Any]]:
    """An entry for each target, as JSON data, in the order of a row.

    Each has the `policy` with the best `mean_return` of those evaluated there, and the
    `predicted_policy` with its `predicted_return`: the best of all policies, those not evaluated
    there included, with what their returns on other targets say. Without partial rows both are the
    same. None if there is no policy. `failed_evaluations` is how many could not be evaluated there.
    """
    rows, errors = study.selector.rows, errors_by_target(study)
    evaluated, predicted = study.selector.best_trials, study.selector.expected_best_trials
    completed = study.selector.completed_returns()
    expected = completed.max(axis=0) if len(completed) else np.full(len(study.space), np.nan)
    return [
        {
            "target": number,
            "context": context,
            "policy": _known(evaluated[number]),
            "mean_return": float(rows.best[number]),
            "predicted_policy": _known(predicted[number]),
            "predicted_return": float(expected[number]),
            "failed_evaluations": len(errors.get(number, ())),
            "first_error": next(iter(errors.get(number, {}).values()), None),
        }
        for number, context in enumerate(study.space)
    ]


def _known(number: np.intp) -> int | None:
    return None if number < 0 else int(number)
