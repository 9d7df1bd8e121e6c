"""J = f + g + h + C and the Sobol-Hoeffding form: exact, orthogonal, convertible."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdmbtl.errors import MatrixError
from sdmbtl.transfer import Decomposition, SobolHoeffding

NUMBERS = st.floats(-1e3, 1e3)
MATRICES = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=NUMBERS)
)
SQUARES = st.integers(1, 6).flatmap(lambda n: hnp.arrays(np.float64, (n, n), elements=NUMBERS))
X = np.linspace(0.0, 1.0, 5)
DISTANCE = np.abs(X[:, None] - X)
DIFFICULTY = np.array([3.0, -1.0, 4.0, -1.0, 5.0])


class TestDefinition1:
    @given(SQUARES)
    def test_parts_add_up(self, matrix):
        parts = Decomposition.of(matrix)
        np.testing.assert_allclose(parts.matrix(), matrix, atol=1e-9)
        assert np.all(np.diagonal(parts.dissimilarity) == 0.0)
        assert parts.difficulty.mean() == pytest.approx(0.0, abs=1e-9)
        assert parts.constant == pytest.approx(matrix.mean(), abs=1e-9)

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

    def test_the_mountain_on_a_line_moves_the_mean_distance_from_g_to_f(self):
        parts = Decomposition.of(500.0 + DIFFICULTY - DISTANCE)
        away = DISTANCE.mean(axis=0)
        np.testing.assert_allclose(
            parts.difficulty, DIFFICULTY - DIFFICULTY.mean() - (away - away.mean()), atol=1e-12
        )
        np.testing.assert_allclose(parts.quality, away, atol=1e-12)
        np.testing.assert_allclose(parts.dissimilarity, away - away[:, None] - DISTANCE, atol=1e-12)

    def test_no_source_matters(self):
        parts = Decomposition.of(np.tile(DIFFICULTY, (5, 1)))
        np.testing.assert_allclose(parts.quality, 0.0, atol=1e-15)
        np.testing.assert_allclose(parts.dissimilarity, 0.0, atol=1e-15)
        np.testing.assert_allclose(parts.difficulty, DIFFICULTY - 2.0)
        assert parts.constant == pytest.approx(2.0)

    def test_the_given_matrix_is_not_changed(self):
        matrix = DISTANCE.copy()
        Decomposition.of(matrix)
        np.testing.assert_array_equal(matrix, DISTANCE)


class TestSobolHoeffding:
    @given(MATRICES)
    def test_parts_add_up_and_are_centred(self, matrix):
        parts = SobolHoeffding.of(matrix)
        np.testing.assert_allclose(parts.matrix(), matrix, atol=1e-9)
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

    @given(MATRICES)
    def test_variance_shares(self, matrix):
        shares = SobolHoeffding.of(matrix).variance_shares()
        assert list(shares) == ["source", "target", "interaction"]
        assert all(share >= 0.0 for share in shares.values())
        if matrix.var() > 1e-6:
            assert sum(shares.values()) == pytest.approx(1.0)
            by_source = matrix.mean(axis=1).var() / matrix.var()
            by_target = matrix.mean(axis=0).var() / matrix.var()
            assert shares["source"] == pytest.approx(by_source, abs=1e-9)
            assert shares["target"] == pytest.approx(by_target, abs=1e-9)

    @pytest.mark.parametrize(
        ("matrix", "share"),
        [
            (np.tile(DIFFICULTY, (3, 1)), "target"),
            (np.tile(DIFFICULTY, (3, 1)).T, "source"),
            ([[1.0, -1.0], [-1.0, 1.0]], "interaction"),
        ],
    )
    def test_pure_effects(self, matrix, share):
        assert SobolHoeffding.of(matrix).variance_shares()[share] == pytest.approx(1.0)

    @pytest.mark.parametrize("constant", [0.0, 0.25, -500.0])
    def test_a_constant_matrix_has_no_variance_to_share(self, constant):
        shares = SobolHoeffding.of(np.full((4, 4), constant)).variance_shares()
        assert shares == {"source": 0.0, "target": 0.0, "interaction": 0.0}

    def test_sources_need_not_be_targets(self):
        parts = SobolHoeffding.of([[1.0, 2.0, 6.0]])
        assert parts.mean == 3.0
        assert parts.source_effect.tolist() == [0.0]
        assert parts.target_effect.tolist() == [-2.0, -1.0, 3.0]
        assert parts.interaction.tolist() == [[0.0, 0.0, 0.0]]


def assert_equal_definition_1(one, other):
    np.testing.assert_allclose(one.quality, other.quality, atol=1e-9)
    np.testing.assert_allclose(one.difficulty, other.difficulty, atol=1e-9)
    np.testing.assert_allclose(one.dissimilarity, other.dissimilarity, atol=1e-9)
    assert one.constant == pytest.approx(other.constant, abs=1e-9)


class TestConversion:
    @given(SQUARES)
    def test_both_ways(self, matrix):
        definition, sobol = Decomposition.of(matrix), SobolHoeffding.of(matrix)
        assert_equal_definition_1(sobol.to_definition_1(), definition)
        assert_equal_definition_1(definition.to_sobol_hoeffding().to_definition_1(), definition)
        converted = definition.to_sobol_hoeffding()
        assert converted.mean == pytest.approx(sobol.mean, abs=1e-9)
        np.testing.assert_allclose(converted.source_effect, sobol.source_effect, atol=1e-9)
        np.testing.assert_allclose(converted.target_effect, sobol.target_effect, atol=1e-9)
        np.testing.assert_allclose(converted.interaction, sobol.interaction, atol=1e-9)

    @given(SQUARES)
    def test_h_is_zero_on_the_diagonal_exactly(self, matrix):
        converted = SobolHoeffding.of(matrix).to_definition_1()
        assert np.all(np.diagonal(converted.dissimilarity) == 0.0)

    def test_the_parts_cannot_be_replaced(self):
        for parts in (Decomposition.of(DISTANCE), SobolHoeffding.of(DISTANCE)):
            with pytest.raises(FrozenInstanceError):
                parts.constant = parts.mean = 0.0

    def test_the_parts_are_not_shared(self):
        sobol = SobolHoeffding.of(DISTANCE)
        sobol.to_definition_1().difficulty[0] = 99.0
        assert sobol.target_effect[0] != 99.0


class TestErrors:
    @pytest.mark.parametrize("of", [Decomposition.of, SobolHoeffding.of])
    @pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (0, 0), (0, 3)])
    def test_no_matrix(self, of, shape):
        with pytest.raises(MatrixError) as caught:
            of(np.zeros(shape))
        assert str(caught.value) == (
            f"A decomposition needs a matrix (sources, targets). Got shape {shape} instead."
        )

    @pytest.mark.parametrize("of", [Decomposition.of, SobolHoeffding.of])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_holes(self, of, bad):
        with pytest.raises(MatrixError, match="needs a full matrix of finite returns"):
            of([[1.0, bad], [0.0, 1.0]])

    @pytest.mark.parametrize("bad", [[["a"]], [[1.0, 2.0], [1.0]]])
    def test_no_numbers(self, bad):
        with pytest.raises(MatrixError, match="A decomposition needs a matrix of numbers"):
            SobolHoeffding.of(bad)

    def test_not_square(self):
        message = (
            "Definition 1 needs J(pi_x, x), so sources must be the targets. "
            "Got shape (2, 3) instead. Use SobolHoeffding for other matrices."
        )
        with pytest.raises(MatrixError) as caught:
            Decomposition.of(np.zeros((2, 3)))
        assert str(caught.value) == message
        with pytest.raises(MatrixError) as caught:
            SobolHoeffding.of(np.zeros((2, 3))).to_definition_1()
        assert str(caught.value) == message
