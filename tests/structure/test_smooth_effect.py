"""The smooth effect against a Gaussian process with dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl.structure.smooth_effect import (
    JITTER,
    LEAST_FOR_OUTLIERS,
    LENGTHS,
    LINEAR,
    MOST_OUTLIERS,
    NOISES,
    OUTLYING,
    SmoothEffect,
    _kernel,
    _own_kernel,
    effect_without_failures,
)


def kernel(one, other, length):
    """The definition with loops."""
    table = np.zeros((len(one), len(other)))
    dimensions = one.shape[1]
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            square = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
            smooth = np.exp(-0.5 * square / (length**2 * dimensions))
            linear = LINEAR * sum((a - 0.5) * (b - 0.5) for a, b in zip(x, y, strict=True))
            table[i, j] = (smooth + linear) / (1 + LINEAR * dimensions / 12)
    return table


def dense(points, values, wanted):
    """Means and variances at the wanted points, averaged over lengths and noises."""
    k = len(values)
    centred = values - values.mean()
    logs, means, variances = [], [], []
    for length in LENGTHS:
        for noise in NOISES:
            covariance = (1 - noise) * kernel(points, points, length)
            covariance += (noise + JITTER) * np.eye(k)
            inverse = np.linalg.inv(covariance)
            cross = (1 - noise) * kernel(wanted, points, length)
            own = (1 - noise) * np.diagonal(kernel(wanted, wanted, length)) + noise
            scale = centred @ inverse @ centred / k
            logs.append(-0.5 * k * np.log(scale) - 0.5 * np.linalg.slogdet(covariance)[1])
            means.append(values.mean() + cross @ inverse @ centred)
            variances.append(scale * (own - np.diagonal(cross @ inverse @ cross.T)))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    return weights @ np.array(means), weights @ np.array(variances) * k / (k - 1)


def some_values(seed, k, dimensions):
    rng = np.random.default_rng(seed)
    return rng.random((k, dimensions)), rng.normal(size=k), rng.random((7, dimensions))


@pytest.mark.parametrize("dimensions", [1, 2, 4])
@pytest.mark.parametrize("k", [2, 3, 8])
def test_equals_the_dense_gaussian_process(k, dimensions):
    points, values, wanted = some_values(k, k, dimensions)
    effect = SmoothEffect(points, values)
    assert effect.weights.max(axis=1).min() > 1e-4, "no length is left out here"
    assert effect.weights.sum() == pytest.approx(1.0)
    mean, variance = effect.predict(wanted)
    expected_mean, expected_variance = dense(points, values, wanted)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-7)


def test_lengths_that_explain_nothing_are_left_out_without_harm():
    points = np.linspace(0, 1, 24)[:, None]
    values = np.sin(12 * points[:, 0])
    effect = SmoothEffect(points, values)
    assert effect.weights.max(axis=1).min() < 1e-4
    wanted = np.linspace(0, 1, 30)[:, None]
    mean, variance = effect.predict(wanted)
    expected_mean, expected_variance = dense(points, values, wanted)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-3)
    np.testing.assert_allclose(variance, expected_variance, atol=1e-3)


def test_smooth_values_are_followed():
    points = np.linspace(0, 1, 10)[:, None]
    effect = SmoothEffect(points, 3.0 + 2.0 * points[:, 0])
    mean, variance = effect.predict(np.array([[0.05], [0.5], [0.95]]))
    np.testing.assert_allclose(mean, [3.1, 4.0, 4.9], atol=0.1)
    assert variance.max() < 0.05


def test_luck_is_not_followed():
    points = np.linspace(0, 1, 30)[:, None]
    values = np.random.default_rng(0).normal(5.0, 1.0, size=30)
    mean, variance = SmoothEffect(points, values).predict(points)
    assert np.abs(mean - values.mean()).max() < 0.5
    assert variance.mean() == pytest.approx(values.var(), rel=0.25)


def test_far_from_the_values_less_is_known():
    points = np.array([[0.4, 0.5], [0.5, 0.5], [0.6, 0.5], [0.5, 0.4]])
    values = np.array([1.0, 2.0, 3.0, 2.0])
    _, variance = SmoothEffect(points, values).predict(np.array([[0.5, 0.5], [1.0, 0.0]]))
    assert variance[1] > 2 * variance[0]


@pytest.mark.parametrize("k", [1, 2, 6])
def test_equal_values_are_expected_everywhere(k):
    mean, variance = SmoothEffect(np.random.default_rng(0).random((k, 2)), np.full(k, 7.0)).predict(
        np.random.default_rng(1).random((5, 2))
    )
    np.testing.assert_array_equal(mean, 7.0)
    np.testing.assert_allclose(variance, 0.0, atol=1e-250)


def test_repeats_of_one_context_show_the_noise():
    points = np.full((6, 2), 0.5)
    values = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    mean, variance = SmoothEffect(points, values).predict(points[:1])
    assert mean[0] == pytest.approx(2.0)
    assert variance[0] == pytest.approx(values.var(ddof=1), rel=0.3)


@given(st.integers(0, 100), st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
@settings(deadline=None, max_examples=30)
def test_shift_and_scale(seed, scale, shift):
    points, values, wanted = some_values(seed, 5, 2)
    mean, variance = SmoothEffect(points, values).predict(wanted)
    moved_mean, moved_variance = SmoothEffect(points, scale * (values + shift)).predict(wanted)
    np.testing.assert_allclose(moved_mean, scale * (mean + shift), rtol=1e-6, atol=1e-7 * scale)
    np.testing.assert_allclose(moved_variance, scale**2 * variance, rtol=1e-6)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_the_kernel_of_a_point_with_itself_is_1_on_average(dimensions):
    points = np.random.default_rng(0).random((4000, dimensions))
    own = _own_kernel(points)
    assert own.mean() == pytest.approx(1.0, rel=0.02)
    for length in LENGTHS:
        np.testing.assert_allclose(np.diagonal(_kernel(points[:9], points[:9], length)), own[:9])


class TestFailures:
    """A training fails now and then: one value far below the others."""

    @staticmethod
    def slope_with(failures, k=12, drop=30.0):
        points = np.linspace(0, 1, k)[:, None]
        values = 5.0 * points[:, 0] + 0.2 * np.random.default_rng(0).normal(size=k)
        values[list(failures)] -= drop
        return points, values

    @pytest.mark.parametrize("seed", range(4))
    def test_deviations_leave_each_value_out(self, seed):
        points, values, _ = some_values(seed, 7, 2)
        effect = SmoothEffect(points, values)
        row, column = np.unravel_index(effect.weights.argmax(), effect.weights.shape)
        noise = NOISES[column]
        covariance = (1 - noise) * kernel(points, points, LENGTHS[row])
        covariance += (noise + JITTER) * np.eye(7)
        centred = values - values.mean()
        for i, deviation in enumerate(effect.deviations()):
            others = np.delete(np.arange(7), i)
            inverse = np.linalg.inv(covariance[np.ix_(others, others)])
            cross = covariance[i, others]
            expected = cross @ inverse @ centred[others]
            scale = centred[others] @ inverse @ centred[others] / 6
            variance = scale * (covariance[i, i] - cross @ inverse @ cross)
            assert deviation == pytest.approx((centred[i] - expected) / np.sqrt(variance))

    @pytest.mark.parametrize(
        ("k", "failures"), [(12, ()), (12, (0,)), (12, (5,)), (30, (2, 19)), (60, (1, 40, 27))]
    )
    def test_are_left_out(self, k, failures):
        points, values = self.slope_with(failures, k)
        effect = effect_without_failures(points, values)
        left = np.delete(points, list(failures), axis=0)
        np.testing.assert_array_equal(effect.points, left)
        mean, variance = effect.predict(points)
        np.testing.assert_allclose(mean, 5.0 * points[:, 0], atol=0.6)
        assert variance.max() < 0.5

    def test_without_this_everything_looks_unpredictable(self):
        points, values = self.slope_with((5,))
        assert SmoothEffect(points, values).predict(points)[1].min() > 10.0

    def test_several_hide_one_another_among_few(self):
        points, values = self.slope_with((1, 4, 7))
        assert len(effect_without_failures(points, values).points) == 12

    def test_only_values_below_are_left_out(self):
        points, values = self.slope_with((5,), drop=-30.0)
        assert len(effect_without_failures(points, values).points) == 12

    def test_few_values_are_all_kept(self):
        for k in range(1, LEAST_FOR_OUTLIERS):
            points, values = self.slope_with((0,), k=k)
            assert len(effect_without_failures(points, values).points) == k
        points, values = self.slope_with((0,), k=LEAST_FOR_OUTLIERS)
        assert len(effect_without_failures(points, values).points) == LEAST_FOR_OUTLIERS - 1

    def test_no_more_than_a_share_is_left_out(self):
        points, values = self.slope_with(range(0, 20, 2), k=20)
        left = len(effect_without_failures(points, values).points)
        assert left >= 20 - int(MOST_OUTLIERS * 20)

    def test_what_is_kept_is_not_outlying(self):
        for seed in range(20):
            points, values, _ = some_values(seed, 15, 2)
            effect = effect_without_failures(points, values)
            if len(effect.points) > 15 - int(MOST_OUTLIERS * 15):
                assert effect.deviations().min() > -OUTLYING

    def test_equal_values_are_all_kept(self):
        points = np.random.default_rng(0).random((8, 2))
        assert len(effect_without_failures(points, np.full(8, 3.0)).points) == 8
