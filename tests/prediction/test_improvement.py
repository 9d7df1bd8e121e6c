"""Bounded expected improvement against integration, and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sdmbtl.prediction.improvement import bounded_improvement


def improvement(mean, deviation, best, ceiling):
    return float(
        bounded_improvement(
            np.array([[mean]]), np.array([[deviation]]), np.array([best]), np.array([[ceiling]])
        )[0, 0]
    )


@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.9, 2.0, 7.0])
@pytest.mark.parametrize("deviation", [0.3, 2.0])
@pytest.mark.parametrize(("best", "ceiling"), [(0.0, 1.0), (-1.0, 3.0), (0.5, 0.5)])
def test_equals_the_integral(mean, deviation, best, ceiling):
    density = stats.norm(mean, deviation)
    inside, _ = integrate.quad(lambda v: (v - best) * density.pdf(v), best, ceiling)
    expected = inside + (ceiling - best) * density.sf(ceiling)
    assert improvement(mean, deviation, best, ceiling) == pytest.approx(expected, abs=1e-9)


def test_equals_the_mean_of_many_draws():
    draws = np.random.default_rng(0).normal(0.4, 0.8, size=400_000)
    expected = np.maximum(np.minimum(draws, 1.0) - 0.2, 0.0).mean()
    assert improvement(0.4, 0.8, 0.2, 1.0) == pytest.approx(expected, rel=0.01)


@given(st.floats(-1e3, 1e3), st.floats(1e-4, 1e3), st.floats(-1e3, 1e3), st.floats(0.0, 1e3))
@settings(deadline=None)
def test_lies_between_nothing_and_all_there_is(mean, deviation, best, room):
    value = improvement(mean, deviation, best, best + room)
    assert -1e-9 <= value <= room + 1e-9


@given(st.floats(-10, 10), st.floats(0.1, 10), st.floats(-10, 10), st.floats(0.1, 10))
@settings(deadline=None)
def test_more_is_expected_of_better_policies(mean, deviation, best, room):
    low = improvement(mean, deviation, best, best + room)
    high = improvement(mean + 0.5, deviation, best, best + room)
    assert high >= low - 1e-12


@pytest.mark.parametrize(
    ("mean", "expected"), [(-1.0, 0.0), (0.0, 0.0), (0.3, 0.3), (1.0, 1.0), (5.0, 1.0)]
)
def test_a_small_deviation_leaves_what_the_mean_says(mean, expected):
    assert improvement(mean, 1e-9, 0.0, 1.0) == pytest.approx(expected, abs=1e-8)


def test_a_ceiling_that_is_out_of_reach_changes_nothing():
    z = 0.3 / 0.7
    plain = 0.3 * stats.norm.cdf(z) + 0.7 * stats.norm.pdf(z)
    assert improvement(0.3, 0.7, 0.0, 100.0) == pytest.approx(plain)


def test_nothing_is_left_to_gain_at_the_ceiling():
    assert improvement(5.0, 2.0, 1.0, 1.0) == 0.0


def test_shapes():
    mean, deviation = np.zeros((3, 4)), np.ones((3, 1))
    best, ceiling = np.arange(4.0), np.full((3, 4), 9.0)
    table = bounded_improvement(mean, deviation, best, ceiling)
    assert table.shape == (3, 4)
    for j in range(4):
        np.testing.assert_allclose(table[:, j], improvement(0.0, 1.0, best[j], 9.0))
    np.testing.assert_array_equal(bounded_improvement(mean, deviation, best, 9.0), table)
    assert (mean == 0.0).all(), "the arguments stay as they are"


def test_deviations_by_row():
    table = bounded_improvement(np.zeros((2, 1)), np.array([[0.5], [2.0]]), np.zeros(1), 9.0)
    np.testing.assert_allclose(table[:, 0], [0.5 * stats.norm.pdf(0), 2 * stats.norm.pdf(0)], 1e-4)


def test_a_best_return_above_the_ceiling_leaves_nothing_to_gain():
    # It happens with pending policies: the best return expected of them may pass the ceiling.
    assert improvement(0.0, 1.0, 2.0, 1.0) == 0.0
