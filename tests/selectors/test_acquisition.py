"""Expected improvement against integration, and its limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from sdmbtl.selectors.acquisition import expected_improvement, mean_improvement


def improvement(mean, deviation, best, ceiling):
    above, beyond = np.array([[mean - best]]), np.array([[mean - ceiling]])
    return float(expected_improvement(above, np.array([[deviation]]), beyond)[0, 0])


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
def test_lies_between_nothing_and_all_there_is(mean, deviation, best, room):
    value = improvement(mean, deviation, best, best + room)
    assert -1e-9 <= value <= room + 1e-9


def test_a_ceiling_that_is_out_of_reach_changes_nothing():
    z = 0.3 / 0.7
    plain = 0.3 * stats.norm.cdf(z) + 0.7 * stats.norm.pdf(z)
    assert improvement(0.3, 0.7, 0.0, 100.0) == pytest.approx(plain)


def test_nothing_is_left_to_gain_at_the_ceiling():
    assert improvement(5.0, 2.0, 1.0, 1.0) == 0.0


class TestNoDeviation:
    """GP-MBTL's gain: the expected return is what comes."""

    ABOVE = np.array([[-1.0, 0.0, 0.3], [5.0, 1.0, -0.1]])

    @pytest.mark.parametrize("room", [0.5, np.array([0.1, 9.0, 0.2])])
    def test_is_the_limit_of_small_deviations(self, room):
        for beyond, highest in ((None, np.inf), (self.ABOVE - room, room)):
            exact = expected_improvement(self.ABOVE, 0.0, beyond)
            np.testing.assert_allclose(exact, np.clip(self.ABOVE, 0.0, highest), atol=1e-15)
            close = expected_improvement(self.ABOVE, np.full((2, 1), 1e-9), beyond)
            np.testing.assert_allclose(close, exact, atol=1e-8)

    def test_in_some_rows_only(self):
        mixed = expected_improvement(self.ABOVE, np.array([[0.0], [2.0]]))
        np.testing.assert_array_equal(mixed[0], expected_improvement(self.ABOVE[0]))
        np.testing.assert_array_equal(
            mixed[1:], expected_improvement(self.ABOVE[1:], np.array([[2.0]]))
        )

    def test_means_over_targets_come_in_blocks(self):
        blocks = [(slice(0, 1), self.ABOVE[:1]), (slice(1, 2), self.ABOVE[1:])]
        np.testing.assert_allclose(mean_improvement(blocks, 2), [0.1, 2.0])
