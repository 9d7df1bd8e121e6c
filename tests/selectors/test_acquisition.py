"""Expected improvement against integration, and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sdmbtl.selectors import acquisition as acquisition_module
from sdmbtl.selectors.acquisition import (
    expected_improvement,
    mean_improvement,
    predicted_gains,
    predicted_gains_and_row,
    predicted_improvement,
)
from sdmbtl.selectors.models import FittedModel, RowPrediction

UNITS = np.random.default_rng(5).random((17, 2))


def improvement(mean, deviation, best, ceiling):
    return float(
        predicted_improvement(
            RowPrediction(np.array([[mean]]), np.array([deviation**2]), np.array([[ceiling]])),
            np.array([best]),
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


def test_a_best_return_above_the_ceiling_leaves_nothing_to_gain():
    # It happens with pending policies: the best return expected of them may pass the ceiling.
    assert improvement(0.0, 1.0, 2.0, 1.0) == 0.0


class Wave(FittedModel):
    """Returns that are sines of source and target: each source gains elsewhere."""

    def predict(self, sources, targets):
        mean = np.sin(7 * sources.sum(axis=1)[:, None] + UNITS[targets].sum(axis=1))
        return RowPrediction(mean, np.full(len(sources), 0.04), np.ones_like(mean))

    def explain(self):
        return "waves"


class TestLargestGain:
    @pytest.mark.parametrize("block", [1, 20, 45, 10_000], ids=lambda size: f"blocks of {size}")
    def test_is_that_of_all_sources_with_its_row(self, block, monkeypatch):
        monkeypatch.setattr(acquisition_module, "BLOCK", block)
        sources, best = np.random.default_rng(3).random((31, 2)), np.linspace(-0.5, 0.5, len(UNITS))
        table = predicted_improvement(Wave().predict(sources, slice(None)), best)
        gains, largest, row = predicted_gains_and_row(Wave(), sources, best)
        np.testing.assert_array_equal(gains, predicted_gains(Wave(), sources, best))
        np.testing.assert_allclose(gains, table.mean(axis=1))
        assert largest == table.mean(axis=1).argmax() not in (0, 30)
        np.testing.assert_allclose(row, table[largest])

    @pytest.mark.parametrize("block", [1, 10_000])
    def test_of_equal_ones_the_first(self, block, monkeypatch):
        monkeypatch.setattr(acquisition_module, "BLOCK", block)
        gains, largest, row = predicted_gains_and_row(
            Wave(), np.full((4, 2), 0.3), np.full(len(UNITS), 9.0)
        )
        assert largest == 0
        assert len(gains) == 4
        assert len(row) == len(UNITS)
