"""Failed training runs: likelihoods against dense matrices, and which rows are called failures."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models.failures import (
    FAILING,
    LEAST_EVALUATED,
    LEAST_NOISE,
    _qualities,
    _Sample,
    find_failed_runs,
    low_outliers,
)
from sdmbtl.selectors.models.smooth_effect import JITTER, LENGTHS, NOISES, smooth_kernel
from sdmbtl.transfer import ObservedRows

GRID = ContextSpace(a=range(6), b=range(5))
N = len(GRID)


def log_likelihood(points, values, outliers):
    """Of some values as a sample of the process and the others as failures, by dense matrices."""
    kept = ~outliers
    points, centred = points[kept], values[kept] - values[kept].mean()
    half = 0.5 * (len(centred) - 1)
    fits = []
    for length, noise in itertools.product(LENGTHS, NOISES):
        covariance = (1 - noise) * smooth_kernel(points, points, length)
        covariance += (noise + JITTER) * np.eye(len(points))
        square = max(centred @ np.linalg.inv(covariance) @ centred, 2 * half * LEAST_NOISE**2)
        fits.append(
            gammaln(half) - half * np.log(np.pi * square) - 0.5 * np.linalg.slogdet(covariance)[1]
        )
    prior = outliers.sum() * np.log(FAILING) + kept.sum() * np.log(1 - FAILING)
    return np.log(np.mean(np.exp(fits))) + prior


def slope_with(failures, k=12, drop=0.5, noise=0.01):
    """Values on a slope, some of them far below it."""
    points = np.linspace(0, 1, k)[:, None]
    values = 0.2 * points[:, 0] + noise * np.random.default_rng(0).normal(size=k)
    values[list(failures)] -= drop
    return points, values


def found(points, values):
    return np.flatnonzero(low_outliers(points, values)).tolist()


class TestLikelihood:
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_dense_matrices_after_each_removal(self, seed):
        rng = np.random.default_rng(seed)
        points, values = rng.random((7, 2)), 0.2 * rng.normal(size=7)
        sample = _Sample(points, values)
        for removed in range(4):
            assert sample.removed.sum() == removed
            expected = log_likelihood(points, values, sample.removed)
            assert sample.log_likelihood() == pytest.approx(expected, rel=1e-6)
            sample.remove_lowest()

    @pytest.mark.parametrize("seed", range(4))
    def test_the_lowest_is_that_of_leave_one_out(self, seed):
        rng = np.random.default_rng(seed)
        points, values = rng.random((6, 2)), 0.2 * rng.normal(size=6)
        sample = _Sample(points, values)
        length, noise = list(itertools.product(LENGTHS, NOISES))[int(sample._fits.argmax())]
        covariance = (1 - noise) * smooth_kernel(points, points, length)
        covariance += (noise + JITTER) * np.eye(6)
        centred, deviations = values - values.mean(), []
        for i in range(6):
            others = np.delete(np.arange(6), i)
            inverse = np.linalg.inv(covariance[np.ix_(others, others)])
            cross = covariance[i, others]
            variance = covariance[i, i] - cross @ inverse @ cross
            deviations.append((centred[i] - cross @ inverse @ centred[others]) / variance**0.5)
        sample.remove_lowest()
        assert np.flatnonzero(sample.removed).tolist() == [int(np.argmin(deviations))]

    def test_the_most_likely_set_is_returned(self):
        points, values = slope_with((2, 7), k=9)
        likelihoods = {
            some: log_likelihood(points, values, np.isin(np.arange(9), some))
            for count in range(4)
            for some in itertools.combinations(range(9), count)
        }
        assert tuple(found(points, values)) == max(likelihoods, key=likelihoods.get) == (2, 7)


class TestOutliers:
    @pytest.mark.parametrize(
        ("k", "failures"),
        [(12, ()), (12, (0,)), (12, (5,)), (12, (1, 4, 7)), (30, (2, 19)), (40, range(0, 40, 4))],
    )
    def test_are_found_however_many_there_are(self, k, failures):
        assert found(*slope_with(failures, k)) == list(failures)


class TestRows:
    @staticmethod
    def rows(failures=(), k=10, drop=50.0, seed=0):
        rng = np.random.default_rng(seed)
        sources = GRID.targets[rng.permutation(N)[:k]]
        gap = np.abs(sources[:, None] - GRID.targets).sum(axis=2)
        hard = 10.0 * np.arange(N) / N
        returns = 20.0 + hard - gap + 0.3 * rng.normal(size=gap.shape)
        returns[list(failures)] -= drop
        return sources, returns

    def test_one_huge_failure_does_not_hide_the_others(self):
        for drop in (0.0, 1e3, 1e4, 1e6):
            sources, returns = self.rows((3,), drop=100.0)
            returns[7] -= drop
            failed = find_failed_runs(ObservedRows(GRID, sources, returns))
            assert np.flatnonzero(failed).tolist() == ([3, 7] if drop else [3])

    @pytest.mark.parametrize("hard_only", [(0, 1), (2, 5, 7)])
    def test_in_part_are_judged_by_what_others_reach_on_the_same_targets(self, hard_only):
        sources, returns = self.rows(k=12)
        hard = np.arange(N) < 10
        returns[:, hard] -= 40.0
        for policy in hard_only:
            returns[policy, ~hard] = np.nan
        assert not find_failed_runs(ObservedRows(GRID, sources, returns)).any()
        returns[hard_only[0]] -= 50.0
        failed = find_failed_runs(ObservedRows(GRID, sources, returns))
        assert np.flatnonzero(failed).tolist() == [hard_only[0]]

    def test_of_a_few_targets_are_not_judged(self):
        sources, returns = self.rows((3, 6))
        few = int(np.ceil(LEAST_EVALUATED * N)) - 1
        returns[3, few:] = np.nan
        failed = find_failed_runs(ObservedRows(GRID, sources, returns))
        assert np.flatnonzero(failed).tolist() == [6]

    def test_in_part_have_the_qualities_of_a_least_squares_fit(self):
        rng = np.random.default_rng(0)
        returns = rng.normal(size=(6, 1)) + 5 * rng.normal(size=9) + rng.normal(size=(6, 9))
        holes = rng.random(returns.shape) < 0.4
        policies, targets = np.nonzero(~holes)
        features = np.hstack([np.eye(6)[policies], np.eye(9)[targets]])
        both = np.linalg.lstsq(features, returns[~holes], rcond=None)[0]
        found = _qualities(np.where(holes, np.nan, returns))
        np.testing.assert_allclose(
            found - found.mean(), both[:6] - both[:6].mean(), atol=0.01 * np.ptp(both[:6])
        )
