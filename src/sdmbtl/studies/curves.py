"""Learning curves of a study, as one table."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from sdmbtl.seeds import derived_seed

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study

COLUMNS = ("policy", "steps", "mean_return", "source", "seed", "attempt")


def learning_curves(study: Study) -> list[dict[str, Any]]:
    """A row for each evaluation during training, policy by policy; those in training have none.

    Returns:
        Rows with the id of the policy, the steps it had taken, its mean return on its training
        contexts, what it is trained on in words, the seed of its training run, and how often it
        had been tried before.
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
    """The learning curves as CSV, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(learning_curves(study))
    return text.getvalue()
