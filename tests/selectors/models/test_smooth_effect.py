"""The smooth effect against a Gaussian process with dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl.selectors.models.smooth_effect import (
    JITTER,
    LENGTHS,
    LINEAR,
    NEGLIGIBLE,
    NOISES,
    SmoothEffect,
    _own_kernel,
    covariance_spectrum,
    kernel_bases,
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


def dense(points, values, wanted, noises=NOISES):
    """Means and variances at the wanted points, averaged over lengths and noises."""
    k, functions = values.reshape(len(values), -1).shape
    centred = values - values.mean()
    logs, means, variances = [], [], []
    for length in LENGTHS:
        for noise in noises:
            covariance = (1 - noise) * kernel(points, points, length)
            covariance += (noise + JITTER) * np.eye(k)
            inverse = np.linalg.inv(covariance)
            cross = (1 - noise) * kernel(wanted, points, length)
            own = (1 - noise) * np.diagonal(kernel(wanted, wanted, length)) + noise
            scale = (centred * (inverse @ centred)).sum() / (k * functions)
            fit = -0.5 * k * np.log(scale) - 0.5 * np.linalg.slogdet(covariance)[1]
            logs.append(functions * fit)
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


@pytest.mark.parametrize("noises", [NOISES, np.array([0.3, 1.0])], ids=["usual", "others"])
def test_several_functions_share_lengths_and_noise(noises):
    points, _, wanted = some_values(3, 6, 2)
    values = np.random.default_rng(4).normal(size=(6, 3))
    mean, variance = SmoothEffect(points, values, noises).predict(wanted)
    expected_mean, expected_variance = dense(points, values, wanted, noises)
    assert mean.shape == (7, 3)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-6)


def test_many_functions_tell_noise_from_smoothness_better_than_one():
    points = np.linspace(0, 1, 8)[:, None]
    noise = np.random.default_rng(0).normal(size=(8, 60))
    noises = np.append(NOISES, 1.0)
    smooth_share = [
        (SmoothEffect(points, values, noises).weights @ (1 - noises)).sum()
        for values in (noise[:, 0], noise)
    ]
    assert smooth_share[1] < 0.02 < smooth_share[0]


def test_without_a_smooth_part_the_mean_is_expected_everywhere():
    points, values, wanted = some_values(0, 8, 2)
    effect = SmoothEffect(points, values, np.array([1.0]))
    mean, variance = effect.predict(wanted)
    np.testing.assert_array_equal(mean, values.mean())
    np.testing.assert_allclose(variance, values.var(ddof=1))


def test_kernels_are_decomposed_once_for_the_same_points():
    points, _, _ = some_values(1, 5, 2)
    bases = kernel_bases(points)
    assert kernel_bases(points.copy()) is bases
    assert kernel_bases(points + 0.01) is not bases
    assert kernel_bases(points.reshape(10, 1)) is not bases
    for length, eigenvalues, vectors in bases:
        spectrum = covariance_spectrum(eigenvalues, NOISES)
        for noise, values in zip(NOISES, spectrum, strict=True):
            covariance = (1 - noise) * kernel(points, points, length)
            covariance += (noise + JITTER) * np.eye(5)
            np.testing.assert_allclose((vectors * values) @ vectors.T, covariance, atol=1e-12)


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


def test_smooth_values_are_followed():
    points = np.linspace(0, 1, 10)[:, None]
    effect = SmoothEffect(points, 3.0 + 2.0 * points[:, 0])
    mean, variance = effect.predict(np.array([[0.05], [0.5], [0.95]]))
    np.testing.assert_allclose(mean, [3.1, 4.0, 4.9], atol=0.1)
    assert variance.max() < 0.05


def test_noise_is_not_followed():
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
        np.testing.assert_allclose(
            np.diagonal(smooth_kernel(points[:9], points[:9], length)), own[:9]
        )
