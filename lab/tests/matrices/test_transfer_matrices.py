"""Full transfer matrices: shapes, normalisation, bootstrap, files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.transfer import ObservedRows
from sdmbtl_lab.matrices import TransferMatrices
from sdmbtl_lab.matrices.transfer_matrices import min_max

SPACE = ContextSpace(a=[1, 2], b=[1, 2])


def numbered(matrices=3, dtype=np.float64):
    """Trial w, source x, target y holds 100 w + 10 x + y."""
    w, x, y = np.ogrid[:matrices, :4, :4]
    return TransferMatrices(SPACE, (100 * w + 10 * x + y).astype(dtype))


class TestShape:
    def test_several_matrices(self):
        matrices = numbered()
        assert len(matrices) == 3
        assert matrices.returns.shape == (3, 4, 4)
        assert matrices[2][1, 3] == 213
        assert matrices[-1].shape == (4, 4)
        assert matrices.space is SPACE

    def test_one_matrix_needs_no_axis(self):
        matrices = TransferMatrices(SPACE, np.arange(16).reshape(4, 4))
        assert matrices.returns.shape == (1, 4, 4)
        assert matrices[0][1, 2] == 6.0

    @pytest.mark.parametrize(
        ("given_", "kept"),
        [(np.float64, np.float64), (np.float32, np.float32), (np.int64, np.float64)],
    )
    def test_kinds_of_numbers(self, given_, kept):
        assert TransferMatrices(SPACE, np.zeros((4, 4), dtype=given_)).returns.dtype == kept

    @pytest.mark.parametrize("shape", [(4,), (4, 3), (3, 4, 5), (5, 5), (1, 1, 4, 4), (0, 4, 4)])
    def test_wrong_shape(self, shape):
        with pytest.raises(MatrixError) as caught:
            TransferMatrices(SPACE, np.zeros(shape))
        assert str(caught.value) == (
            "Transfer matrices must have shape (matrices, 4, 4) for 4 targets. "
            f"Got shape {shape} instead."
        )

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, bad):
        returns = np.zeros((3, 4, 4))
        returns[1, 2, 3] = bad
        with pytest.raises(MatrixError) as caught:
            TransferMatrices(SPACE, returns)
        assert str(caught.value) == (
            f"Transfer matrices must be finite. Got {bad} in matrix 1, source 2, target 3. "
            "Use ObservedRows for partial data."
        )

    @pytest.mark.parametrize("bad", [[["a"]], [[1.0, 2.0], [1.0]], [[{}]]])
    def test_no_numbers(self, bad):
        with pytest.raises(MatrixError, match="Transfer matrices must be arrays of numbers"):
            TransferMatrices(SPACE, bad)


class TestArithmetic:
    def test_mean_over_matrices(self):
        matrices = numbered()
        expected = [
            [sum(m[x, y] for m in matrices.returns) / 3 for y in range(4)] for x in range(4)
        ]
        np.testing.assert_allclose(matrices.mean(), expected)

    def test_mean_of_float32_is_taken_in_float64(self):
        returns = np.full((3, 4, 4), 1e8, dtype=np.float32)
        returns[0] += 16
        mean = TransferMatrices(SPACE, returns).mean()
        assert mean.dtype == np.float64
        assert mean[0, 0] == pytest.approx(1e8 + 16 / 3, abs=1e-6)

    def test_all_matrices_are_scaled_together(self):
        normalised = numbered().normalised()
        np.testing.assert_allclose(normalised.returns, numbered().returns / 233.0)
        assert normalised.space is SPACE
        assert normalised.returns.min() == 0.0
        assert normalised.returns.max() == 1.0

    @given(st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
    def test_normalising_removes_shift_and_scale(self, scale, shift):
        moved = TransferMatrices(SPACE, (numbered().returns + shift) * scale).normalised()
        np.testing.assert_allclose(moved.returns, numbered().normalised().returns, atol=1e-12)

    @pytest.mark.parametrize("constant", [0.0, 0.1, -7.0])
    def test_a_constant_matrix_becomes_zero(self, constant):
        normalised = TransferMatrices(SPACE, np.full((2, 4, 4), constant)).normalised()
        assert normalised.returns.tolist() == np.zeros((2, 4, 4)).tolist()

    def test_normalising_keeps_float32(self):
        normalised = numbered(dtype=np.float32).normalised()
        assert normalised.returns.dtype == np.float32
        assert (normalised.returns.min(), normalised.returns.max()) == (0.0, 1.0)

    def test_min_max(self):
        assert min_max(np.array([2.0, 3.0, 6.0]), 2.0, 4.0).tolist() == [0.0, 0.5, 2.0]
        assert min_max(np.array([2.0, 3.0]), 2.0, 2.0).tolist() == [0.0, 1.0]


class TestBootstrap:
    def test_every_row_is_a_row_of_some_matrix_at_the_same_source(self):
        drawn = numbered().bootstrap(50)
        assert drawn.returns.shape == (50, 4, 4)
        number, rest = np.divmod(drawn.returns, 100)
        assert np.all(rest == 10 * np.arange(4)[:, None] + np.arange(4))
        assert np.all(number == number[:, :, :1])  # all of a row is of one matrix
        assert any(len(set(sample)) > 1 for sample in number[:, :, 0])  # rows are drawn one by one

    def test_uniform_over_the_matrices_for_every_source(self):
        number = numbered(4).bootstrap(4000).returns[:, :, 0] // 100
        for source in range(4):
            counts = np.bincount(number[:, source].astype(int), minlength=4)
            assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75))
        together = np.mean(number[:, 0] == number[:, 1])
        assert abs(together - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)

    def test_the_seed_decides(self):
        one, same, other = (numbered().bootstrap(5, seed=s).returns for s in (1, 1, 2))
        assert one.tolist() == same.tolist()
        assert one.tolist() != other.tolist()
        assert (
            numbered().bootstrap(5).returns.tolist() == numbered().bootstrap(5, 0).returns.tolist()
        )

    def test_float32_is_kept(self):
        assert numbered(dtype=np.float32).bootstrap(2).returns.dtype == np.float32

    def test_one_is_enough(self):
        assert len(numbered().bootstrap(1)) == 1

    @pytest.mark.parametrize("n", [0, -1])
    def test_too_few(self, n):
        with pytest.raises(MatrixError) as caught:
            numbered().bootstrap(n)
        assert str(caught.value) == f"A bootstrap needs n >= 1 matrices. Got n={n} instead."


class TestFiles:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_round_trip(self, tmp_path, dtype):
        matrices = TransferMatrices(SPACE, np.random.default_rng(0).random((2, 4, 4)).astype(dtype))
        matrices.save(tmp_path / "m.npz")
        again = TransferMatrices.load(tmp_path / "m.npz")
        assert again.returns.dtype == dtype
        np.testing.assert_array_equal(again.returns, matrices.returns)
        assert again.space == SPACE
        assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]

    def test_overwrites(self, tmp_path):
        numbered(3).save(tmp_path / "m.npz")
        numbered(2).save(tmp_path / "m.npz")
        assert len(TransferMatrices.load(tmp_path / "m.npz")) == 2

    def test_another_kind(self, tmp_path):
        ObservedRows(SPACE).save(tmp_path / "r.npz")
        with pytest.raises(MatrixError, match=r"holds rows; matrices were expected\.$"):
            TransferMatrices.load(tmp_path / "r.npz")

    def test_no_returns_inside(self, tmp_path):
        header = {"version": 1, "kind": "matrices", "space": SPACE.to_dict()}
        np.savez(tmp_path / "m.npz", header=np.array(json.dumps(header)))
        with pytest.raises(MatrixError, match=r"damaged \('returns'\)"):
            TransferMatrices.load(tmp_path / "m.npz")
