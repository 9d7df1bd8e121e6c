"""Full transfer matrices: shapes, normalisation, bootstrap, files."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl_lab.matrices import TransferMatrices

SPACE = ContextSpace(a=[1, 2], b=[1, 2])


def numbered(matrices=3, dtype=np.float64):
    """Trial w, source x, target y holds 100 w + 10 x + y."""
    w, x, y = np.ogrid[:matrices, :4, :4]
    return TransferMatrices(SPACE, (100 * w + 10 * x + y).astype(dtype))


class TestShape:
    @pytest.mark.parametrize("shape", [(4,), (3, 4, 5), (0, 4, 4)])
    def test_wrong_shape(self, shape):
        with pytest.raises(MatrixError, match=r"must have shape \(matrices, 4, 4\)"):
            TransferMatrices(SPACE, np.zeros(shape))

    def test_not_finite(self):
        returns = np.zeros((3, 4, 4))
        returns[1, 2, 3] = np.inf
        with pytest.raises(MatrixError, match="Got inf in matrix 1, source 2, target 3"):
            TransferMatrices(SPACE, returns)


class TestArithmetic:
    def test_all_matrices_are_scaled_together(self):
        normalised = numbered().normalised()
        np.testing.assert_allclose(normalised.returns, numbered().returns / 233.0)
        assert normalised.space is SPACE
        assert normalised.returns.min() == 0.0
        assert normalised.returns.max() == 1.0

    @pytest.mark.parametrize("constant", [0.0, 0.1, -7.0])
    def test_a_constant_matrix_becomes_zero(self, constant):
        normalised = TransferMatrices(SPACE, np.full((2, 4, 4), constant)).normalised()
        assert normalised.returns.tolist() == np.zeros((2, 4, 4)).tolist()


def test_every_resampled_row_is_a_row_of_some_matrix_at_the_same_source():
    drawn = np.stack([numbered(4).resampled(seed) for seed in range(400)])
    number, rest = np.divmod(drawn, 100)
    assert np.all(rest == 10 * np.arange(4)[:, None] + np.arange(4))
    assert np.all(number == number[:, :, :1]), "all of a row is of one matrix"
    counts = np.stack([np.bincount(n, minlength=4) for n in number[:, :, 0].T.astype(int)])
    assert np.all(np.abs(counts - 100) < 5 * np.sqrt(400 * 0.25 * 0.75)), "uniform"
    assert (numbered().resampled(1) == numbered().resampled(1)).all()
