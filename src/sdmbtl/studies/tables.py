"""A study as tables: its policies and its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.studies.describe import status_lines
from sdmbtl.studies.evaluation import errors_by_target
from sdmbtl.wording import gain_figure, html_lines, html_table, level_figure

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study


def study_html(study: Study) -> str:
    """Return the status and a table of the policies, for a notebook."""
    snapshot = study.snapshot()
    span = snapshot.known_span
    rows = [
        (
            policy.trial.id,
            policy.trained_on,
            policy.trial.status,
            level_figure(policy.performance, policy.coverage),
            gain_figure(policy.gain, span),
            policy.trial.reason,
        )
        for policy in snapshot.rounds
    ]
    level = "mean best return" if span is None else "coverage"
    table = html_table(["policy", "trained on", "status", level, "gain", "why"], rows)
    return html_lines(str(study.path), status_lines(snapshot)) + (table if rows else "")


def best_policies(study: Study) -> list[dict[str, Any]]:
    """Return an entry for each target, as JSON data, in the order of a row.

    Each has the `policy` with the highest `expected_return`, and `episodes`: how many of that
    policy were played there; 0 if the return is predicted from other targets. The policy is None
    if there is none. `failed_evaluations` counts evaluations that failed there.
    """
    errors, policies = errors_by_target(study), study.selector.best_trials
    expected, played = study.selector.expected_best, study.episodes()
    return [
        {
            "target": number,
            "context": context,
            "policy": None if policy < 0 else int(policy),
            "expected_return": float(expected[number]),
            "episodes": 0 if policy < 0 else int(np.isfinite(played[policy][number]).sum()),
            "failed_evaluations": len(errors.get(number, ())),
            "first_error": next(iter(errors.get(number, {}).values()), None),
        }
        for number, (context, policy) in enumerate(zip(study.space, policies, strict=True))
    ]
