"""Oracles: greedy selection with the true returns known. Upper marks, not competitors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.base import Proposal, Selector
from sdmbtl.selectors.choice import TIE, best_target, free_targets
from sdmbtl.selectors.history import History
from sdmbtl.transfer import TransferMatrices


class MyopicOracle(Selector):
    """Greedy on the mean over all trials: one sequence for all of them.

    Args:
        space: The context space.
        matrices: The true returns in every trial.
        seed: Kept for the contract; nothing here is random.
    """

    name: ClassVar[str] = "myopic-oracle"

    def __init__(self, space: ContextSpace, matrices: TransferMatrices, *, seed: int = 0) -> None:
        super().__init__(space, seed=seed)
        if matrices.space != space:
            raise SelectorError("The oracle's matrices belong to another context space.")
        self.matrices = matrices

    def propose(self, history: History) -> Proposal:
        """Take the target with the largest true gain."""
        free = free_targets(history)
        trained = [t.index for t in history.trials if t.status in ("finished", "pending")]
        greedy = GreedyGains(self.matrices.returns)
        for index in trained:
            if index is not None:
                greedy.add(index)
        gains = greedy.exact(np.arange(len(free)))
        index = best_target(gains, free, history.space.tie_rank)
        return Proposal(
            history.space.targets[index],
            self.name,
            f"largest true gain in the mean over {len(self.matrices)} trials ({gains[index]:.4g})",
            numbers={"gain": float(gains[index])},
        )


class SequentialOracle(MyopicOracle):
    """Greedy on one trial alone, as if its luck were known in advance.

    Args:
        space: The context space.
        matrix: (N, N) the true returns of that trial.
        seed: Kept for the contract; nothing here is random.
    """

    name: ClassVar[str] = "sequential-oracle"

    def __init__(self, space: ContextSpace, matrix: NDArray[np.floating], *, seed: int = 0) -> None:
        super().__init__(space, TransferMatrices(space, matrix), seed=seed)


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
        self.best_so_far: NDArray[np.floating] | None = None  # (W, N)
        self.bounds = np.full(returns.shape[1], np.inf)

    def add(self, index: int) -> None:
        """Take a source."""
        row = self.returns[:, index]
        self.best_so_far = (
            row.copy() if self.best_so_far is None else np.maximum(self.best_so_far, row)
        )

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

    def best(self, free: NDArray[np.bool_], tie_rank: NDArray[np.intp]) -> int:
        """The free source with the largest gain; ties as in `best_target`."""
        current = np.full(len(self.bounds), -np.inf)
        order = np.flatnonzero(free)[np.argsort(-self.bounds[free], kind="stable")]
        top = -np.inf
        for start in range(0, len(order), 8):
            some = order[start : start + 8]
            if self.bounds[some[0]] < top - TIE * abs(top):
                break
            current[some] = self.bounds[some] = self.exact(some)
            top = max(top, float(current[some].max()))
        return best_target(
            np.where(np.isfinite(current), current, top - 1.0 - abs(top)),
            free & np.isfinite(current),
            tie_rank,
        )


def oracle_sequence(
    returns: NDArray[np.floating], rounds: int, tie_rank: NDArray[np.intp]
) -> list[int]:
    """The first sources of the greedy oracle on (W, M, N) returns.

    One trial gives the Sequential Oracle's sequence, all of them the Myopic Oracle's.
    """
    greedy = GreedyGains(returns)
    free = np.ones(returns.shape[1], dtype=np.bool_)
    sequence: list[int] = []
    for _ in range(min(rounds, len(free))):
        index = greedy.best(free, tie_rank)
        greedy.add(index)
        if len(sequence) == 0:
            greedy.bounds[:] = np.inf  # the first gains are mean returns, no bounds for the rest
        free[index] = False
        sequence.append(index)
    return sequence
