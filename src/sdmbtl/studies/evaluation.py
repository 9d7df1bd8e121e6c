"""New episodes of a study's policies, each context with the one that is chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import ContextError, StudyError
from sdmbtl.parallel import Workers, available_cores
from sdmbtl.seeds import derived_seed

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.trainers import Evaluation


def evaluate_chosen(
    study: Study, contexts: NDArray[np.float64], episodes: int, seed: int
) -> Evaluation:
    """Play each context with the policy that the portfolio chooses for it.

    Args:
        study: The study.
        contexts: (n, D) contexts.
        episodes: Episodes on each.
        seed: Another seed gives other episodes.

    Raises:
        TrainingError: If the evaluation failed on all contexts.
    """
    from sdmbtl.trainers import Evaluation, evaluate

    training, portfolio = study.training, study.portfolio()
    chosen = np.array([portfolio.choose(vector).policy for vector in contexts])
    whole = Evaluation(np.empty((len(contexts), episodes)))
    with Workers(available_cores() - 1) as workers:
        for number in np.unique(chosen).tolist():
            places = np.flatnonzero(chosen == number)
            played = evaluate(
                training,
                portfolio.policy(number),
                contexts[places],
                episodes=episodes,
                seed=derived_seed(study.configuration.seed, "fresh", seed, number),
                workers=workers,
            )
            whole.returns[places] = played.returns
            whole.errors.update({int(places[i]): e for i, e in played.errors.items()})
    if len(whole.errors) == len(contexts):
        whole.complete()
    return whole


def as_vectors(contexts: Iterable[ContextLike] | None, space: ContextSpace) -> NDArray[np.float64]:
    """(n, D) contexts to evaluate on: all targets, if none are given.

    Raises:
        ContextError: If this is not a list of contexts.
        StudyError: If it is an empty one.
    """
    if contexts is None:
        return space.targets
    if isinstance(contexts, str | bytes | Mapping) or not isinstance(contexts, Iterable):
        raise ContextError(
            f"The 'contexts' must be a list of them. Got {contexts!r} instead; one alone is [it]."
        )
    vectors = [space.vector(context) for context in contexts]
    if not vectors:
        raise StudyError("There is nothing to evaluate: the list of contexts is empty.")
    return np.array(vectors)


def count_missing(study: Study) -> int:
    """Number of returns that recorded policies lack, each of one policy on one target."""
    known = [t for t in study.trained if t.status in ("finished", "failed")]
    return sum(len(study.space) if t.row is None else int(np.isnan(t.row).sum()) for t in known)


def errors_by_target(study: Study) -> dict[int, dict[int, str]]:
    """By target and policy: why the policy could not be evaluated on the target."""
    by_target: dict[int, dict[int, str]] = {}
    for policy, errors in study.database.errors().items():
        for target, error in errors.items():
            by_target.setdefault(target, {})[policy] = error
    return by_target
