"""The greedy oracle against brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl_lab.matrices.margins import oracle_sequence


def brute_force(returns, rounds):
    chosen = []
    for _ in range(rounds):
        means = [
            -np.inf if i in chosen else returns[:, [*chosen, i]].max(axis=1).mean()
            for i in range(returns.shape[1])
        ]
        best = max(means)
        chosen.append(next(i for i, m in enumerate(means) if m >= best - 1e-9 * abs(best)))
    return chosen


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_lazy_gains_choose_what_brute_force_chooses(seed, trials, ties):
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(trials, 25, 25))
    if ties:
        returns = np.round(returns)
    assert oracle_sequence(returns, 25) == brute_force(returns, 25)
