"""The oracles against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl_lab.matrices.oracle_selector import (
    MyopicOracle,
    SequentialOracle,
    oracle_sequence,
)


def brute_force(returns, rounds):
    chosen = []
    for _ in range(rounds):
        means = [
            -np.inf if i in chosen else returns[:, [*chosen, i]].max(axis=1).mean()
            for i in range(returns.shape[1])
        ]
        best = max(means)
        chosen.append(next(i for i, m in enumerate(means) if m >= best - 1e-9 * abs(best)))
    return chosen


@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_lazy_gains_choose_what_brute_force_chooses(seed, trials, ties):
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(trials, 25, 25))
    if ties:
        returns = np.round(returns)
    assert oracle_sequence(returns, 25) == brute_force(returns, 25)


def test_one_sequence_for_all_trials_or_one_for_each():
    rng = np.random.default_rng(0)
    space = ContextSpace(a=range(5), b=range(4))
    matrices = rng.normal(size=(3, 20, 20))
    myopic = MyopicOracle(space, matrices)
    sequential = SequentialOracle(space, matrices[1])
    for selector, returns in ((myopic, matrices), (sequential, matrices[1:2])):
        asked = []
        for _ in range(20):
            trial = selector.ask()
            asked.append(trial.index)
            selector.tell(trial, matrices[1][trial.index])
        assert asked == brute_force(returns, 20)


def test_oracle_takes_reported_rows_into_account():
    rng = np.random.default_rng(1)
    space = ContextSpace(a=range(12))
    matrix = rng.normal(size=(12, 12))
    selector = SequentialOracle(space, matrix)
    selector.tell({"a": 7}, matrix[7])
    gains = np.maximum(matrix - matrix[7], 0).mean(axis=1)
    gains[7] = -1
    assert selector.ask().index == int(np.argmax(gains))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (4,), (0, 4, 4)])
def test_returns_of_another_shape(shape):
    with pytest.raises(SelectorError, match=r"shape \(trials, 4, 4\) for 4 targets\. Got shape"):
        MyopicOracle(ContextSpace(a=range(4)), np.zeros(shape))
