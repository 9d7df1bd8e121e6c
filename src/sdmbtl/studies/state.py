"""What is known of a study: its trials, their returns and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import share_of_range
from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors import Selector, Trial
from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.database import StudyDatabase
from sdmbtl.studies.directory import FileState, file_state
from sdmbtl.studies.random_actions import RandomActions, recorded_random_actions
from sdmbtl.studies.stopping import recorded_rules
from sdmbtl.studies.views import StudyViews
from sdmbtl.transfer import bounded


class StudyState(StudyViews):
    """The part of a study that is for reading; what is recorded changes nowhere in it."""

    path: Path
    space: ContextSpace
    selector: Selector
    database: StudyDatabase
    configuration: Configuration

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order."""
        return self.selector.trials

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked and not reported yet."""
        return self.selector.pending

    @property
    def n_finished(self) -> int:
        """Number of finished policies."""
        return sum(t.status == "finished" for t in self.trials)

    @property
    def steps(self) -> int:
        """Environment steps that the finished policies took in training."""
        runs = [t.run for t in self.trials if t.status == "finished" and t.run is not None]
        return sum(run.steps or 0 for run in runs)

    def refresh(self) -> None:
        """Take over what was recorded since, by another process."""
        recorded, known = self.database.trials(self.space), self.trials
        if len(recorded) < len(known):  # an older copy was put in its place
            self.selector.load_trials(recorded)
        else:
            new = [t for t in recorded if t.id >= len(known) or t is not known[t.id]]
            self.selector.record(*new)

    @property
    def trained(self) -> list[Trial]:
        """The trials that have a policy file on record, without those that were forgotten."""
        return [t for t in self.trials if t.has_policy and t.status != "forgotten"]

    @property
    def performance(self) -> float:
        """Mean over the targets of the best return so far; NaN before the first policy."""
        return self.selector.performance

    @property
    def returns(self) -> NDArray[np.float64]:
        """(k, N, E) returns of the finished policies on every target in every episode.

        NaN where a policy was reported with fewer episodes, or not evaluated.
        """
        finished = list(self.episodes().values())
        episodes = max((r.shape[1] for r in finished), default=self.configuration.episodes)
        returns = np.full((len(finished), len(self.space), episodes), np.nan)
        for each, played in zip(returns, finished, strict=True):
            each[:, : played.shape[1]] = played
        return returns

    def episodes(self) -> dict[int, NDArray[np.float64]]:
        """(N, E) returns of each finished trial, by id; of a reported row, E = 1."""
        stored = self.database.episodes()
        rows = {t.id: t.row for t in self.trials if t.row is not None}
        return {number: stored.get(number, row[:, None]) for number, row in rows.items()}

    @property
    def return_range(self) -> tuple[float, float] | None:
        """Lowest and highest return of an episode, if known."""
        known = self.configuration.return_range
        return None if known is None else (known[0], known[1])

    @property
    def return_span(self) -> float:
        """Width of the range of returns: the known one, otherwise of those seen; 0 if none is."""
        if self.return_range is not None:
            return self.return_range[1] - self.return_range[0]
        returns = self.selector.rows.returns
        seen = returns[np.isfinite(returns)]
        with np.errstate(over="ignore"):
            return bounded(float(np.ptp(seen))) if len(seen) else 0.0

    def share(self, value: float) -> float | None:
        """A return as a share of the range of returns; None if either is not known."""
        return share_of_range(value, self.return_range)

    def remaining_gain(self, policies: int = 3) -> float | None:
        """How much the mean best return is expected to rise by some more policies.

        It is what the selector expects, but no more than the known range of returns leaves.

        Args:
            policies: Number of further policies, pending ones not counted.

        Returns:
            The rise; None if the selector does not estimate it, or knows too little yet.
        """
        gain = self.selector.remaining_gain(policies)
        if gain is None or self.return_range is None:
            return gain
        return min(gain, max(self.return_range[1] - self.performance, 0.0))

    @property
    def random_actions(self) -> RandomActions | None:
        """What random actions do, as measured before the first policy; None if they were not."""
        return recorded_random_actions(self.database.facts())

    def seconds(self) -> dict[int, dict[str, float]]:
        """For each trial by id the seconds of its stages: choosing, training, evaluation."""
        return self.database.seconds()

    @property
    def stop_rules(self) -> dict[str, Any]:
        """What the last run was asked to stop at, as keywords of `run`; its time left out.

        The `budget` is the largest number of policies that was asked for so far.
        """
        return recorded_rules(self.database.facts())

    def policy_path(self, number: int) -> Path:
        """File of the policy with this id."""
        return self.path / "policies" / f"{number:04d}.safetensors"

    def policy_state(self, trial: Trial) -> FileState:
        """What became of a policy's file; nothing but a file of the study is opened."""
        expected = None if trial.run is None else trial.run.policy_sha256
        return file_state(self.policy_path(trial.id), self.path, expected)
