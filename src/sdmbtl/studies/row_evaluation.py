"""Evaluation of policies: which episodes to play next, and the rows they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, TargetSample
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.transfer import mean_of, worth_playing

#: Targets that every policy is played on first, and the fewest if episodes are long; the same for
#: all policies, so that they compare.
FIRST, FEWEST = 16, 4
#: Targets that one policy is played on in a comparison, and targets to choose them from.
COMPARED, CANDIDATES = 8, 64
#: Most steps of evaluations, as a share of those of training.
COMPARED_SHARE = 0.3


class Batch(NamedTuple):
    """Episodes that are played together.

    Attributes:
        numbers: Numbers of contexts.
        episodes: Episodes on each.
        seed: Seed of the episodes; the same for all policies, so that they meet the same starts.
    """

    numbers: list[int]
    episodes: int
    seed: int


@dataclass(eq=False)
class RowEvaluation:
    """Episodes of one policy that are to be played, and the returns that are known then.

    Attributes:
        trial: The trial.
        space: The context space.
        known: (N, E) returns on the targets so far, NaN where there are none.
        seed: Root of the episodes' seeds.
        targets: Targets to play one more episode on; None for all episodes wherever none was
            played, and on a source that is a point and not a target.
        own: The mean return on such a source, if it is known.
        errors: Errors by target, those of earlier evaluations first.
        steps: Environment steps that were played.
    """

    trial: Trial
    space: ContextSpace
    known: NDArray[np.float64]
    seed: int
    targets: NDArray[np.intp] | None = None
    errors: dict[int, str] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        self.known, self.errors = self.known.copy(), dict(self.errors)
        self._off_target = self.trial.source.is_point and self.trial.index is None
        self.own = self.trial.source_return if self._off_target else None
        #: (n, D) the targets, then the source if it is a point that is not a target.
        self.contexts = self.space.targets
        if self._off_target:
            self.contexts = np.vstack([self.contexts, self.trial.source.vector])

    def batches(self) -> list[Batch]:
        """Return what to play."""
        counts = played(self.known)
        if self.targets is None:
            numbers = np.flatnonzero(counts == 0).tolist()
            if self._off_target and self.own is None:
                numbers.append(len(self.space))
            return [Batch(numbers, self.known.shape[1], self.seed)] if numbers else []
        chosen = np.sort(self.targets)
        return [
            Batch(
                chosen[counts[chosen] == count].tolist(),
                1,
                derived_seed(self.seed, "episode", int(count)),
            )
            for count in np.unique(counts[chosen])
        ]

    def take(self, batch: Batch, returns: NDArray[np.float64], errors: Mapping[int, str]) -> None:
        """Record (len(batch.numbers), episodes) returns, NaN where the evaluation failed."""
        for number, values in zip(batch.numbers, returns, strict=True):
            if number == len(self.space):
                self.own = self.own if number in errors else mean_of(values)
            elif number in errors:
                self.errors[number] = errors[number]
            else:
                self.errors.pop(number, None)
                first = int(np.isnan(self.known[number]).argmax())
                self.known[number, first : first + len(values)] = values


class Spent(NamedTuple):
    """Steps of training and of evaluations so far, and the episodes of these."""

    training: int
    evaluation: int
    episodes: int

    def for_episodes(self, steps: int) -> int:
        """Return the number of episodes that steps are expected to last for."""
        return steps * self.episodes // max(self.evaluation, 1)

    @property
    def allows_comparison(self) -> bool:
        """True if one more comparison is affordable."""
        left = COMPARED_SHARE * self.training - self.evaluation
        return left > 0 and self.for_episodes(int(left)) >= COMPARED


def first_targets(
    space: ContextSpace, known: NDArray[np.float64], seed: int, affordable: int | None = None
) -> NDArray[np.intp]:
    """Return the targets that a policy is played on first, less those in its (N, E) returns.

    With fewer `affordable` episodes than targets some are left out, the same ones for all policies.
    """
    spread = TargetSample(space, min(FIRST, len(space)), seed).indices
    if affordable is not None:
        order = np.random.default_rng(seed_sequence(seed, "first targets")).permutation(spread)
        spread = order[: max(affordable, FEWEST)]
    return np.asarray(spread[played(known[spread]) == 0])


def next_comparison(
    history: History, open_targets: Mapping[int, NDArray[np.bool_]], seed: int
) -> tuple[int, NDArray[np.intp]] | None:
    """Choose the policy and the targets where one more episode is worth most.

    Args:
        history: All policies.
        open_targets: For each trial that can be played the (N,) targets where it may be.
        seed: Seed of the draw of targets to choose from, which all policies share.

    Returns:
        The id of the trial and its targets; None if there is nothing to play.
    """
    finished = history.finished
    rng, size = np.random.default_rng(seed), min(CANDIDATES, len(history.space))
    drawn = np.sort(rng.choice(len(history.space), size, replace=False))
    best, highest = None, -np.inf
    for number, trial in enumerate(finished):
        if trial.id not in open_targets:
            continue
        targets = drawn[open_targets[trial.id][drawn]]
        if not len(targets):
            continue
        chosen, worth = worth_playing(history.return_model, number, targets, COMPARED)
        if worth.mean() > highest:
            best, highest = (trial.id, chosen), float(worth.mean())
    return best


def played(returns: NDArray[np.float64]) -> NDArray[np.intp]:
    """(...,) numbers of episodes in (..., E) returns."""
    return np.asarray((~np.isnan(returns)).sum(axis=-1), dtype=np.intp)


def episodes_behind(returns: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Return (N,) numbers of episodes in (N, E) returns; None if all E were played everywhere."""
    return None if not np.isnan(returns).any() else played(returns)
