"""Returns of random actions in a study's environments, and the policies that do no better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import error_text
from sdmbtl.seeds import derived_seed
from sdmbtl.transfer import mean_of, mean_over_episodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdmbtl.contexts import ContextSpace
    from sdmbtl.execution import Executor
    from sdmbtl.selectors import Trial
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Evaluation

#: Most targets to play on, episodes on each, and most steps in all.
MOST_TARGETS, EPISODES, MOST_STEPS = 16, 2, 4_000

#: A policy is better if its mean return is higher by this many standard errors of the difference.
STANDARD_ERRORS = 2.0

RANDOM_ACTIONS = "random_actions"


@dataclass(frozen=True, eq=False)
class RandomActions:
    """(n, E) returns of uniformly random actions on (n,) targets; NaN where none were played."""

    targets: NDArray[np.intp]
    returns: NDArray[np.float64]
    steps: int

    def mean(self, space: ContextSpace) -> float:
        """Mean over the targets, by their weights."""
        weights = None if space.weights is None else space.weights[self.targets]
        return mean_of(mean_over_episodes(self.returns), weights)

    def own_returns(self, trial: Trial, space: ContextSpace) -> NDArray[np.float64]:
        """Returns where a policy was trained: on the targets there, or on the nearest one."""
        chosen = space.targets_in(trial.source)[self.targets]
        if not chosen.any():
            units = space.unit_targets[self.targets] - space.to_unit(trial.source.vector)
            chosen[np.argmin(np.sum(units**2, axis=1))] = True
        own = self.returns[chosen]
        return own[np.isfinite(own)]

    def are_no_worse_than(self, trial: Trial, space: ContextSpace, episodes: int) -> bool:
        """Tell whether a policy does no better, up to noise: where it was trained, and elsewhere.

        If a policy were no better, its returns would vary as those of random actions do. One that
        is better on average over all targets has learned, although not where it was trained.
        """
        own = trial.source_return
        if own is None and trial.row is not None and trial.index is not None:
            own = float(trial.row[trial.index])
        if own is None or np.isnan(own):
            return False  # it was not evaluated where it was trained
        centered = self.returns - np.nanmean(self.returns, axis=1, keepdims=True)
        # Standard deviation of the episodes on a target; 0 if none was played twice.
        freedom = int((np.isfinite(self.returns).sum(axis=1) - 1).sum())
        deviation = np.sqrt(np.nansum(centered**2) / freedom) if freedom else 0.0

        played = np.full(len(space), episodes) if trial.episodes is None else trial.episodes
        own_random = self.own_returns(trial, space)
        everywhere = own if trial.row is None else mean_of(trial.row, space.weights)
        for mean, random, ours, theirs in (
            (own, mean_of(own_random), played[space.targets_in(trial.source)].sum(), own_random),
            (everywhere, self.mean(space), played.sum(), self.returns),
        ):
            noise = deviation * np.sqrt(1 / max(ours, 1) + 1 / theirs.size)
            if mean > random + STANDARD_ERRORS * noise:
                return False
        return True


def measure_random_actions(study: Study, executor: Executor) -> None:
    """Play random actions on some of the targets, once in the life of a study, and record it.

    It decides nothing: if an environment fails here, that is recorded, and the study continues.
    """
    from sdmbtl.training.tasks import random_actions_task

    store, space = study.store, study.space
    if RANDOM_ACTIONS in store.facts():
        return
    seed = derived_seed(study.configuration.seed, "random actions")
    targets = np.arange(len(space))
    if len(targets) > MOST_TARGETS:
        rng = np.random.default_rng(seed)
        targets = np.sort(rng.choice(targets, MOST_TARGETS, replace=False))
    how = study.training, space.targets[targets], EPISODES, MOST_STEPS, seed
    try:
        played: Evaluation = executor.submit(random_actions_task, *how).result()
    except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
        measured: dict[str, Any] = {"error": error_text(error)}
    else:
        reached = np.isfinite(played.returns).any(axis=1)
        record = [
            [float(x) if np.isfinite(x) else None for x in row] for row in played.returns[reached]
        ]
        measured = {"targets": targets[reached].tolist(), "returns": record, "steps": played.steps}
    with store.transaction():
        store.set_fact(RANDOM_ACTIONS, measured)


def recorded_random_actions(facts: Mapping[str, Any]) -> RandomActions | None:
    """Read what was measured from the facts of a study; None if nothing was."""
    record = facts.get(RANDOM_ACTIONS, {})
    if not record.get("targets"):
        return None
    returns = np.array(record["returns"], dtype=np.float64)  # None becomes NaN
    targets = np.array(record["targets"], dtype=np.intp)
    return RandomActions(targets, returns, record["steps"])


def no_better_warning(
    trial: Trial, space: ContextSpace, episodes: int, random: RandomActions | None
) -> str | None:
    """Return a warning of a policy that does no better than random actions; None of any other."""
    if random is None or not random.are_no_worse_than(trial, space, episodes):
        return None
    there = "context" if trial.source.is_point else "region"
    usual = mean_of(random.own_returns(trial, space))
    return (
        f"policy {trial.id} does no better in its own {there} than random actions do (mean return "
        f"{usual:.4g}): give more steps (--steps) or other settings (--set; see sdmbtl trainers)"
    )
