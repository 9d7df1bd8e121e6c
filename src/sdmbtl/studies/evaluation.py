"""New episodes of a study's policies, each context with the one that is chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextLike
from sdmbtl.contexts.constraint import Constraint
from sdmbtl.errors import ContextError, StudyError
from sdmbtl.foreign import MAX_BYTES, check_size
from sdmbtl.seeds import derived_seed
from sdmbtl.wording import shown_context

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Evaluation
    from sdmbtl.training.evaluation import EvaluationHelpers
    from sdmbtl.training.progress import EvaluationProgress


def evaluate_chosen(
    study: Study,
    contexts: Iterable[ContextLike] | None,
    episodes: int | None,
    seed: int,
    helpers: EvaluationHelpers | None,
    progress: EvaluationProgress | None = None,
) -> Evaluation:
    """Play each context with the policy that the portfolio chooses for it; see `Study.evaluate`."""
    from sdmbtl.training import Evaluation, evaluate

    vectors = study.space.targets
    if contexts is not None:
        if isinstance(contexts, str | bytes | Mapping) or not isinstance(contexts, Iterable):
            raise ContextError(
                f"The 'contexts' must be a list of them. Got {contexts!r} instead; one alone is "
                "[it]."
            )
        vectors = np.array([study.space.vector(context) for context in contexts])
        if not len(vectors):
            raise StudyError("There is nothing to evaluate: the list of contexts is empty.")
        rule = study.space.valid
        if isinstance(rule, Constraint) and not (valid := rule.holds(vectors)).all():
            context = shown_context(study.space.context(vectors[np.argmin(valid)]))
            raise ContextError(f"The context {context} is not valid: {rule.text}. Drop it.")
    seed = check_int("seed", seed, low=0, error=StudyError)
    if episodes is None:
        episodes = study.configuration.episodes
    episodes = check_int("episodes", episodes, low=1, error=StudyError)
    what = f"The table of {episodes} 'episodes' on each of {len(vectors)} contexts"
    check_size(what, 8 * episodes * len(vectors), MAX_BYTES)
    training, portfolio = study.training, study.portfolio()
    chosen = np.array([portfolio.choose(vector).policy for vector in vectors])
    returns, errors = np.empty((len(vectors), episodes)), dict[int, str]()
    before = steps = 0

    def report(done: int, _: int) -> None:
        if progress is not None:
            progress(before + done, len(vectors))

    for number in np.unique(chosen).tolist():
        places = np.flatnonzero(chosen == number)
        played = evaluate(
            training,
            portfolio.policy(number),
            vectors[places],
            episodes=episodes,
            seed=derived_seed(study.configuration.seed, "fresh", seed, number),
            progress=report,
            helpers=helpers,
        )
        returns[places] = played.returns
        errors.update({int(places[i]): e for i, e in played.errors.items()})
        before, steps = before + len(places), steps + played.steps
    whole = Evaluation(returns, errors, steps)
    if len(errors) == len(vectors):
        whole.complete()
    return whole


def count_missing(study: Study) -> int:
    """Number of returns that recorded policies lack, each of one policy on one target."""
    known = [t for t in study.trained if t.status in ("finished", "failed")]
    return sum(len(study.space) if t.row is None else int(np.isnan(t.row).sum()) for t in known)


def best_policies(study: Study) -> list[dict[str, Any]]:
    """Return an entry for each target, as JSON data, in the order of a row.

    Each has the `policy` with the highest `expected_return`, and `episodes`: how many of that
    policy were played there; 0 if the return is predicted from other targets. The policy is None
    if there is none. `failed_evaluations` counts evaluations that failed there.
    """
    errors: dict[int, list[str]] = {}
    for by_target in study.store.errors().values():
        for target, error in by_target.items():
            errors.setdefault(target, []).append(error)
    policies = study.selector.best_trials
    expected, played = study.selector.expected_best, study.episodes()
    return [
        {
            "target": number,
            "context": context,
            "policy": None if policy < 0 else int(policy),
            "expected_return": float(expected[number]),
            "episodes": 0 if policy < 0 else int(np.isfinite(played[policy][number]).sum()),
            "failed_evaluations": len(errors.get(number, [])),
            "first_error": next(iter(errors.get(number, [])), None),
        }
        for number, (context, policy) in enumerate(zip(study.space, policies, strict=True))
    ]
