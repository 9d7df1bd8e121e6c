"""Largest gain of choosing sources well: greedy with the true returns known, and at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.acquisition import tie_margin

#: Choosing matters where the Myopic Oracle is this far above random choice, as a share of the
#: range of returns, after this many policies.
CHOICE_MATTERS, CHOICE_ROUND = 0.03, 6

#: Gains are computed again for this many sources before looking whether others can follow.
LOOK_AHEAD = 8

#: Number of matrix entries that `expected_random_curve` copies at a time.
_CHUNK_ELEMENTS = 2**20


class GreedyGains:
    """True gain of each source, given the sources taken so far.

    The gain of a source can only shrink as others are added (the mean of the maximum is
    submodular), so an old gain is an upper bound: `best` computes again only those gains that
    could still be the largest.
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


def sequence_curves(returns: NDArray[np.floating], indices: list[int]) -> NDArray[np.float64]:
    """(W, K) performance on each matrix after each source of one sequence; returns is (W, M, N)."""
    best = np.maximum.accumulate(returns[:, indices], axis=1)
    return np.asarray(best.mean(axis=2, dtype=np.float64))


def oracle_curve(returns: NDArray[np.floating], rounds: int) -> NDArray[np.float64]:
    """(K,) performance of the Myopic Oracle, mean over the matrices; returns is (W, N, N)."""
    return np.asarray(sequence_curves(returns, oracle_sequence(returns, rounds)).mean(axis=0))


def random_curve(returns: NDArray[np.floating], rounds: int) -> NDArray[np.float64]:
    """(K,) expected performance of random choice, mean over the matrices; returns is (W, N, N)."""
    return np.asarray(np.mean([expected_random_curve(one, rounds) for one in returns], axis=0))


def choice_margin(returns: NDArray[np.floating]) -> float:
    """Myopic Oracle minus random choice after six policies, or as many as there are."""
    rounds = min(CHOICE_ROUND, returns.shape[1])
    return float(oracle_curve(returns, rounds)[-1] - random_curve(returns, rounds)[-1])


def expected_random_curve(returns: NDArray[np.number], rounds: int) -> NDArray[np.float64]:
    """Exact expected performance of choosing sources uniformly at random, without replacement.

    Entry k - 1 is the mean over targets of E[max of k random entries of the target's column]. In a
    column of M values the largest of a random k-subset has the ascending rank r = 0..M-1 with
    probability C(r, k-1) / C(M, k), so the curve is linear in the sorted columns: they are averaged
    over the targets first, rank by rank, and weighted then. Columns are sorted a few at a time, so
    a large (memory-mapped) matrix is never copied as a whole.

    Returns:
        Expected performance after k = 1..K trained sources, shape (K,); K is at most M.

    >>> expected_random_curve(np.array([[0.0, 1.0], [1.0, 0.0]]), rounds=2)
    array([0.5, 1. ])
    """
    return np.asarray(_mean_by_rank(returns) @ _rank_weights(len(returns), rounds))


def _mean_by_rank(matrix: NDArray[np.number]) -> NDArray[np.float64]:
    """Mean over the columns of the ascending sorted columns of an (M, N) matrix, shape (M,)."""
    sources, targets = matrix.shape
    step = max(1, _CHUNK_ELEMENTS // sources)
    total = np.zeros(sources)
    for start in range(0, targets, step):
        columns = matrix[:, start : start + step].T.copy(order="C")
        columns.sort(axis=1)
        total += columns.sum(axis=0, dtype=np.float64)
    return np.asarray(total / targets)


def _rank_weights(sources: int, rounds: int) -> NDArray[np.float64]:
    """P(the largest of a random k-subset has ascending rank r), shape (M, K), k = 1..K.

    C(r, k-1) / C(M, k) by its recurrence in k. For each r the factors fall with k, so a weight
    that underflows never has to come back, and at k - 1 = r + 1 a factor zero ends the product.
    Each weight carries the rounding of about k products, where logarithms of factorials would lose
    digits.
    """
    rank = np.arange(sources, dtype=np.float64)
    weights = np.empty((sources, rounds))
    weights[:, 0] = 1 / sources
    for k in range(1, rounds):
        factor = (rank - (k - 1)) * (k + 1) / (k * (sources - k))
        weights[:, k] = weights[:, k - 1] * factor
    return weights
