"""Objectives by hand, their linearisation, and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.errors import SelectorError
from sdmbtl.transfer import Objective

KINDS = ("mean", "cvar:0.1", "cvar:0.35", "worst", "share:0.9")
RANGE = (0.0, 10.0)
VALUES = st.lists(st.integers(0, 10), min_size=2, max_size=12)


@pytest.mark.parametrize(
    ("name", "value"),
    [("mean", 5.25), ("cvar:0.25", 1.0), ("cvar:0.5", 1.5), ("cvar:1", 5.25), ("share:0.8", 0.5)],
)
def test_by_hand(name, value):
    best = np.array([8.0, 1.0, 10.0, 2.0])
    assert Objective.of(name).value(best, None, RANGE) == pytest.approx(value)


def test_the_lowest_target_is_smoothed():
    objective = Objective.of("worst")
    assert objective.value(np.array([1.0, 9.0, 9.0]), None, RANGE) == pytest.approx(1.0, abs=1e-5)
    assert 1.0 < objective.value(np.array([1.0, 1.5, 9.0]), None, RANGE) < 1.25


@given(st.sampled_from(KINDS), VALUES, st.integers(0, 99))
def test_properties(name, values, seed):
    objective, rng = Objective.of(name), np.random.default_rng(seed)
    best, weights = np.array(values, dtype=float), rng.dirichlet(np.ones(len(values)))
    value, worth = (f(best, weights, RANGE) for f in (objective.value, objective.weights))
    order = rng.permutation(len(best))
    assert objective.value(best[order], weights[order], RANGE) == pytest.approx(value)
    assert objective.weights(best[order], weights[order], RANGE) == pytest.approx(worth[order])
    absent = np.append(best, rng.integers(0, 11)), np.append(weights, 0.0), RANGE
    assert objective.value(*absent) == pytest.approx(value)
    assert objective.weights(*absent)[:-1] == pytest.approx(worth)
    even = np.full(len(best), 1 / len(best))
    assert objective.value(best, even, RANGE) == pytest.approx(objective.value(best, None, RANGE))
    assert worth.sum() == pytest.approx(1.0)


@given(VALUES, st.integers(0, 99))
def test_the_worth_of_a_target_is_the_gradient_of_the_worst_part(values, seed):
    """Of a concave objective the linearisation is exact for small changes, and never too small."""
    objective, rng = Objective.of("cvar:0.35"), np.random.default_rng(seed)
    best = np.array(values) + rng.random(len(values))  # no two are equal
    weights = rng.dirichlet(np.ones(len(best)))
    value, worth = (f(best, weights, RANGE) for f in (objective.value, objective.weights))
    rise = rng.random(len(best))
    gained = objective.value(best + rise, weights, RANGE) - value
    assert gained <= worth @ rise + 1e-9
    small = 1e-7 * rise
    assert objective.value(best + small, weights, RANGE) - value == pytest.approx(
        worth @ small, abs=1e-13 + 1e-9 * value
    )


def test_a_reached_share_leaves_the_mean():
    weights = Objective.of("share:0.5").weights(np.array([6.0, 7.0]), None, RANGE)
    assert weights is None


@pytest.mark.parametrize(
    "name", ["median", "cvar", "cvar:", "cvar:0", "cvar:2", "cvar:x", "mean:1", "share:nan", 3]
)
def test_unknown_objectives_are_refused(name):
    with pytest.raises(SelectorError, match="objective"):
        Objective.of(name)
