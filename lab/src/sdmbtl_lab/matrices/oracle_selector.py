"""Oracles: greedy selection with the true returns known. Upper bounds, not competitors."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.base import Selector
from sdmbtl.selectors.choice import tie_margin
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import Proposal

#: Gains are computed again for this many sources before looking whether others can follow.
LOOK_AHEAD = 8


class MyopicOracle(Selector):
    """Greedy on the mean over all trials: one sequence for all of them.

    Args:
        space: The context space.
        returns: (W, N, N) or (N, N) the true returns: trial, source, target.
        seed: Kept for the contract; nothing here is random.
    """

    name: ClassVar[str] = "myopic-oracle"

    def __init__(
        self, space: ContextSpace, returns: NDArray[np.floating], *, seed: int = 0
    ) -> None:
        super().__init__(space, seed=seed)
        trials = np.asarray(returns)
        n = len(space)
        if trials.shape[-2:] != (n, n) or trials.ndim not in (2, 3) or not len(trials):
            raise SelectorError(
                f"An oracle needs the true returns, of shape (trials, {n}, {n}) for {n} targets. "
                f"Got shape {trials.shape} instead."
            )
        self.returns = trials.reshape(-1, n, n)
        self._greedy: GreedyGains | None = None
        self._taken: list[int | None] = []

    def settings(self) -> dict[str, Any]:
        """The true returns, by their hash."""
        digest = hashlib.sha256(self.returns.tobytes())
        return {"returns": digest.hexdigest()[:16]}

    def propose(self, history: History) -> Proposal:
        """Take the target with the largest true gain."""
        free = history.free_targets()
        trained = [t.index for t in history.trials if t.status in ("finished", "pending")]
        if self._greedy is None or self._taken != trained[: len(self._taken)]:
            self._greedy, self._taken = GreedyGains(self.returns), []
        for new in trained[len(self._taken) :]:
            if new is not None:
                self._greedy.add(new)
        self._taken = trained
        index = self._greedy.best(free)
        gain = float(self._greedy.bounds[index])
        return Proposal(
            history.space.source(index),
            self.name,
            f"Largest true gain in the mean over {len(self.returns)} trials ({gain:.4g}).",
            numbers={"expected_gain": gain},
        )


class SequentialOracle(MyopicOracle):
    """Greedy on one trial alone, as if the outcome of each training run were known in advance.

    Args:
        space: The context space.
        matrix: (N, N) the true returns of that trial.
        seed: Kept for the contract; nothing here is random.
    """

    name: ClassVar[str] = "sequential-oracle"

    def __init__(self, space: ContextSpace, matrix: NDArray[np.floating], *, seed: int = 0) -> None:
        super().__init__(space, matrix, seed=seed)


class GreedyGains:
    """True gain of each source, given the sources taken so far.

    The gain of a source can only shrink as others are added (the mean of the maximum is
    submodular), so an old gain is an upper bound: `best` computes again only those gains that
    could still be the largest.

    Args:
        returns: (W, M, N) returns: trial, source, target.
    """

    def __init__(self, returns: NDArray[np.floating]) -> None:
        self.returns = returns
        self.margin = tie_margin(self.returns)
        self.best_so_far: NDArray[np.floating] | None = None  # (W, N)
        self.bounds = np.full(returns.shape[1], np.inf)

    def add(self, index: int) -> None:
        """Take a source."""
        row = self.returns[:, index]
        if self.best_so_far is None:
            self.best_so_far = row.copy()
            self.bounds[:] = np.inf  # mean returns, which bound no later gain
        else:
            np.maximum(self.best_so_far, row, out=self.best_so_far)

    def exact(self, sources: NDArray[np.intp]) -> NDArray[np.float64]:
        """(m,) mean over trials and targets of the gain of each source.

        Before the first source the gain is the mean return itself.
        """
        gains = np.empty(len(sources))
        for number, source in enumerate(sources):
            rows = self.returns[:, source]
            if self.best_so_far is not None:
                rows = np.maximum(rows - self.best_so_far, 0.0)
            gains[number] = rows.mean(dtype=np.float64)
        return gains

    def best(self, free: NDArray[np.bool_]) -> int:
        """The free source with the largest gain; of equal ones the first, as in the paper."""
        order = np.flatnonzero(free)[np.argsort(-self.bounds[free], kind="stable")]
        top, seen = -np.inf, 0
        while seen < len(order) and self.bounds[order[seen]] >= top - self.margin:
            some = order[seen : seen + LOOK_AHEAD]
            self.bounds[some] = self.exact(some)
            top = max(top, float(self.bounds[some].max()))
            seen += len(some)
        computed = np.sort(order[:seen])
        return int(computed[self.bounds[computed] >= top - self.margin][0])


def oracle_sequence(returns: NDArray[np.floating], rounds: int) -> list[int]:
    """The first sources of the greedy oracle on (W, M, N) returns.

    One trial gives the Sequential Oracle's sequence, all of them the Myopic Oracle's.
    """
    greedy = GreedyGains(returns)
    free = np.ones(returns.shape[1], dtype=np.bool_)
    sequence: list[int] = []
    for _ in range(min(rounds, len(free))):
        index = greedy.best(free)
        greedy.add(index)
        free[index] = False
        sequence.append(index)
    return sequence
