"""The evaluation of one policy: which episodes to play next, and the row they add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, TargetSample
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.transfer import mean_of, mean_over_episodes, worth_playing

#: Targets that are chosen together, and most targets to choose from.
WAVE, CANDIDATES = 16, 128
#: Steps of the evaluation of a policy, as a share of those of its training run: of a specialist,
#: and of a policy for the whole space, which more often is only a step on the way.
LARGEST_SHARE, LARGEST_SHARE_WHOLE = 0.5, 0.25


@dataclass(eq=False)
class RowEvaluation:
    """The evaluation of one policy, wave by wave.

    Without a `history` every missing return is played, all in one wave. With one, episodes are
    played where they may change which policy is chosen for a target (`worth_playing`), until one
    more adds less per step than training is expected to, or a share of training's steps is used.

    Attributes:
        trial: The trial.
        space: The context space.
        known: (N, E) returns on the targets so far, NaN where there are none.
        seed: Root of the episodes' seeds.
        history: All other policies, to play only where it matters.
        own: The mean return on a source that is a point and not a target, if it is known.
        errors: Errors by target.
        steps: Environment steps that were played.
    """

    trial: Trial
    space: ContextSpace
    known: NDArray[np.float64]
    seed: int
    history: History | None = None
    own: float | None = None
    errors: dict[int, str] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        self.known = self.known.copy()
        self.own = self.trial.source_return
        self._begun = False
        #: Returns that were known before: they stay, and their steps are not counted here.
        self._settled = ~np.isnan(self.known).all(axis=1)
        source = self.trial.source
        self._off_target = source.is_point and self.trial.index is None
        #: (n, D) the targets, then the source if it is a point that is not a target.
        self.contexts = self.space.targets
        if self._off_target:
            self.contexts = np.vstack([self.contexts, source.vector])

    def next_wave(self) -> list[tuple[list[int], int, int]]:
        """Choose the episodes to play next; none if the evaluation is complete.

        Returns:
            Batches that are played together: numbers of contexts, episodes on each, and the seed,
            which is the same for all policies of a study, so that they meet the same starts.
        """
        begun, self._begun = self._begun, True
        counts = (~np.isnan(self.known)).sum(axis=1)
        if self.history is None:
            numbers = np.flatnonzero(counts == 0).tolist()
            if self._off_target and self.own is None:
                numbers.append(len(self.space))
            return [] if begun or not numbers else [(numbers, self.known.shape[1], self.seed)]
        free = counts < self.known.shape[1]
        free[list(self.errors)] = False
        free[self._settled] = False
        training = self.trial.run.steps or 0 if self.trial.run is not None else 0
        played = int(counts[~self._settled].sum())
        after = self.steps * (1 + WAVE / played) if played else 0  # of one more wave
        whole = self.space.is_whole(self.trial.source)
        most = (LARGEST_SHARE_WHOLE if whole else LARGEST_SHARE) * training
        if not free.any() or (begun and after > most):
            return []
        earlier = any(t.row is not None for t in self.history.trials[: self.trial.id])
        if not counts.any() and not earlier:
            size = min(WAVE + len(self.errors), len(self.space))
            spread = TargetSample(self.space, size, self.seed).indices
            chosen = spread[free[spread]]
        else:
            targets = np.flatnonzero(free)
            if len(targets) > CANDIDATES:
                key = seed_sequence(self.seed, "candidates", self.trial.id, played)
                rng = np.random.default_rng(key)
                targets = np.sort(rng.choice(targets, CANDIDATES, replace=False))
            row = mean_over_episodes(self.known)
            model, number = self.history.model_with(self.trial, row, counts)
            chosen, worth = worth_playing(model, number, targets, WAVE)
            gain = self.trial.expected_gain
            if gain is not None and played and training:
                of_evaluating = float(worth.mean()) * played / max(self.steps, 1)
                if of_evaluating < gain / training:
                    return []
        chosen = np.sort(chosen)
        return [  # the next episode on each target; those with the same number together
            (
                chosen[counts[chosen] == episode].tolist(),
                1,
                derived_seed(self.seed, "episode", int(episode)),
            )
            for episode in np.unique(counts[chosen])
        ]

    def take(
        self,
        numbers: Sequence[int],
        returns: NDArray[np.float64],
        errors: Mapping[int, str],
        steps: int,
    ) -> None:
        """Record (len(numbers), episodes) returns, NaN where the evaluation of a context failed."""
        self.steps += steps
        for number, played in zip(numbers, returns, strict=True):
            if number == len(self.space):
                self.own = self.own if number in errors else mean_of(played)
            elif number in errors:
                self.errors[number] = errors[number]
            else:
                first = int((~np.isnan(self.known[number])).sum())
                self.known[number, first : first + len(played)] = played


def episodes_behind(returns: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Return (N,) numbers of episodes in (N, E) returns; None if all E were played everywhere."""
    played = ~np.isnan(returns)
    return None if played.all() else played.sum(axis=1)
