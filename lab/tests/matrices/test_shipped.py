"""Matrices by name, by path and by directory."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices, load_matrix, matrix_names
from sdmbtl_lab.matrices import shipped as shipped_module

SPACE = ContextSpace(a=[1, 2])


def write(path, value):
    path.parent.mkdir(exist_ok=True)
    matrices = TransferMatrices(SPACE, np.full((1, 2, 2), value))
    TransferDataset(matrices, np.zeros((1, 2)), np.zeros((1, 2))).save(path)


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch):
    """Two data sets in the place of those that come with the package."""
    monkeypatch.setattr(shipped_module, "folder", lambda: tmp_path / "shipped")
    write(tmp_path / "shipped" / "cartpole-wide.npz", 1.0)
    write(tmp_path / "shipped" / "acrobot.npz", 2.0)
    return tmp_path / "shipped"


def test_by_name():
    assert matrix_names() == ("acrobot", "cartpole-wide")
    assert load_matrix("cartpole-wide").returns[0, 0, 0] == 1.0
    assert load_matrix("acrobot").returns[0, 0, 0] == 2.0


def test_by_path_and_directory(tmp_path):
    write(tmp_path / "mine" / "matrix.npz", 3.0)
    for given in (tmp_path / "mine", str(tmp_path / "mine"), tmp_path / "mine" / "matrix.npz"):
        assert load_matrix(given).returns[0, 0, 0] == 3.0


def test_unknown_name():
    with pytest.raises(MatrixError, match="no matrix 'cartpole_wide'.* mean 'cartpole-wide'"):
        load_matrix("cartpole_wide")


def test_directory_that_is_not_finished(tmp_path):
    (tmp_path / "begun").mkdir()
    with pytest.raises(
        MatrixError, match="begun' has no matrix.npz; 'sdmbtl lab matrix' writes it"
    ):
        load_matrix(tmp_path / "begun")
