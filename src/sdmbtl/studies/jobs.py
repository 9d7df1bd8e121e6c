"""Training jobs of trials: the seed, the contexts and the parent all follow from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.policy_files import PolicyFiles
from sdmbtl.studies.row_evaluation import RowEvaluation
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
            trial.source.sees_context,
        )

    def contexts(self, trial: Trial) -> NDArray[np.float64]:
        """Draw the (m, D) contexts that a trial is trained on."""
        space, number = self.log.space, self.configuration.region_contexts
        rng = np.random.default_rng(seed_sequence(self.configuration.seed, "region", trial.id))
        if not space.is_whole(trial.source):
            return space.draw(trial.source, number, rng)
        # A policy that continues practises where its parent falls short. The rows up to its
        # parent's were there when the trial was asked for, so a run that is begun again gets the
        # same contexts.
        row = None
        if trial.parent is not None:
            known = History(space, 0, self.log.trials[: trial.parent + 1])
            row = known.expected_returns[known.row_of(trial.parent)]
        return space.draw(trial.source, WHOLE_SPACE * number, rng, row)

    def evaluation(self, trial: Trial, *, everywhere: bool = False) -> RowEvaluation:
        """Begin the evaluation of a trial's policy, as the study is set to.

        Args:
            trial: The trial.
            everywhere: Whether to evaluate it on every target whatever the study is set to.
        """
        known = np.full((len(self.log.space), self.configuration.episodes), np.nan)
        if trial.row is not None:
            played = self.log.store.episodes().get(trial.id, trial.row[:, None])
            known[:, : played.shape[1]] = played[:, : known.shape[1]]
        everywhere = everywhere or self.configuration.evaluate == "all"
        return RowEvaluation(
            trial,
            self.log.space,
            known,
            derived_seed(self.configuration.seed, "evaluate"),
            None if everywhere else self.log.selector.history,
        )


def training_run(trial: Trial) -> TrainingRun:
    """Return how a trial's policy came about so far."""
    return trial.run or TrainingRun()
