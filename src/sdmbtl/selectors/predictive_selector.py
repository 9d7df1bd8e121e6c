"""The default selector: structures that predict the next row, and expected improvement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import whole_number
from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.detection import NO_STRUCTURE
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.prediction import (
    AdditiveModel,
    AdditiveQualityModel,
    FirstRowModel,
    MountainModel,
    PlateauModel,
    PredictionContest,
    RowModel,
    UnstructuredModel,
    cell_centres,
    target_cells,
)
from sdmbtl.selectors.base import Proposal, Selector
from sdmbtl.selectors.choice import best_target
from sdmbtl.selectors.history import History
from sdmbtl.selectors.mountain_selector import MountainSelector
from sdmbtl.selectors.trial import Trial

#: With more targets than these, sources are first compared on so many of them, and only a share of
#: the sources goes on, but never fewer than the finalists. Those are compared on all targets.
SOME_TARGETS = ((192, 1 / 8), (768, 0.0))
FINALISTS = 64
#: Improvements are computed for so many pairs of source and target at once: all of them together
#: would not fit into the cache of a processor.
BLOCK = 32768
#: An expected gain below this share of the range of returns is none.
NO_GAIN = 1e-6


@dataclass(frozen=True)
class Outlook:
    """What is expected of the next policies, and why.

    Attributes:
        contest: The contest that the structure was taken from.
        structure: Name of the structure that predicts.
        words: Why this structure, and what it has found.
        detected: Whether the structure was put to the test.
    """

    contest: PredictionContest
    structure: str
    words: str
    detected: bool

    def improvements(
        self,
        sources: NDArray[np.float64],
        best: NDArray[np.float64],
        targets: NDArray[np.intp] | slice = slice(None),
    ) -> NDArray[np.floating]:
        """(m, n) expected improvement on each target by policies trained on (m, D) sources."""
        return self.contest.improvements(self.structure, sources, targets, best)

    def gains(
        self,
        sources: NDArray[np.float64],
        best: NDArray[np.float64],
        targets: NDArray[np.intp] | slice = slice(None),
    ) -> NDArray[np.float64]:
        """(m,) expected rise of the mean best return by policies trained on (m, D) sources."""
        block = max(1, BLOCK // len(best[targets]))
        means = [
            self.improvements(sources[first : first + block], best, targets).mean(axis=1)
            for first in range(0, len(sources), block)
        ]
        return np.concatenate(means)


class PredictiveSelector(Selector):
    """Trains where the mean of the best returns is expected to rise most.

    Several structures predict each new row before it comes; the one that foretold best where
    policies would improve on the best so far predicts the next one. If none of them does better
    than saying that the source plays no role, the choice is random.

    Args:
        space: The context space.
        seed: Seed of the random choices.
        structures: The structures, of equally good ones the first is used; by default plateau,
            additive with free policy quality, additive, Mountain and none.
        falls: What you know about the dimensions before any policy is trained: by how much
            performance falls along each, relative to one another. Names left out count 0, equal
            falls are assumed if nothing is given. They matter for the first two choices.
        difficulty: (N,) the return that you expect on each target, such as that of a simple
            controller; it matters for the second choice.
    """

    name: ClassVar[str] = "auto"

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        structures: Sequence[RowModel] | None = None,
        falls: Mapping[str, float] | None = None,
        difficulty: ArrayLike | None = None,
    ) -> None:
        super().__init__(space, seed=seed)
        self.falls = None if falls is None else _checked_falls(space, falls)
        self.difficulty = None if difficulty is None else _checked_difficulty(space, difficulty)
        self.contest = PredictionContest(structures or default_models())
        self._first_row = PredictionContest([FirstRowModel(self.falls, self.difficulty)])
        self._coverage = MountainSelector(space, seed=seed, weights=self.falls)

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {
            "structures": [structure.name for structure in self.contest.structures],
            "falls": None if self.falls is None else self.falls.tolist(),
            "difficulty": None if self.difficulty is None else self.difficulty.tolist(),
        }

    # -- choosing ------------------------------------------------------------------------------

    def propose(self, history: History) -> Proposal:
        """Choose the source with the largest expected gain."""
        free = history.free_targets()
        outlook = self._outlook(history)
        if outlook is None:
            return self._coverage.propose(history)
        detected = outlook.structure if outlook.detected else None
        if outlook.structure == NO_STRUCTURE:
            index = int(history.rng("no structure").choice(np.flatnonzero(free)))
            reason = f"{outlook.words}; so any context is as good as another"
            return Proposal(self.space.source(index), "random", reason, structure=detected)
        best = self._expected_best(history, outlook)
        index, gain = self._largest_gain(history, outlook, best, free)
        if gain <= NO_GAIN * _range_of_returns(history):
            proposal = self._coverage.propose(history)
            reason = f"no further gain is expected ({outlook.words}); {proposal.reason}"
            return Proposal(proposal.source, proposal.strategy, reason, detected)
        reason = f"{outlook.words}; expected to raise the mean best return by {gain:.3g}"
        return Proposal(
            self.space.source(index), "improvement", reason, detected, {"expected_gain": gain}
        )

    def _outlook(self, history: History) -> Outlook | None:
        """What is expected of the next policy; None before the first row."""
        rows = history.rows
        if not len(rows):
            return None
        self.contest.watch(rows)
        if not self.contest.fits:  # every structure needs more rows
            self._first_row.watch(rows)
            verdict = self._first_row.verdict()
            words = verdict.fitted.explain()
            return Outlook(self._first_row, verdict.structure, words, detected=False)
        verdict = self.contest.verdict()
        words = f"{verdict.structure} {verdict.explanation}: {verdict.fitted.explain()}"
        return Outlook(self.contest, verdict.structure, words, detected=True)

    def _expected_best(self, history: History, outlook: Outlook) -> NDArray[np.float64]:
        """(N,) best returns once the pending policies are there, as far as one can tell."""
        best = outlook.contest.best
        for source in history.pending:
            best = best + outlook.improvements(source[None], best)[0]
        return best

    def _largest_gain(
        self,
        history: History,
        outlook: Outlook,
        best: NDArray[np.float64],
        free: NDArray[np.bool_],
    ) -> tuple[int, float]:
        """The free target with the largest expected gain, and that gain."""
        units = self.space.unit_targets
        candidates = np.flatnonzero(free)
        drawn = history.rng("targets").permutation(len(units))
        for targets, share in SOME_TARGETS:
            if targets < len(units):
                some = np.sort(drawn[:targets])
                rough = outlook.gains(units[candidates], best, some)
                kept = max(FINALISTS, int(share * len(units)))
                candidates = candidates[np.argsort(-rough, kind="stable")[:kept]]
        # The lowest value sets the scale of ties: it must not depend on the unit of the returns.
        gains = np.full(len(units), -min(1.0, _range_of_returns(history)))
        gains[candidates] = outlook.gains(units[candidates], best)
        index = best_target(gains, free, self.space.tie_rank)
        return index, float(gains[index])

    # -- what is known -------------------------------------------------------------------------

    def evidence(self) -> list[dict[str, Any]]:
        """What became of every prediction: an entry for each row and structure.

        Each has the `structure`, the number of `rows` before the one it predicted, its `score`
        (how well it foretold where the policy would improve on the best, 0 to 1), the root mean
        square `error` of the returns, and the mean improvement that it `expected` and that came
        (`gain`), on the best so far. Trainings that have probably failed do not count: not among
        the predicted rows, not among those that were known, not in the best so far.
        """
        if len(self.rows) < 2:
            return []
        self.contest.watch(self.rows)
        sound = np.flatnonzero(~self.contest.failed)
        entries = [
            {
                "structure": name,
                "rows": int(sound[outcome.rows]),
                "score": outcome.score,
                "error": outcome.error**0.5,
                "expected": outcome.expected,
                "gain": outcome.gain,
            }
            for name, record in self.contest.records.items()
            for outcome in record.outcomes
        ]
        return sorted(entries, key=lambda entry: int(entry["rows"]))

    def failed_trainings(self) -> list[int]:
        """Ids of the trials whose policies are far below all others, wherever they are tried.

        No structure learns from them; their returns count where they are the best.
        """
        if not len(self.rows):
            return []
        self.contest.watch(self.rows)
        return [int(number) for number in self._ids_of_rows()[self.contest.failed]]

    def remaining_gain(self, policies: int = 3) -> float | None:
        """How much the mean best return is expected to rise by some more policies.

        What the structure expects is divided by how much too high its expectations were so far,
        and is never more than the range of the returns seen.

        Args:
            policies: Number of further policies, pending ones not counted.

        Returns:
            The rise, None while too little is known: before the third row.
        """
        policies = whole_number("policies", policies, low=1, error=SelectorError)
        outlook = self._outlook(self.history)
        if outlook is None or len(self.rows) < 3:
            return None
        best = self._expected_best(self.history, outlook)
        before = float(best.mean())
        try:
            free = self.history.free_targets()
        except ExhaustedError:
            return 0.0
        for _ in range(min(policies, int(free.sum()))):
            index, _ = self._largest_gain(self.history, outlook, best, free)
            best = best + outlook.improvements(self.space.unit_targets[[index]], best)[0]
            free[index] = False
        optimism = outlook.contest.records[outlook.structure].optimism
        return min((float(best.mean()) - before) / optimism, _range_of_returns(self.history))

    # -- rows in part --------------------------------------------------------------------------

    def targets_to_evaluate(self, trial: Trial | ContextLike, n: int) -> NDArray[np.intp]:
        """Which targets to evaluate a new policy on, if all of them would cost too much.

        Half of them are spread over the space, so that the rest of the row can be read off its
        neighbours; the other half are those on which the policy is expected to improve most. The
        policy's own context is among them.

        Args:
            trial: The trial, or its context.
            n: Number of targets.

        Returns:
            (n,) indices of targets, in order.
        """
        n = min(whole_number("n", n, low=1, error=SelectorError), len(self.space))
        context = trial.context if isinstance(trial, Trial) else trial
        source = self.space.to_unit(self.space.vector(context))
        units = self.space.unit_targets
        outlook = self._outlook(self.history)
        promising = -np.abs(units - source).sum(axis=1)
        if outlook is not None:
            promising = outlook.improvements(source[None], outlook.contest.best)[0]
        spread = cell_centres(units, target_cells(units, (n + 1) // 2))
        order = [
            self.space.nearest_to_unit(source),
            *spread,
            *np.argsort(-promising, kind="stable"),
        ]
        return np.sort(np.array(list(dict.fromkeys(map(int, order)))[:n], dtype=np.intp))

    @property
    def expected_best_trials(self) -> NDArray[np.intp]:
        """(N,) id of the trial whose policy should be best on each target.

        Where policies were not evaluated, what the evaluated neighbours say stands for it; -1
        before the first row.
        """
        if not len(self.rows):
            return np.full(len(self.space), -1, dtype=np.intp)
        returns = np.where(np.isnan(self.rows.returns), -np.inf, self.rows.returns)
        completed = self.contest.watch(self.rows)
        returns[~self.contest.failed] = completed.returns
        return np.asarray(self._ids_of_rows()[returns.argmax(axis=0)])


def default_models() -> tuple[RowModel, ...]:
    """The structures that the default selector keeps side by side, the preferred one first."""
    return (
        PlateauModel(),
        AdditiveQualityModel(),
        AdditiveModel(),
        MountainModel(),
        UnstructuredModel(),
    )


def _range_of_returns(history: History) -> float:
    """Largest less smallest return that was observed; there is at least one row."""
    returns = history.rows.returns
    return float(np.nanmax(returns) - np.nanmin(returns))


def _checked_falls(space: ContextSpace, falls: Mapping[str, float]) -> NDArray[np.float64]:
    """(D,) falls in the order of the dimensions, the largest 1."""
    if not isinstance(falls, Mapping) or not set(falls) <= set(space.names):
        raise SelectorError(
            f"'falls' must map names of dimensions to numbers. Got {falls!r}; the dimensions are "
            f"{list(space.names)}."
        )
    try:
        values = np.array([float(falls.get(name, 0.0)) for name in space.names])
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not np.isfinite(values).all() or (values < 0).any() or not values.max() > 0:
        raise SelectorError(f"'falls' must be numbers >= 0, not all 0. Got {falls!r} instead.")
    return np.asarray(values / values.max())


def _checked_difficulty(space: ContextSpace, difficulty: ArrayLike) -> NDArray[np.float64]:
    """(N,) expected returns."""
    try:
        values = np.asarray(difficulty, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (len(space),) or not np.isfinite(values).all():
        raise SelectorError(
            f"'difficulty' must hold a finite expected return for each of the {len(space)} "
            f"targets. Got shape {values.shape} instead."
        )
    return values
