"""Jobs of a trial: the seed, the contexts and the parent all follow from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import TrainingRun

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import TrainingJob

#: The whole space is trained on this many times as many contexts as another region.
WHOLE_SPACE = 4


def training_job(study: Study, trial: Trial) -> TrainingJob:
    """Make the training job of a trial's present attempt."""
    from sdmbtl.training import TrainingJob

    space, attempt = study.space, (trial.run or TrainingRun()).attempt
    seed, number = study.configuration.seed, study.configuration.region_contexts
    row, parent = None, None if trial.parent is None else study.files.load(trial.parent)
    if space.is_whole(trial.source):
        number *= WHOLE_SPACE
        if trial.parent is not None:
            # A policy that continues practises where its parent falls short. The rows up to its
            # parent's were there when the trial was asked for, so a run that is begun again gets
            # the same contexts.
            known = History(space, 0, study.trials[: trial.parent + 1])
            row = known.expected_returns[known.row_of(trial.parent)]
    rng = np.random.default_rng(seed_sequence(seed, "region", trial.id))
    return TrainingJob(
        space.draw(trial.source, number, rng, row),
        derived_seed(seed, "train", trial.id, attempt),
        attempt,
        parent,
        trial.steps,
        trial.source.sees_context,
    )
