"""Data sets: small files that give the returns back, to the last digit where they can."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.transfer.storage import load_arrays, save_arrays
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.dataset import _ARRAYS, KIND
from sdmbtl_lab.matrices.storage import LARGEST_CODE

SPACE = ContextSpace(a=[1, 2], b=[1, 2])


def dataset(returns, multi_task=None, **card):
    returns = np.broadcast_to(np.asarray(returns, dtype=np.float64), (2, 4, 4))
    return TransferDataset(
        TransferMatrices(SPACE, returns),
        np.arange(8.0).reshape(2, 4),
        np.arange(8.0, 16.0).reshape(2, 4),
        {k: np.full((2, 4), v, dtype=np.float64) for k, v in (multi_task or {}).items()},
        card,
    )


def random_returns(low, high, decimals=15, seed=0):
    return np.random.default_rng(seed).uniform(low, high, (2, 4, 4)).round(decimals)


def saved(tmp_path, *arguments, **options):
    dataset(*arguments, **options).save(tmp_path / "d.npz")
    return TransferDataset.load(tmp_path / "d.npz")


class TestThereAndBack:
    def test_everything(self, tmp_path):
        original = dataset(random_returns(0, 9, 0), {12: 3.0, 6: 8.0}, name="mine", seeds=2)
        original.save(tmp_path / "d.npz")
        loaded = TransferDataset.load(tmp_path / "d.npz")
        assert loaded.space == SPACE
        assert np.array_equal(loaded.returns, original.returns)
        assert np.array_equal(loaded.source_returns, original.source_returns)
        assert np.array_equal(loaded.episode_variance, original.episode_variance)
        assert list(loaded.multi_task) == [6, 12]
        assert (loaded.multi_task[6] == 8.0).all()
        assert (loaded.multi_task[12] == 3.0).all()
        assert loaded.card == {"name": "mine", "seeds": 2}
        assert loaded.name == "mine"

    def test_the_same_bytes(self, tmp_path):
        for name, cost in (("one", 1), ("other", 2)):
            dataset(random_returns(0, 1), {6: 0.5}, cost=cost).save(tmp_path / f"{name}.npz")
        assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


class TestReturnsAsWholeNumbers:
    @given(
        st.integers(1, 100),
        st.integers(-(10**9), 10**9),
        st.lists(st.integers(0, LARGEST_CODE), min_size=32, max_size=32),
    )
    def test_means_of_whole_returns_are_exact(self, tmp_path_factory, episodes, low, above):
        returns = (low + np.reshape(above, (2, 4, 4))) / episodes
        path = tmp_path_factory.getbasetemp() / "exact.npz"
        dataset(returns, recipe={"episodes": episodes}).save(path)
        assert np.array_equal(TransferDataset.load(path).returns, returns)

    @given(st.floats(-1e12, 1e12), st.floats(1e-3, 1e12), st.integers(0, 9))
    def test_others_are_close(self, tmp_path_factory, low, width, seed):
        returns = random_returns(low, low + width, seed=seed)
        path = tmp_path_factory.getbasetemp() / "close.npz"
        dataset(returns).save(path)
        loaded = TransferDataset.load(path).returns
        span = returns.max() - returns.min()
        digits = np.spacing(np.abs(returns).max())
        assert np.abs(loaded - returns).max() <= 0.5 * span / LARGEST_CODE + 2 * digits
        order = np.argsort(returns, axis=None)
        assert (np.diff(loaded.ravel()[order]) >= 0).all()

    @pytest.mark.parametrize("value", [0.0, 500.0, -200.0, 1 / 3, -1e-300, 1e300, -1.7e308, 5e17])
    def test_constant(self, value, tmp_path):
        assert (saved(tmp_path, value, {6: value}, recipe={"episodes": 10}).returns == value).all()


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path):
        dataset(random_returns(0, 1), {6: 0.5}, seeds=2).save(tmp_path / "d.npz")
        return tmp_path / "d.npz"

    def test_no_card(self, path):
        path.with_suffix(".json").unlink()
        with pytest.raises(MatrixError, match=r"The card of .* is missing: d.json"):
            TransferDataset.load(path)

    @pytest.mark.parametrize("text", ["", "{", "5", "[3]", "\xff"])
    def test_damaged_card(self, text, path):
        path.with_suffix(".json").write_bytes(text.encode("latin-1"))
        with pytest.raises(MatrixError, match="d.json is damaged"):
            TransferDataset.load(path)

    def test_card_of_another_time(self, path):
        path.with_suffix(".json").write_text(json.dumps({"seeds": 3}))
        with pytest.raises(MatrixError, match="d.json is the card of 3 seeds, but .*npz has 2"):
            TransferDataset.load(path)

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("code", np.zeros(3)),
            ("code", np.array([1e308, 0.1])),
            ("returns", np.zeros((2, 4, 3), dtype=np.uint16)),
            ("source_returns", np.zeros(4)),
            ("multi_task", np.zeros((3, 2, 4), dtype=np.uint16)),
            ("multi_task_budgets", np.array(6)),
        ],
    )
    def test_damaged_arrays(self, name, array, path):
        space, arrays = load_arrays(path, kind=KIND, arrays=_ARRAYS)
        save_arrays(path, kind=KIND, space=space, arrays={**arrays, name: array})
        with pytest.raises(MatrixError, match=r"d\.npz.*damaged"):
            TransferDataset.load(path)
