"""A selector on the seeds of a data set, and on matrices that are drawn from them."""

import numpy as np

from sdmbtl import ContextSpace, make_selector
from sdmbtl_lab.benchmarks import measure_distribution, simulate
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices

SPACE = ContextSpace(a=range(4), b=range(3))


def data_set(returns):
    own = returns.diagonal(axis1=1, axis2=2).copy()
    card = {"name": "mine"}
    return TransferDataset(TransferMatrices(SPACE, returns), own, np.zeros(own.shape), card=card)


def test_on_each_seed_it_is_the_simulation():
    returns = np.random.default_rng(0).uniform(0, 1, (3, 12, 12))
    returns[0, 0, :2] = 0, 1  # so that 0 and 1 are the range already
    found = measure_distribution(data_set(returns), "m-mbtl", policies=4, matrices=5)
    runs = [simulate(make_selector("m-mbtl", SPACE, seed=0), one, 4).curve[-1] for one in returns]
    np.testing.assert_allclose(found.real, runs)
    assert found.drawn.shape == (5,)
    assert len(set(found.drawn)) > 1


def test_drawn_from_equal_seeds_all_are_the_same():
    returns = np.tile(np.random.default_rng(0).normal(10, 5, (12, 12)), (2, 1, 1))
    found = measure_distribution(data_set(returns), "m-mbtl", policies=3, matrices=4)
    assert len({*found.real, *found.drawn}) == 1
    assert 0 < found.real[0] <= 1
