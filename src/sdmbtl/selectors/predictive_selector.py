"""Selector of single contexts: models predict the next row, expected improvement decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import USUAL_SAMPLING, ContextLike, ContextSpace, Source
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.selectors.acquisition import (
    predicted_gains,
    predicted_gains_and_row,
    predicted_improvement,
)
from sdmbtl.selectors.base import SamplingLike, Selector
from sdmbtl.selectors.choice import best_target, refine_choice
from sdmbtl.selectors.gain_location import where_gained
from sdmbtl.selectors.history import History
from sdmbtl.selectors.models import (
    FirstRowModel,
    ModelChoice,
    ModelComparison,
    ModelLike,
    cell_centres,
    default_models,
    make_models,
    target_cells,
)
from sdmbtl.selectors.mountain_selector import MountainSelector
from sdmbtl.selectors.trial import Proposal, Trial
from sdmbtl.transfer.detection import NO_STRUCTURE
from sdmbtl.wording import rise_in_words, sentence

#: With more targets than these, sources are first compared on this many of them, and only a share
#: of the sources is kept, but never fewer than the finalists. Those are compared on all targets.
SOME_TARGETS = ((192, 1 / 8), (768, 0.0))
FINALISTS = 64
#: An expected gain below this share of the range of returns is none.
NO_GAIN = 1e-6


class PredictiveSelector(Selector):
    """Trains where the mean of the best returns is expected to rise most.

    Several models predict each new row before it comes; the one that predicted best where
    policies would improve on the best so far predicts the next one. If none of them does better
    than the model in which the source plays no role, the choice is random.

    Args:
        space: The context space.
        seed: Seed of the random choices.
        models: The models that predict, of equally good ones the first is used; also as their
            names, or names and settings: `["plateau", {"name": "additive", "ridge": 1e-4}]`. By
            default plateau, additive with free policy quality, additive, Mountain and none.
        sampling: From how many targets on choices are computed on a sample of them, and how
            large it is, also as its settings; None for all targets always.
    """

    name: ClassVar[str] = "predictive"

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        models: Sequence[ModelLike] | None = None,
        sampling: SamplingLike | None = USUAL_SAMPLING,
    ) -> None:
        super().__init__(space, seed=seed, sampling=sampling)
        chosen = default_models() if models is None else make_models(models)
        self.comparison = ModelComparison(chosen, predicted_improvement)
        self._first_row = ModelComparison([FirstRowModel()], predicted_improvement)
        self._first_choice = MountainSelector(space, seed=seed)

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {"models": [model.describe() for model in self.comparison.models]}

    # -- choosing ------------------------------------------------------------------------------

    def propose(self, history: History) -> Proposal:
        """Choose the source with the largest expected gain."""
        free = history.free_targets()
        choice = self._choose_model(history)
        if choice is None:
            return self._first_choice.propose(history)
        is_assumed = choice.name == FirstRowModel.name
        model = None if is_assumed else choice.name
        why = [] if is_assumed else [choice.explanation]
        found = sentence(choice.model.explain())
        if model == NO_STRUCTURE:
            free = history.whole.free_targets()  # a sample would offer fewer
            index = int(history.rng("no structure").choice(np.flatnonzero(free)))
            reason = " ".join([*why, found, "So any context is as good as another."])
            return Proposal(self.space.source(index), "random", reason, model=model)
        best = self._expected_best(history, choice)
        source, gain, improvements = self._best_source(history, choice, best, free)
        if gain <= NO_GAIN * _range_of_returns(history):
            proposal = self._first_choice.propose(history)
            reason = " ".join(["No further gain is predicted.", *why, found, proposal.reason])
            return Proposal(proposal.source, proposal.strategy, reason, model=model)
        before = float(best.mean())
        expected = history.bound_gain(_corrected_gain(gain, before, choice, history), before)
        forecast = self._describe_gain(expected, improvements, history)
        return Proposal(
            source,
            "improvement",
            " ".join([*why, forecast, found]),
            model=model,
            numbers={"expected_gain": expected},
        )

    def _describe_gain(
        self, gain: float, improvements: NDArray[np.floating], history: History
    ) -> str:
        """Describe the predicted gain, and the targets it is for, in a sentence."""
        where = where_gained(improvements, history.space.unit_targets, self.space.names)
        mostly = "" if where is None else f", mostly for {where}"
        raised = rise_in_words(gain, history.return_range)
        return f"Training here is predicted to raise {raised}{mostly}."

    def _choose_model(self, history: History) -> ModelChoice | None:
        """Choose the model that predicts the next policy; None before the first row."""
        rows = history.rows
        if not len(rows):
            return None
        self.comparison.watch(rows)
        if self.comparison.fits:
            return self.comparison.choose()
        self._first_row.watch(rows)  # every model needs more rows
        return self._first_row.choose()

    def _expected_best(self, history: History, choice: ModelChoice) -> NDArray[np.float64]:
        """(N,) best returns once the pending policies are there, as predicted."""
        best = choice.best
        for source in history.pending:
            best = best + _improvement(choice, source, best)
        return best

    def _best_source(
        self,
        history: History,
        choice: ModelChoice,
        best: NDArray[np.float64],
        free: NDArray[np.bool_],
    ) -> tuple[Source, float, NDArray[np.floating]]:
        """The source with the largest expected gain, the gain, and (n,) for each target."""
        gains, index, row = self._compare_sources(history, choice, best, free)
        finer = refine_choice(
            history, gains, lambda units: predicted_gains(choice.model, units, best)
        )
        if finer is None:
            return history.space.source(index), float(gains[index]), row
        return finer.source, finer.gain, _improvement(choice, finer.unit, best)

    def _compare_sources(
        self,
        history: History,
        choice: ModelChoice,
        best: NDArray[np.float64],
        free: NDArray[np.bool_],
    ) -> tuple[NDArray[np.float64], int, NDArray[np.floating]]:
        """(n,) gains, the free target with the largest one, and (n,) what it adds to each target.

        Sources that were found to be worse on some of the targets get no gain.
        """
        units = history.space.unit_targets
        candidates = np.flatnonzero(free)
        drawn = history.rng("targets").permutation(len(units))
        for targets, share in SOME_TARGETS:
            if targets < len(units):
                some = np.sort(drawn[:targets])
                rough = predicted_gains(choice.model, units[candidates], best, some)
                kept = max(FINALISTS, int(share * len(units)))
                candidates = candidates[np.argsort(-rough, kind="stable")[:kept]]
        # The lowest value sets the scale of ties: it must not depend on the unit of the returns.
        gains = np.full(len(units), -_range_of_returns(history))
        found, largest, row = predicted_gains_and_row(choice.model, units[candidates], best)
        gains[candidates] = found
        index = best_target(gains, free, history.space.tie_rank)
        if index != candidates[largest]:  # as good as the largest, but more central
            row = _improvement(choice, units[index], best)
        return gains, index, row

    # -- what is known -------------------------------------------------------------------------

    def evidence(self) -> list[dict[str, Any]]:
        """List the outcome of every prediction: an entry for each row and model.

        Each has the `model`, the number of `rows` before the one it predicted, its `score`
        (how well it predicted where the policy would improve on the best, 0 to 1), the root mean
        square `error` of the returns, and the mean improvement that it `expected` and that came
        (`gain`), on the best so far. Runs that have probably failed do not count: not among the
        predicted rows, not among those that were known, not in the best so far.
        """
        seen = self._seen()
        if len(seen.rows) < 2:
            return []
        self.comparison.watch(seen.rows)
        sound = np.flatnonzero(~self.comparison.failed)
        entries = [
            {
                "model": name,
                "rows": int(sound[outcome.rows]),
                "score": outcome.score,
                "error": outcome.error**0.5,
                "expected": outcome.expected,
                "gain": outcome.gain,
            }
            for name, record in self.comparison.records.items()
            for outcome in record.outcomes
        ]
        return sorted(entries, key=lambda entry: int(entry["rows"]))

    def failed_runs(self) -> list[int]:
        """Ids of the trials whose policies are far below all others on every target.

        No model learns from them; their returns count where they are the best.
        """
        seen = self._seen()
        if not len(seen.rows):
            return []
        self.comparison.watch(seen.rows)
        return [int(number) for number in self._ids_of_rows()[self.comparison.failed]]

    def remaining_gain(self, policies: int = 3) -> float | None:
        """Forecast how much the mean best return will rise by some more policies.

        Like the expected gain of a trial, it is corrected by the share of predicted gains that
        came so far, failed runs not counted: see `TrackRecord.realised_share`.

        Args:
            policies: Number of further policies, pending ones not counted.

        Returns:
            The rise, None while too little is known: before the third row.
        """
        policies = check_int("policies", policies, low=1, error=SelectorError)
        seen = self._seen()
        choice = self._choose_model(seen)
        if choice is None or len(seen.rows) < 3:
            return None
        best = self._expected_best(seen, choice)
        before = float(best.mean())
        try:
            free = seen.free_targets()
        except ExhaustedError:
            return 0.0
        for _ in range(min(policies, int(free.sum()))):
            _, index, added = self._compare_sources(seen, choice, best, free)
            best = best + added
            free[index] = False
        gain = _corrected_gain(float(best.mean()) - before, before, choice, seen)
        return seen.bound_gain(gain, before)

    # -- rows in part --------------------------------------------------------------------------

    def targets_to_evaluate(self, trial: Trial | ContextLike, n: int) -> NDArray[np.intp]:
        """Choose targets to evaluate a new policy on, if all of them would cost too much.

        Half of them are spread over the space, so that the rest of the row can be interpolated;
        the other half are those on which the policy is expected to improve most. The policy's own
        context is among them.

        Args:
            trial: The trial, or its context.
            n: Number of targets.

        Returns:
            (n,) indices of targets, in order.
        """
        n = min(check_int("n", n, low=1, error=SelectorError), len(self.space))
        vector = trial.source.vector if isinstance(trial, Trial) else self.space.vector(trial)
        source = self.space.to_unit(vector)
        seen = self._seen()
        units = seen.space.unit_targets
        choice = self._choose_model(seen)
        promising = -np.abs(units - source).sum(axis=1)
        if choice is not None:
            promising = _improvement(choice, source, choice.best)
        spread = cell_centres(units, target_cells(units, (n + 1) // 2))
        order = np.concatenate([spread, np.argsort(-promising, kind="stable")])
        if seen.sample is not None:  # beyond its targets any other ones
            others = seen.rng("targets to evaluate").choice(len(self.space), n, replace=False)
            order = np.concatenate([seen.sample.indices[order], others])
        order = np.concatenate([[self.space.nearest_to_unit(source)], order])
        return np.sort(np.array(list(dict.fromkeys(order.tolist()))[:n], dtype=np.intp))

    def completed_returns(self) -> NDArray[np.float64]:
        """(k, N) returns of each row, those not evaluated as the best model predicts them.

        Of a training run that has probably failed nothing is predicted: -inf.
        """
        seen = self._seen()
        returns = np.where(np.isnan(seen.rows.returns), -np.inf, seen.rows.returns)
        if len(returns):
            completed = self.comparison.watch(seen.rows)
            returns[~self.comparison.failed] = completed.returns
        return self._on_all_targets(returns)


def _improvement(
    choice: ModelChoice, source: NDArray[np.float64], best: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(N,) expected improvement on each target by a policy trained on a (D,) source."""
    prediction = choice.model.predict(source[None], slice(None))
    return np.asarray(predicted_improvement(prediction, best)[0], dtype=np.float64)


def _corrected_gain(gain: float, before: float, choice: ModelChoice, history: History) -> float:
    """The forecast of a rise of the mean best return.

    What the model expects is multiplied by the share of its expectations that came so far. Where
    they were too low, it is still not more than what brings every target to the largest return
    seen, unless the model itself expects more; and never more than the range of the returns.

    Args:
        gain: The rise that the model expects.
        before: The mean best return that it is added to.
        choice: The model, with its track record.
        history: The history.
    """
    room = float(np.nanmax(history.rows.returns)) - before
    corrected = min(gain * choice.record.realised_share, max(gain, room))
    return min(corrected, _range_of_returns(history))


def _range_of_returns(history: History) -> float:
    """Largest minus smallest return that was observed; there is at least one row."""
    returns = history.rows.returns
    return float(np.nanmax(returns) - np.nanmin(returns))
