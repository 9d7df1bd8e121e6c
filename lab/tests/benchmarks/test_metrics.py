"""Metrics against closed forms, brute force, simulation and their symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks import metrics
from sdmbtl_lab.benchmarks.metrics import (
    ConfidenceInterval,
    aggregated_performance,
    bootstrap_interval,
    interquartile_mean,
    rounds_to_suboptimal,
    shares_of_rounds,
)

RANDOM = {"a": 0.0, "b": 0.5}
ORACLE = {"a": 1.0, "b": 0.7}


@pytest.fixture
def many_resamples(monkeypatch):
    """Enough that the bootstrap shows the distribution it draws from."""
    monkeypatch.setattr(metrics, "RESAMPLES", 20_000)


class TestInterquartileMean:
    @pytest.mark.parametrize("size", [4, 8, 12, 100])
    def test_is_the_trimmed_mean_where_quarters_are_whole(self, size):
        values = np.random.default_rng(size).normal(size=size)
        assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 9, 10, 11, 101])
    def test_fractional_weights_are_those_of_the_sample_repeated_four_times(self, size):
        values = np.random.default_rng(size).normal(size=size)
        expected = stats.trim_mean(np.repeat(values, 4), 0.25)
        assert interquartile_mean(values) == pytest.approx(expected)


class TestBootstrap:
    @pytest.mark.usefixtures("many_resamples")
    def test_mean_interval_is_the_normal_one_for_many_values(self):
        values = np.random.default_rng(3).normal(2.0, 0.5, size=400)
        got = bootstrap_interval(values)
        error = values.std() / 20
        assert got.estimate == pytest.approx(values.mean())
        assert got.low == pytest.approx(values.mean() - 1.96 * error, abs=0.06 * error)
        assert got.high == pytest.approx(values.mean() + 1.96 * error, abs=0.06 * error)

    def test_two_values_have_the_exact_distribution(self):
        # Means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4.
        assert bootstrap_interval([0.0, 1.0]) == ConfidenceInterval(0.5, 0.0, 1.0)

    def test_uses_the_statistic(self):
        values = [0.0, 0.0, 0.0, 0.0, 1000.0]
        assert bootstrap_interval(values, np.median).estimate == 0.0
        assert bootstrap_interval(values, interquartile_mean).estimate == 0.0
        assert bootstrap_interval(values).estimate == 200.0
        assert bootstrap_interval(values, np.max).high == 1000.0


class TestAggregatedPerformance:
    def test_is_the_mean_of_configurations_not_of_trials(self):
        got = aggregated_performance({"a": [0.2] * 9, "b": [0.6]}, RANDOM, ORACLE)
        assert got.estimate == pytest.approx((0.2 + 0.5) / 2)
        assert got.half_width == pytest.approx(0.0, abs=1e-12)

    def test_interval_is_stratified(self):
        # Far apart but constant within: mixing the configurations would give a wide interval.
        trials = {"a": [0.0] * 5, "b": [0.7] * 5}
        got = aggregated_performance(trials, RANDOM, ORACLE)
        assert (got.low, got.estimate, got.high) == pytest.approx((0.5, 0.5, 0.5))

    @pytest.mark.usefixtures("many_resamples")
    def test_width_is_that_of_independent_strata(self):
        rng = np.random.default_rng(0)
        trials = {"a": rng.normal(0.5, 0.1, 200), "b": rng.normal(0.6, 0.04, 100)}
        got = aggregated_performance(trials, RANDOM, ORACLE)
        variance = trials["a"].var() / 200 + (trials["b"] / 0.2).var() / 100
        assert got.half_width == pytest.approx(1.96 * np.sqrt(variance) / 2, rel=0.03)

    def test_errors(self):
        with pytest.raises(BenchmarkError, match=r"'a': .* 0.5 and the oracle 0.50000000000001"):
            aggregated_performance({"a": [1]}, {"a": 0.5}, {"a": 0.5 + 1e-14})


class TestRoundsToSuboptimal:
    CURVES = ((0.5, 0.8, 0.9, 1.0), (0.9, 0.9, 0.9, 0.9), (0.1, 0.2, 0.3, 0.4))

    @pytest.mark.parametrize(
        ("epsilon", "expected"),
        [
            (0.0, [4, np.nan, np.nan]),
            (0.1, [3, 1, np.nan]),
            (0.15, [3, 1, np.nan]),
            (0.2, [2, 1, np.nan]),
            (0.6, [1, 1, 4]),
            (1.0, [1, 1, 1]),
        ],
    )
    def test_first_round_that_reaches_the_threshold(self, epsilon, expected):
        np.testing.assert_array_equal(rounds_to_suboptimal(self.CURVES, 1.0, epsilon), expected)

    def test_threshold_is_relative_to_the_reference(self):
        # 0.8 * 0.5 = 0.4 is reached; the absolute 0.5 - 0.2 = 0.3 would be reached a round earlier.
        got = rounds_to_suboptimal([0.1, 0.3, 0.4], reference=0.5, epsilon=0.2)
        assert float(got) == 3

    def test_rounding_does_not_decide(self):
        assert float(rounds_to_suboptimal([0.0, 0.1 * 3], 0.3 + 1e-16, 0.0)) == 2
        assert float(rounds_to_suboptimal([0.0, 0.3], 0.1 * 3, 0.0)) == 2
        assert np.isnan(float(rounds_to_suboptimal([0.0, 0.3], 0.3 + 1e-9, 0.0)))


class TestSharesOfRounds:
    def test_pools_rounds_of_trials_of_different_length(self):
        trials = [["m", "m", "gp"], ["gp"], ["m", "x", "x", "x"]]
        assert shares_of_rounds(trials) == {"gp": 0.25, "m": 0.375, "x": 0.375}
        assert shares_of_rounds(trials, skip=1) == {"gp": 0.2, "m": 0.2, "x": 0.6}
        assert list(shares_of_rounds(trials)) == ["gp", "m", "x"]

    def test_no_rounds_have_no_shares(self):
        assert shares_of_rounds([["m", "m"], ["gp"]], skip=2) == {}
        assert shares_of_rounds([]) == {}
