"""The CPU time of selectors: as many rounds as were asked for, and those of the selector itself."""

import time

import numpy as np

from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks import cpu_time, measure_cpu_time
from sdmbtl_lab.matrices import load_matrix


def test_every_round_of_every_selector():
    dataset = load_matrix("bipedal-walker")
    found = measure_cpu_time(dataset, ("random", "m-mbtl"), policies=3)
    assert (found.data, found.targets) == ("bipedal-walker", 27)
    assert {name: seconds.shape for name, seconds in found.seconds.items()} == {
        "random": (3,),
        "m-mbtl": (3,),
    }
    assert all((seconds >= 0).all() for seconds in found.seconds.values())


def test_what_counts_is_choosing_and_taking_in(monkeypatch):
    """A clock that only moves while the selector works."""
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

    monkeypatch.setattr(cpu_time, "make_selector", slow_selector)
    found = measure_cpu_time(load_matrix("bipedal-walker"), ("random",), policies=4)
    np.testing.assert_array_equal(found.seconds["random"], [1.5] * 4)
