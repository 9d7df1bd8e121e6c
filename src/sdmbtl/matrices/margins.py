"""How much there is to gain by choosing sources well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.metrics import expected_random_curve
from sdmbtl.selectors.oracle_selector import oracle_sequence

#: Choosing matters where the Myopic Oracle is so far above random choice after so many policies,
#: as a share of the range of returns.
CHOICE_MATTERS, CHOICE_ROUND = 0.03, 6


def sequence_curves(returns: NDArray[np.floating], indices: list[int]) -> NDArray[np.float64]:
    """(W, K) performance in each trial after each source of one sequence; returns is (W, M, N)."""
    best = np.maximum.accumulate(returns[:, indices], axis=1)
    return np.asarray(best.mean(axis=2, dtype=np.float64))


def oracle_curve(returns: NDArray[np.floating], rounds: int) -> NDArray[np.float64]:
    """(K,) performance of the Myopic Oracle, mean over the trials; returns is (W, N, N)."""
    return np.asarray(sequence_curves(returns, oracle_sequence(returns, rounds)).mean(axis=0))


def random_curve(returns: NDArray[np.floating], rounds: int) -> NDArray[np.float64]:
    """(K,) expected performance of random choice, mean over the trials; returns is (W, N, N)."""
    return np.asarray(np.mean([expected_random_curve(one, rounds) for one in returns], axis=0))


def choice_margin(returns: NDArray[np.floating]) -> float:
    """Myopic Oracle less random choice after six policies, or as many as there are.

    Args:
        returns: (W, N, N) the seeds of a data set, scaled to 0..1.
    """
    rounds = min(CHOICE_ROUND, returns.shape[1])
    return float(oracle_curve(returns, rounds)[-1] - random_curve(returns, rounds)[-1])
