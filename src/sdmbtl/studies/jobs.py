"""Training jobs of trials: the seed, the contexts and the parent all follow from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.policy_files import PolicyFiles
from sdmbtl.studies.trial_log import TrialLog

if TYPE_CHECKING:
    from sdmbtl.training import TrainingJob

#: The whole space is trained on this many times as many contexts as another region.
WHOLE_SPACE = 4


class JobMaker:
    """Turns the trials of a study into training jobs.

    Args:
        log: The trials.
        configuration: The configuration of the study.
        files: Its policies, to start from.
    """

    def __init__(self, log: TrialLog, configuration: Configuration, files: PolicyFiles) -> None:
        self.log, self.configuration, self.files = log, configuration, files

    def job(self, trial: Trial) -> TrainingJob:
        """Make the job of a trial's present attempt."""
        from sdmbtl.training import TrainingJob

        attempt = training_run(trial).attempt
        return TrainingJob(
            self.contexts(trial),
            derived_seed(self.configuration.seed, "train", trial.id, attempt),
            attempt,
            None if trial.parent is None else self.files.load(trial.parent),
            trial.steps,
        )

    def contexts(self, trial: Trial) -> NDArray[np.float64]:
        """Draw the (m, D) contexts that a trial is trained on."""
        space, number = self.log.space, self.configuration.region_contexts
        rng = np.random.default_rng(seed_sequence(self.configuration.seed, "region", trial.id))
        if not space.is_whole(trial.source):
            return space.draw(trial.source, number, rng)
        # A policy that continues practises where its parent falls short. That row was there when
        # the trial was asked for, so a run that is begun again gets the same contexts.
        row = None if trial.parent is None else self.log.trials[trial.parent].row
        return space.draw(trial.source, WHOLE_SPACE * number, rng, row)

    def evaluation_seed(self, trial: Trial) -> int:
        """Return the seed of the episodes that a trial's policy is evaluated in."""
        return derived_seed(self.configuration.seed, "evaluate", trial.id)

    def known_returns(self, trial: Trial) -> NDArray[np.float64]:
        """Return (N, E) returns of a trial's policy so far, NaN where it was not evaluated."""
        if trial.row is None:
            return np.full((len(self.log.space), self.configuration.episodes), np.nan)
        return self.log.store.episodes().get(trial.id, trial.row[:, None])


def training_run(trial: Trial) -> TrainingRun:
    """Return how a trial's policy came about so far."""
    return trial.run or TrainingRun()
