"""J = f + g + h + C and the Sobol-Hoeffding form: exact, orthogonal, convertible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdmbtl_lab.matrices.decomposition import Decomposition, SobolHoeffding

NUMBERS = st.floats(-1e3, 1e3)
MATRICES = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=NUMBERS)
)
SQUARES = st.integers(1, 6).flatmap(lambda n: hnp.arrays(np.float64, (n, n), elements=NUMBERS))


class TestDefinition1:
    @given(SQUARES)
    def test_against_plain_loops(self, matrix):
        n = len(matrix)
        parts = Decomposition.of(matrix)
        constant = sum(map(sum, matrix)) / n / n
        for y in range(n):
            g = sum(matrix[x][y] for x in range(n)) / n - constant
            assert parts.difficulty[y] == pytest.approx(g, abs=1e-9)
            f = matrix[y][y] - g - constant
            assert parts.quality[y] == pytest.approx(f, abs=1e-9)
        for x in range(n):
            for y in range(n):
                h = matrix[x][y] - parts.quality[x] - parts.difficulty[y] - parts.constant
                assert parts.dissimilarity[x, y] == pytest.approx(h, abs=1e-9)

    def test_the_mountain_on_a_ring_is_recovered_exactly(self):
        # On a ring every target has the same mean distance, so g and f come out as put in.
        i = np.arange(8)
        ring = np.minimum((i[:, None] - i) % 8, (i - i[:, None]) % 8)
        g = np.sin(i) - np.sin(i).mean()
        parts = Decomposition.of(500.0 + g - ring)
        np.testing.assert_allclose(parts.quality, np.full(8, ring.mean()))
        np.testing.assert_allclose(parts.difficulty, g, atol=1e-12)
        np.testing.assert_allclose(parts.dissimilarity, -ring, atol=1e-12)
        assert parts.constant == pytest.approx(500.0 - ring.mean())


class TestSobolHoeffding:
    @given(MATRICES)
    def test_parts_add_up_and_are_centred(self, matrix):
        parts = SobolHoeffding.of(matrix)
        total = parts.mean + parts.source_effect[:, None] + parts.target_effect + parts.interaction
        np.testing.assert_allclose(total, matrix, atol=1e-9)
        assert parts.source_effect.shape == (matrix.shape[0],)
        assert parts.target_effect.shape == (matrix.shape[1],)
        for zero in (
            parts.source_effect.mean(),
            parts.target_effect.mean(),
            parts.interaction.mean(axis=0),
            parts.interaction.mean(axis=1),
        ):
            np.testing.assert_allclose(zero, 0.0, atol=1e-9)

    @given(MATRICES)
    def test_parts_are_orthogonal(self, matrix):
        parts = SobolHoeffding.of(matrix)
        grids = np.broadcast_arrays(
            parts.source_effect[:, None], parts.target_effect, parts.interaction
        )
        for i in range(3):
            for j in range(i):
                assert np.mean(grids[i] * grids[j]) == pytest.approx(0.0, abs=1e-6)
        variance = sum(grid.var() for grid in grids)
        assert variance == pytest.approx(matrix.var(), rel=1e-9, abs=1e-9)
