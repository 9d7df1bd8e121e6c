"""Selector of single contexts: two models predict the next row, expected improvement decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int, short_text
from sdmbtl.contexts import ContextLike, ContextSpace, TargetSample
from sdmbtl.errors import ExhaustedError, ModelError, SelectorError
from sdmbtl.selectors.acquisition import best_source, best_target, where_gained
from sdmbtl.selectors.base import SAMPLE_SIZE, Selector
from sdmbtl.selectors.history import History
from sdmbtl.selectors.models.mixture import MODELS, ModelMixture
from sdmbtl.selectors.models.model import KnownRows, RowModel
from sdmbtl.selectors.mountain_selector import MountainSelector
from sdmbtl.selectors.trial import Proposal, Trial
from sdmbtl.wording import rise_in_words, whole_percent

#: With more targets than this, sources are first compared on this many of them.
SOME_TARGETS = 192
#: This many of the sources are then compared on all targets.
FINALISTS = 64


class PredictiveSelector(Selector):
    """Trains where the mean of the best returns is expected to rise most.

    Models predict the row of a policy that does not exist yet, each weighted by the likelihood of
    the rows so far under its predictions of them.

    Args:
        space: The context space.
        seed: Seed of the random choices.
        models: The models, or their names; plateau and linear gap if left out.
    """

    name: ClassVar[str] = "predictive"
    sample_size = SAMPLE_SIZE

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        models: Sequence[RowModel | str] = tuple(MODELS),
    ) -> None:
        super().__init__(space, seed=seed)
        if not isinstance(models, list | tuple):
            raise ModelError(f"'models' must be a list of models. Got {short_text(models)}.")
        self.mixture = ModelMixture(models)
        self._first_choice = MountainSelector(space, seed=seed)

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {"models": [model.describe() for model in self.mixture.models]}

    # -- choosing ------------------------------------------------------------------------------

    def propose(self, history: History) -> Proposal:
        """Choose the source with the largest expected gain; the first one is the most central."""
        free = history.free_targets()
        if not self._watch(history):
            return self._first_choice.propose(history)
        best = self._expected_best(history)
        gains, candidates = self._compare_sources(history, best, free)
        source, unit, _ = best_source(
            history, gains, lambda units: self.mixture.gains(units, best), candidates
        )
        improvement = self.mixture.improvement(unit, best)
        expected = self._forecast(float(history.space.mean(improvement)), best, history)
        where = where_gained(improvement, history.space.unit_targets, self.space.unit_names)
        leading, weights = self.mixture.leading, self.mixture.weights
        name = self.mixture.models[leading].name
        reason = (
            f"Training here should raise {rise_in_words(expected, history.return_range)}"
            f"{f', mostly for {where}' if where else ''}: {self.mixture.explain()} "
            f"({name} model, {whole_percent(float(weights[leading]))} likely)."
        )
        numbers = {"expected_gain": expected}
        return Proposal(source, "improvement", reason, model=name, numbers=numbers)

    def _watch(self, history: History) -> bool:
        """Show all rows to the models; False if there is none."""
        rows, returns = history.rows, history.expected_returns
        if not len(rows):
            return False
        nearest = returns[np.arange(len(rows)), rows.source_positions]
        own = np.where(np.isnan(rows.source_returns), nearest, rows.source_returns)
        self.mixture.watch(KnownRows(history.space, rows.unit_sources, returns, own))
        return True

    def _expected_best(self, history: History) -> NDArray[np.float64]:
        """(N,) best returns once the pending policies are there, as predicted."""
        best = np.asarray(history.expected_returns.max(axis=0))
        for source in history.pending:
            best = best + self.mixture.improvement(source, best)
        return best

    def _compare_sources(
        self, history: History, best: NDArray[np.float64], free: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(n,) gains, and which free targets were compared on all targets: others have no gain."""
        units = history.space.unit_targets
        candidates = np.flatnonzero(free)
        if len(units) > SOME_TARGETS:
            some = np.sort(history.rng("targets").permutation(len(units))[:SOME_TARGETS])
            rough = self.mixture.gains(units[candidates], best, some)
            candidates = candidates[np.argsort(-rough, kind="stable")[:FINALISTS]]
        gains = np.zeros(len(units))
        gains[candidates] = self.mixture.gains(units[candidates], best)
        return gains, np.isin(np.arange(len(units)), candidates)

    def _forecast(self, gain: float, best: NDArray[np.float64], history: History) -> float:
        """The forecast of a rise of the mean best return.

        Expectations are multiplied by the share of them that was realised so far, but raised to no
        more than what brings every target to the largest return seen.
        """
        before, returns = float(history.space.mean(best)), history.expected_returns
        room = float(returns.max()) - before
        corrected = min(gain * self.mixture.realised_share, max(gain, room))
        return history.bound_gain(min(corrected, float(np.ptp(returns))), before)

    # -- what is known -------------------------------------------------------------------------

    def evidence(self) -> list[dict[str, Any]]:
        """List the outcome of every prediction: an entry for each row and model.

        Next to what `Selector.evidence` names, each has the root mean square `error` of the
        returns; `expected` and `gain` are the mean improvements on the best so far that all models
        together expected, and the realised one. Runs that have probably failed are left out.
        """
        if not self._watch(self._seen()):
            return []
        sound = np.flatnonzero(~self.mixture.failed)
        return [
            {
                "model": model.name,
                "rows": int(sound[number + 1]),
                "weight": float(self.mixture.weights_after(number + 1)[place]),
                "error": float(outcome.errors[place] + outcome.shifts[place] ** 2) ** 0.5,
                "expected": outcome.expected,
                "gain": outcome.gain,
            }
            for number, outcome in enumerate(self.mixture.outcomes)
            for place, model in enumerate(self.mixture.models)
        ]

    def failed_runs(self) -> list[int]:
        """Ids of the trials whose policies are far below all others on every target.

        No model learns from them; their returns count where they are the best.
        """
        if not self._watch(self._seen()):
            return []
        finished = self.history.finished
        return [t.id for t, failed in zip(finished, self.mixture.failed, strict=True) if failed]

    def remaining_gain(self, policies: int = 3) -> float | None:
        """Forecast the rise of the mean best return by more policies; None before the third row."""
        policies = check_int("policies", policies, low=1, error=SelectorError)
        seen = self._seen()
        if not self._watch(seen) or len(seen.rows) < 3:
            return None
        start = best = self._expected_best(seen)
        try:
            free = seen.free_targets()
        except ExhaustedError:
            return 0.0
        for _ in range(min(policies, int(free.sum()))):
            index = best_target(*self._compare_sources(seen, best, free), seen.space.tie_rank)
            best = best + self.mixture.improvement(seen.space.unit_targets[index], best)
            free[index] = False
        return self._forecast(float(seen.space.mean(best - start)), start, seen)

    # -- rows in part --------------------------------------------------------------------------

    def targets_to_evaluate(self, trial: Trial | ContextLike, n: int) -> NDArray[np.intp]:
        """Choose (n,) targets to evaluate a new policy on, if all of them would cost too much.

        Half of them are spread over the space, the other half are those on which the policy is
        expected to improve most. The policy's own context is among them.
        """
        n = min(check_int("n", n, low=1, error=SelectorError), len(self.space))
        vector = trial.source.vector if isinstance(trial, Trial) else self.space.vector(trial)
        source, seen = self.space.to_unit(vector), self._seen()
        promising = -np.abs(seen.space.unit_targets - source).sum(axis=1)
        if self._watch(seen):
            promising = self.mixture.improvement(source, seen.expected_returns.max(axis=0))
        order = np.argsort(-promising, kind="stable")
        if seen.sample is not None:
            order = seen.sample.indices[order]
        own = [self.space.nearest_to_unit(source)]
        spread = TargetSample(self.space, (n + 1) // 2, self.seed).indices
        rest = np.arange(len(self.space))
        chosen = dict.fromkeys(np.concatenate([own, spread, order, rest]).tolist())
        return np.sort(np.array(list(chosen)[:n], dtype=np.intp))
