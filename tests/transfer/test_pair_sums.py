"""Sums over complete rows against explicit dummy variables for every pair."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.transfer.slopes import PairSums, signed_differences

GRID = ContextSpace(a=[0, 1, 2, 5], b=[30, 10, 20])
LINE = ContextSpace(a=range(9))


def random_case(seed=0, k=5, space=GRID, level=500.0):
    """(k, D) sources, most of them no targets, and (k, N) returns of pure noise."""
    rng = np.random.default_rng(seed)
    sources = np.vstack([space.unit_targets[:1], rng.random((k - 1, space.n_dimensions))])
    return sources, rng.normal(level, 10.0, size=(k, len(space)))


def sums_of(space, sources, returns):
    return PairSums.empty(space).extended(sources, returns)


def dummies(k, n):
    """(k N, N) an intercept for each target."""
    return np.tile(np.eye(n), (k, 1))


def residual(columns, design):
    """What a least-squares fit of the design leaves of the columns."""
    return columns - design @ np.linalg.lstsq(design, columns, rcond=None)[0]


def features_of(space, sources):
    return np.vstack([signed_differences(source, space.unit_targets) for source in sources])


SPACES = {
    "grid": GRID,
    "line": LINE,
    "listed": ContextSpace.sample(11, seed=3, u=Interval(0, 1), v=Interval(0, 1)),
    "constant dimension": ContextSpace(a=range(5), b=[2.0]),
}


@pytest.mark.parametrize("name", SPACES)
def test_normal_equations_are_those_of_dummy_variables(name):
    space = SPACES[name]
    sources, returns = random_case(space=space)
    normal, moment = sums_of(space, sources, returns).regression("within")
    design = dummies(len(sources), len(space))
    features = residual(features_of(space, sources), design)
    left = residual(returns.ravel(), design)
    np.testing.assert_allclose(normal, features.T @ features, atol=1e-9)
    np.testing.assert_allclose(moment, features.T @ left, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_those_of_the_regression_on_all_pairs(seed):
    sources, returns = random_case(seed)
    normal, moment = sums_of(GRID, sources, returns).regression("within")
    design = np.hstack([features_of(GRID, sources), dummies(len(sources), len(GRID))])
    explicit = np.linalg.lstsq(design, returns.ravel(), rcond=None)[0][: 2 * GRID.n_dimensions]
    np.testing.assert_allclose(np.linalg.solve(normal, moment), explicit, rtol=1e-8)


def test_a_row_is_added_without_touching_what_was_there():
    sources, returns = random_case(k=3)
    two = sums_of(GRID, sources[:2], returns[:2])
    before = two.regression("within")
    three = two.added(sources[2], returns[2])
    assert (two.counts[0], three.counts[0]) == (2, 3)
    for one, other in zip(before, two.regression("within"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_returns_far_from_zero_cost_no_digits():
    sources, returns = random_case(level=0.0)
    returns = np.round(returns * 1024) / 1024  # exact, with 1e9 added too
    near = sums_of(GRID, sources, returns).regression("within")
    far = sums_of(GRID, sources, returns + 1e9).regression("within")
    for one, other in zip(near, far, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
