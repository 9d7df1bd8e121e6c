"""A study as tables: its trials, its targets, its learning curves."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.errors import MissingPackageError
from sdmbtl.markup import html_lines, html_table
from sdmbtl.seeds import derived_seed
from sdmbtl.studies.describe import status_lines
from sdmbtl.studies.evaluation import errors_by_target
from sdmbtl.wording import gain_figure, level_figure

if TYPE_CHECKING:
    from pandas import DataFrame

    from sdmbtl.studies.study import Study

#: Columns of the data frame that are fields of a policy's snapshot.
_COLUMNS = (
    *("id", "status", "trained_on", "width", "parent", "steps", "strategy", "structure", "model"),
    *("expected_gain", "gain", "performance", "coverage", "source_return", "training_return"),
    *("evaluated_targets", "failed_targets", "attempts", "probably_failed", "reason"),
)
CURVE_COLUMNS = ("policy", "steps", "mean_return", "source", "seed", "attempt")


def trials_dataframe(study: Study) -> DataFrame:
    """Return every trial as a row of a pandas data frame; see `Study.trials_dataframe`."""
    try:
        from pandas import DataFrame
    except ModuleNotFoundError:
        raise MissingPackageError(
            "A data frame needs pandas, which is not installed. Install it with: "
            "pip install 'sdmbtl[pandas]'; or use study.status()['rounds'], the same as JSON.",
            name="pandas",
        ) from None
    status = study.status()
    times = status["timing"]["by_trial"]
    rows = [
        {name: entry[name] for name in _COLUMNS}
        | {f"context.{name}": value for name, value in entry["context"].items()}
        | {f"seconds.{stage}": value for stage, value in times.get(str(entry["id"]), {}).items()}
        for entry in status["rounds"]
    ]
    contexts = [f"context.{name}" for name in study.space.names]
    frame = DataFrame(rows, columns=None if rows else [*_COLUMNS, *contexts])
    return frame.set_index("id")


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


def learning_curves(study: Study) -> list[dict[str, Any]]:
    """Return a row for each evaluation during training, policy by policy, once trained.

    Returns:
        Rows with the id of the policy, its steps so far, its mean return on its training contexts,
        the source in words, the seed of its training run, and the number of the attempt.
    """
    return [
        {
            "policy": trial.id,
            "steps": steps,
            "mean_return": mean_return,
            "source": study.space.describe(trial.source.where),
            "seed": derived_seed(study.configuration.seed, "train", trial.id, trial.run.attempt),
            "attempt": trial.run.attempt,
        }
        for trial in study.trials
        if trial.run is not None
        for steps, mean_return in trial.run.curve
    ]


def curves_as_csv(study: Study) -> str:
    """Return the learning curves as CSV, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CURVE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(learning_curves(study))
    return text.getvalue()
