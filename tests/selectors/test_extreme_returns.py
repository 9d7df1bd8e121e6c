"""Any finite returns: every selector works, and their unit changes no choice."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl import ContextSpace
from sdmbtl.selectors import MyopicOracle, make_selector, selector_names
from sdmbtl.transfer import bounded, mean_of, scale_of

SPACE = ContextSpace(a=range(3), b=range(3))
NAMES = [name for name in selector_names() if "oracle" not in name]
LARGEST = 1.7e308
EXTREMES = [0.0, 5e-324, -1e-310, 1e-300, -1.0, 3.0, 1e155, -1e200, 1e300, LARGEST, -LARGEST]

#: Few different numbers give ties and constant rows, many give anything.
values = st.sampled_from(EXTREMES) | st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(values, min_size=len(SPACE), max_size=len(SPACE))
usual = st.integers(-(10**6), 10**6).map(lambda n: n / 64.0)
usual_rows = st.lists(usual, min_size=len(SPACE), max_size=len(SPACE))


def told(name, given_rows, factor=1.0, return_range=None):
    """A selector that was told some rows, and the contexts that it asked for."""
    selector = make_selector(name, SPACE, seed=1)
    selector.return_range = return_range
    asked = []
    for row in given_rows:
        trial = selector.ask()
        asked.append((trial.source, trial.strategy, trial.structure, trial.model))
        selector.tell(trial, np.array(row) * factor)
    return selector, asked


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(st.lists(rows, min_size=1, max_size=7), st.sampled_from([None, (0.0, 500.0), (-1e300, 0.0)]))
def test_any_finite_rows(name, given_rows, return_range):
    selector, _ = told(name, given_rows, return_range=return_range)
    trial = selector.ask()
    json.dumps(trial.to_dict(), allow_nan=False)
    assert math.isfinite(selector.performance)
    gain = selector.remaining_gain()
    assert gain is None or math.isfinite(gain)
    assert all(0 <= entry["score"] <= 1 + 1e-9 for entry in selector.evidence())
    selector.failed_runs()
    best = np.max(given_rows, axis=0)
    assert best.min() <= selector.performance <= best.max()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(st.lists(usual_rows, min_size=1, max_size=6), st.sampled_from([-1030, -400, -60, 60, 990]))
def test_a_power_of_two_changes_no_choice(name, given_rows, power):
    factor = math.ldexp(1.0, power)
    if not np.array_equal(np.array(given_rows) * factor / factor, given_rows):
        return  # digits are lost below the smallest number, which is another matrix
    before, usually = told(name, given_rows)
    after, asked = told(name, given_rows, factor)
    assert asked == usually
    assert after.ask().source == before.ask().source


@pytest.mark.parametrize("factor", [2.0**-700, 1.0, 2.0**900])
def test_a_gain_is_in_units_of_the_returns(factor):
    returns = np.random.default_rng(0).normal(size=(6, 9))
    selector, _ = told("auto", returns, factor)
    usual_one, _ = told("auto", returns)
    trial, expected = selector.ask(), usual_one.ask()
    assert trial.expected_gain == expected.expected_gain * factor
    assert selector.remaining_gain() == usual_one.remaining_gain() * factor
    errors = [entry["error"] for entry in usual_one.evidence()]
    scaled = [entry["error"] for entry in selector.evidence()]
    assert np.allclose(scaled, np.array(errors) * factor, atol=0.0)
    assert ("in units of" in trial.reason) == (factor != 1.0) == ("unit" in trial.numbers)


def test_what_is_known_of_the_targets_is_scaled_too():
    difficulty = np.arange(9.0)
    chosen = []
    for factor in (1.0, 2.0**800):
        options = {"difficulty": difficulty * factor, "falls": {"a": 1.0}}
        selector = make_selector("auto", SPACE, **options)
        selector.tell(selector.ask(), (difficulty - np.arange(9) ** 2) * factor)
        chosen.append(selector.ask().source)
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**1000])
def test_an_oracle(factor):
    matrix = np.random.default_rng(0).normal(size=(9, 9))
    chosen = []
    for each in (matrix, matrix * factor):
        oracle = MyopicOracle(SPACE, each)
        trials = []
        for _ in range(9):
            trials.append(oracle.ask())
            oracle.tell(trials[-1], each[trials[-1].index])
        chosen.append([t.index for t in trials])
    assert chosen[0] == chosen[1]


def test_usual_returns_are_not_touched():
    selector, _ = told("auto", np.random.default_rng(0).normal(size=(3, 9)) * 1e30)
    assert selector.history.scaled() is selector.history
    assert selector.rows.scaled() is selector.rows


def test_means_of_the_largest_numbers():
    assert mean_of(np.full(7, LARGEST)) == LARGEST
    assert mean_of(np.array([LARGEST, -LARGEST])) == 0.0
    assert mean_of(np.array([np.nan, 2.0, 4.0])) == 3.0
    assert math.isnan(mean_of(np.array([np.nan])))
    assert bounded(math.inf) == np.finfo(float).max
    assert math.isnan(bounded(math.nan))


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e155, LARGEST])
def test_a_scale_brings_returns_near_one(value):
    scale = scale_of([0.0, -value, np.nan])
    assert 1 <= value / scale < 2
    assert math.frexp(scale)[0] == 0.5
    assert scale_of([]) == scale_of([0.0]) == scale_of([np.nan]) == 1.0
