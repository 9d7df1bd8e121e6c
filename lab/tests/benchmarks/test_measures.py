"""CPU time of selectors, and their performance on seeds and on resampled matrices."""

import time

import numpy as np

from sdmbtl import ContextSpace, make_selector
from sdmbtl_lab.benchmarks import measure_cpu_time, measure_distribution, measures, simulate
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices, load_matrix

SPACE = ContextSpace(a=range(4), b=range(3))


def data_set(returns):
    own = returns.diagonal(axis1=1, axis2=2).copy()
    card = {"name": "mine"}
    return TransferDataset(TransferMatrices(SPACE, returns), own, np.zeros(own.shape), card=card)


def test_cpu_time_is_that_of_ask_and_tell(monkeypatch):
    """The clock only moves while the selector works."""
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])

    def slow_selector(name, space, seed):
        selector = make_selector(name, space, seed=seed)
        ask, tell = selector.ask, selector.tell

        def slow_ask():
            clock[0] += 1.0
            return ask()

        def slow_tell(trial, row):
            clock[0] += 0.5
            return tell(trial, row)

        selector.ask, selector.tell = slow_ask, slow_tell
        return selector

    monkeypatch.setattr(measures, "make_selector", slow_selector)
    found = measure_cpu_time(load_matrix("bipedal-walker"), ("random", "m-mbtl"), policies=4)
    assert (found.data, found.targets) == ("bipedal-walker", 27)
    for seconds in found.seconds.values():
        np.testing.assert_array_equal(seconds, [1.5] * 4)


def test_performance_on_each_seed_is_that_of_the_simulation():
    returns = np.random.default_rng(0).uniform(0, 1, (3, 12, 12))
    returns[0, 0, :2] = 0, 1  # so that 0 and 1 are the range already
    found = measure_distribution(data_set(returns), "m-mbtl", policies=4, matrices=5)
    runs = [simulate(make_selector("m-mbtl", SPACE, seed=0), one, 4).curve[-1] for one in returns]
    np.testing.assert_allclose(found.real, runs)
    assert found.drawn.shape == (5,)
    assert len(set(found.drawn)) > 1


def test_matrices_drawn_from_equal_seeds_are_equal():
    returns = np.tile(np.random.default_rng(0).normal(10, 5, (12, 12)), (2, 1, 1))
    found = measure_distribution(data_set(returns), "m-mbtl", policies=3, matrices=4)
    assert len({*found.real, *found.drawn}) == 1
