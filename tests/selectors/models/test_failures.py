"""Failed training runs: likelihoods against dense matrices, and which rows are called failures."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models.failures import (
    FAILING,
    LEAST_NOISE,
    _Sample,
    find_failed_runs,
    low_outliers,
)
from sdmbtl.selectors.models.model import KnownRows
from sdmbtl.selectors.models.smooth_effect import JITTER, LENGTHS, NOISES, smooth_kernel

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
        sources = GRID.unit_targets[rng.permutation(N)[:k]]
        gap = 5 * np.abs(sources[:, None] - GRID.unit_targets).sum(axis=2)
        hard = 10.0 * np.arange(N) / N
        returns = 20.0 + hard - gap + 0.3 * rng.normal(size=gap.shape)
        returns[list(failures)] -= drop
        return KnownRows(GRID, sources, returns, returns.max(axis=1))

    @pytest.mark.parametrize("failures", [(), (3,), (3, 7)])
    def test_that_are_far_below_the_others_have_failed(self, failures):
        rows = self.rows(failures)
        assert tuple(np.flatnonzero(find_failed_runs(rows))) == failures

    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_few_rows_are_not_judged(self, k):
        assert not find_failed_runs(self.rows((0,), k=k)).any()

    def test_equal_rows_have_not_failed(self):
        rows = self.rows()
        rows.returns[:] = 3.0
        assert not find_failed_runs(rows).any()
