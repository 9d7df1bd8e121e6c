"""The expected performance of random choice, against brute force."""

import tracemalloc
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdmbtl.errors import MatrixError
from sdmbtl_lab.matrices import margins
from sdmbtl_lab.matrices.margins import expected_random_curve


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

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_needs_little_memory(self, order):
        returns = np.asarray(
            np.random.default_rng(6).random((2048, 4096), dtype=np.float32), order=order
        )
        before = returns[:, 0].copy()
        tracemalloc.start()
        try:
            expected_random_curve(returns, 50)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < returns.nbytes / 3
        np.testing.assert_array_equal(returns[:, 0], before)

    def test_errors(self):
        with pytest.raises(MatrixError, match=r"5 rounds cannot be drawn .* from 4 sources"):
            expected_random_curve(np.ones((4, 9)), 5)
        with pytest.raises(MatrixError, match="0 rounds"):
            expected_random_curve(np.ones((4, 9)), 0)
        for shape in ((4,), (0, 3), (3, 0), (2, 2, 2)):
            with pytest.raises(MatrixError, match="sources x targets, but got shape"):
                expected_random_curve(np.ones(shape), 1)
        for bad in (np.nan, np.inf, -np.inf):
            returns = np.ones((3, 3))
            returns[1, 1] = bad
            with pytest.raises(MatrixError, match="finite"):
                expected_random_curve(returns, 2)
        with pytest.raises(MatrixError, match="finite"):
            expected_random_curve(np.array([[np.inf, -np.inf]]), 1)
