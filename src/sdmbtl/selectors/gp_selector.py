"""GP-MBTL: a Gaussian process for the training performance, a linear generalization gap."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import known_name
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.acquisition import (
    best_source,
    best_target,
    expected_improvement,
    mean_improvement,
)
from sdmbtl.selectors.base import SAMPLE_SIZE, Selector
from sdmbtl.selectors.gaussian_process import GaussianProcess
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import Proposal
from sdmbtl.transfer import SeparableGap
from sdmbtl.transfer.slopes import PairSums, SlopeMethod
from sdmbtl.wording import rise_in_words

BestPerformance = Literal["real", "modelled"]
SlopeSetting = Literal[SlopeMethod, "fixed"]

#: Number of rounds before the model decides.
FIRST_ROUNDS = 3
#: Fall of performance per grid step, as a share of the observed range of returns, where slopes are
#: "fixed".
FIXED_SLOPE = 0.01


class GPSelector(Selector):
    """GP-MBTL: the source with the largest expected gain over what the targets have already.

    The gain of a source x on a target y is [mu(x) + sqrt(beta_k) sigma(x) - gap(x, y) -
    best(y)]_+, with mu and sigma from a Gaussian process on the training performances
    J(pi_x, x), beta_k = log k, and a linear gap with slopes left and right in each dimension.
    The first source is the middle of the space, the next ones are the targets with the lowest best
    return, then the model decides. Sources are the targets, the paper's discretisation of X.

    Args:
        space: The context space.
        seed: Kept for the contract; nothing here is random.
        best: "real" uses the observed best returns (the revised form), "modelled" the
            modelled ones (the original MBTL).
        slopes: Estimate of the gap's slopes: "return" as in the paper, "relative" or
            "within" as described in `sdmbtl.transfer.slopes`, or "fixed" (the original MBTL).
    """

    name: ClassVar[str] = "gp-mbtl"
    sample_size = SAMPLE_SIZE

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        best: BestPerformance = "real",
        slopes: SlopeSetting = "return",
    ) -> None:
        super().__init__(space, seed=seed)
        known_name("best", best, get_args(BestPerformance), error=SelectorError)
        known_name("slopes", slopes, (*get_args(SlopeMethod), "fixed"), error=SelectorError)
        self.best, self.slopes = best, slopes
        self._sums = PairSums()

    @classmethod
    def original(cls, space: ContextSpace, *, seed: int = 0) -> GPSelector:
        """MBTL as it was before this paper: modelled performance, one fixed slope."""
        return cls(space, seed=seed, best="modelled", slopes="fixed")

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {"best": self.best, "slopes": self.slopes}

    def propose(self, history: History) -> Proposal:
        """Choose the next source."""
        rows = history.rows
        if not len(rows):
            return self._without_rows(history)
        if self.slopes == "fixed":
            width = float(np.nanmax(rows.returns) - np.nanmin(rows.returns))
            fall = -FIXED_SLOPE * width * self.space.steps
            gap = SeparableGap(rows.space, fall, fall)
        else:
            slopes = self._sums.slopes(rows, self.slopes)
            gap = SeparableGap(rows.space, slopes.left, slopes.right)
        known = ~np.isnan(rows.source_returns)
        if known.sum() < FIRST_ROUNDS:
            own = rows.source_returns[known] if known.any() else rows.best
            level = np.full(len(history.space), np.nanmean(own))
            best = self._best_so_far(history, gap, level)
            return self._lowest_target(best, history, "there are too few rows for a model yet")
        process = GaussianProcess(rows.unit_sources[known], rows.source_returns[known])
        space, scale = history.space, np.sqrt(np.log(history.round))  # of the deviations
        mean, deviation = process.predict(space.unit_targets)
        best = self._best_so_far(history, gap, mean)

        def gains_of(units: NDArray[np.float64]) -> NDArray[np.float64]:
            mean, deviation = process.predict(units)
            advantages = gap.advantages(mean + scale * deviation, best, units)
            return mean_improvement(advantages, len(units), space.weights)

        advantages = gap.advantages(mean + scale * deviation, best)
        gains = mean_improvement(advantages, len(mean), space.weights)
        choice = best_source(history, gains, gains_of, history.free_targets())
        if choice.gain <= 0:
            return self._lowest_target(best, history, "the model predicts no gain anywhere")
        there, spread = (float(values[0]) for values in process.predict(choice.unit[None]))
        above = there + gap.change(choice.unit[None])[0] - best
        rise, before = (float(space.mean(v)) for v in (expected_improvement(above), best))
        expected = history.bound_gain(rise, before)
        return Proposal(
            choice.source,
            self.name,
            f"Training here is predicted to raise {rise_in_words(expected, history.return_range)}. "
            f"By the upper confidence bound it gains most: {choice.gain:.3g} in return. On its "
            f"own context the policy should get {there:.4g} ± {spread:.4g}.",
            numbers={
                "expected_gain": expected,
                "upper_bound_gain": choice.gain,
                "mean": there,
                "deviation": spread,
            },
        )

    def _without_rows(self, history: History) -> Proposal:
        """The middle of the space; then, while nothing is reported, what is farthest from it."""
        free, covering, space = history.free_targets(), history.covering, history.space
        units = space.unit_targets
        if not len(covering):
            closeness = -np.abs(units - 0.5).sum(axis=1)
            index = best_target(closeness, free, space.tie_rank)
            return Proposal(space.source(index), self.name, "The middle of the space.")
        distance = np.min([np.abs(units - c).sum(axis=1) for c in covering], axis=0)
        index = best_target(distance, free, space.tie_rank)
        reason = "Nothing is evaluated yet: the target farthest from the sources being trained."
        numbers = {"distance": float(distance[index])}
        return Proposal(space.source(index), self.name, reason, numbers=numbers)

    def _lowest_target(self, best: NDArray[np.float64], history: History, why: str) -> Proposal:
        index = best_target(-best, history.free_targets(), history.space.tie_rank)
        reason = f"The target with the lowest best return ({best[index]:.4g}): {why}."
        source, numbers = history.space.source(index), {"best": float(best[index])}
        return Proposal(source, self.name, reason, numbers=numbers)

    def _best_so_far(
        self, history: History, gap: SeparableGap, level: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(N,) what each target has, including the predictions for pending training runs."""
        rows = history.rows
        if self.best == "modelled":
            known = ~np.isnan(rows.source_returns)
            modelled = rows.source_returns[known, None] + gap.change(rows.unit_sources[known])
            best = np.max(modelled, axis=0, initial=float(np.nanmin(rows.returns)))
        else:
            # A target that no policy was evaluated on counts like the one with the lowest return.
            best = np.where(np.isnan(rows.best), np.nanmin(rows.best), rows.best)
        for unit in history.pending:
            expected = level[history.space.nearest_to_unit(unit)]
            best = np.maximum(best, expected + gap.change(unit[None])[0])
        return np.asarray(best)
