"""The expected performance of random choice, and the greedy oracle, against brute force."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdmbtl_lab.matrices import margins
from sdmbtl_lab.matrices.margins import expected_random_curve, oracle_sequence


def brute_force(returns: np.ndarray, rounds: int) -> list[float]:
    """Mean over all k-subsets of the rows, for k = 1..K."""
    rows = range(len(returns))
    return [
        float(np.mean([returns[list(s)].max(axis=0).mean() for s in combinations(rows, k)]))
        for k in range(1, rounds + 1)
    ]


MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6),
    elements=st.floats(-10, 10).map(lambda x: round(x, 3)),
)


class TestExpectedRandomCurve:
    @given(MATRICES)
    def test_is_the_mean_over_all_subsets(self, returns):
        rounds = len(returns)
        got = expected_random_curve(returns, rounds)
        np.testing.assert_allclose(got, brute_force(returns, rounds), atol=1e-12)

    def test_uniform_ranks_have_a_closed_form(self):
        # E[max of k of 1..M] = k (M + 1) / (k + 1).
        size, k = 16384, np.arange(1, 51)
        returns = np.random.default_rng(3).permutation(size).astype(float)[:, None] + 1
        np.testing.assert_allclose(
            expected_random_curve(returns, 50), k * (size + 1) / (k + 1), rtol=1e-12
        )

    def test_weights_are_the_exact_probabilities(self):
        size, rounds = 120, 110
        weights = margins._rank_weights(size, rounds)
        exact = [
            [float(Fraction(comb(r, k - 1), comb(size, k))) for k in range(1, rounds + 1)]
            for r in range(size)
        ]
        np.testing.assert_allclose(weights, exact, rtol=1e-13)

    @pytest.mark.parametrize("elements", [1, 20, 1000])
    def test_chunks_do_not_matter_and_the_input_stays(self, elements, monkeypatch):
        returns = np.random.default_rng(5).normal(size=(10, 23))
        before = returns.copy()
        whole = expected_random_curve(returns, 10)
        monkeypatch.setattr(margins, "_CHUNK_ELEMENTS", elements)
        np.testing.assert_allclose(expected_random_curve(returns, 10), whole)
        np.testing.assert_array_equal(returns, before)


def greedy_by_brute_force(returns, rounds):
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
def test_lazy_gains_choose_what_greedy_by_brute_force_chooses(seed, trials, ties):
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(trials, 25, 25))
    if ties:
        returns = np.round(returns)
    assert oracle_sequence(returns, 25) == greedy_by_brute_force(returns, 25)
