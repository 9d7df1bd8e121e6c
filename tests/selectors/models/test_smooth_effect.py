"""The smooth effect against a Gaussian process with dense matrices."""

import numpy as np
import pytest

from sdmbtl.selectors.models.smooth_effect import (
    JITTER,
    LENGTHS,
    LINEAR,
    NEGLIGIBLE,
    NOISES,
    SmoothEffect,
    _own_kernel,
    smooth_kernel,
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
    mean = np.tensordot(weights, np.array(means), axes=1)
    return mean, weights @ np.array(variances) * k / (k - 1)


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
    assert (effect.weights @ (1 - NOISES)).min() < NEGLIGIBLE
    wanted = np.linspace(0, 1, 30)[:, None]
    mean, variance = effect.predict(wanted)
    expected_mean, expected_variance = dense(points, values, wanted)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-3)
    np.testing.assert_allclose(variance, expected_variance, atol=1e-3)


def test_noise_is_not_followed():
    points = np.linspace(0, 1, 30)[:, None]
    values = np.random.default_rng(0).normal(5.0, 1.0, size=30)
    mean, variance = SmoothEffect(points, values).predict(points)
    assert np.abs(mean - values.mean()).max() < 0.5
    assert variance.mean() == pytest.approx(values.var(), rel=0.25)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_the_kernel_of_a_point_with_itself_is_1_on_average(dimensions):
    points = np.random.default_rng(0).random((4000, dimensions))
    own = _own_kernel(points)
    assert own.mean() == pytest.approx(1.0, rel=0.02)
    for length in LENGTHS:
        np.testing.assert_allclose(
            np.diagonal(smooth_kernel(points[:9], points[:9], length)), own[:9]
        )
