"""GP-MBTL: the model against closed forms, the acquisition against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from sdmbtl import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.selectors import GPSelector
from sdmbtl.selectors.gaussian_process import (
    JITTER,
    GaussianProcess,
    negative_log_likelihood,
)
from sdmbtl.testing import example_matrix, example_spaces
from sdmbtl.transfer import estimate_slopes


def problem(seed, n=12, d=2):
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    values = np.sin(4 * points[:, 0]) + 0.1 * rng.normal(size=n)
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    return points, values, squares


def kernel_matrix(squares, parameters):
    variance, length, noise = np.exp(parameters)
    kernel = variance * np.exp(-0.5 * squares / length**2)
    return kernel, kernel + (noise + JITTER) * np.eye(len(squares))


@given(st.integers(0, 1000), st.tuples(*[st.floats(-2, 1)] * 3))
def test_likelihood_is_that_of_a_multivariate_normal(seed, parameters):
    _, values, squares = problem(seed)
    _, noisy = kernel_matrix(squares, parameters)
    inverse = np.linalg.inv(noisy)
    mean = inverse.sum(axis=0) @ values / inverse.sum()
    expected = -multivariate_normal(np.full(len(values), mean), noisy).logpdf(values)
    constant = 0.5 * len(values) * np.log(2 * np.pi)
    found, _ = negative_log_likelihood(np.array(parameters), squares, values)
    assert found + constant == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 1000), st.tuples(*[st.floats(-2, 1)] * 3))
def test_gradients_are_the_slopes(seed, parameters):
    _, values, squares = problem(seed)
    at = np.array(parameters)
    _, gradient = negative_log_likelihood(at, squares, values)
    numeric = approx_fprime(at, lambda p: negative_log_likelihood(p, squares, values)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-3)


def test_posterior_is_the_textbook_one():
    points, values, squares = problem(0)
    process = GaussianProcess(points, values)
    new = np.random.default_rng(1).random((5, 2))
    scale, centre = values.std(), values.mean()
    variance, length, _ = np.exp(process.log_parameters)
    _, noisy = kernel_matrix(squares, process.log_parameters)
    cross = variance * np.exp(-0.5 * ((new[:, None] - points) ** 2).sum(axis=2) / length**2)
    inverse = np.linalg.inv(noisy)
    standard = (values - centre) / scale
    constant = inverse.sum(axis=0) @ standard / inverse.sum()
    mean = centre + scale * (constant + cross @ inverse @ (standard - constant))
    deviation = scale * np.sqrt(variance - np.einsum("ij,jk,ik->i", cross, inverse, cross))
    found_mean, found_deviation = process.predict(new)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-6)
    np.testing.assert_allclose(found_deviation, deviation, rtol=1e-5)


def tell_all(space, selector, indices, matrix):
    for index in indices:
        selector.tell(space.target(index), matrix[index])


def brute_force_gains(space, rows, slopes, best, k):
    """The acquisition of the paper with loops over sources and targets."""
    process = GaussianProcess(rows.unit_sources, rows.source_returns)
    mean, deviation = process.predict(space.unit_targets)
    gains = np.zeros(len(space))
    for i, x in enumerate(space.unit_targets):
        for n, y in enumerate(space.unit_targets):
            change = 0.0
            for d in range(space.n_dimensions):
                slope = slopes.left[d] if x[d] < y[d] else slopes.right[d]
                change += slope * abs(x[d] - y[d])
            value = mean[i] + np.sqrt(np.log(k)) * deviation[i] + change - best[n]
            gains[i] += max(value, 0.0) / len(space)
    return gains


@pytest.mark.parametrize("name", ["grid", "listed targets", "one dimension"])
@pytest.mark.parametrize("method", ["return", "within", "relative"])
def test_acquisition_is_the_papers(name, method):
    space = example_spaces()[name]
    matrix = example_matrix(space)
    selector = GPSelector(space, slopes=method)
    indices = [0, 3, 5, 6]
    tell_all(space, selector, indices, matrix)
    rows = selector.rows
    gains = brute_force_gains(space, rows, estimate_slopes(rows, method), rows.best, k=5)
    gains[indices] = -1
    trial = selector.ask()
    assert trial.index == int(np.argmax(gains))
    assert trial.numbers["upper_bound_gain"] == pytest.approx(gains.max())


def test_original_form_uses_modelled_performance():
    space = example_spaces()["grid"]
    matrix = example_matrix(space)
    selector = GPSelector.original(space)
    indices = [0, 5, 11]
    tell_all(space, selector, indices, matrix)
    rows = selector.rows
    fall = -0.01 * (matrix[indices].max() - matrix[indices].min()) * np.array([3, 2])
    modelled = np.full(len(space), -np.inf)
    for x, value in zip(rows.unit_sources, rows.source_returns, strict=True):
        modelled = np.maximum(modelled, value + np.abs(x - space.unit_targets) @ fall)
    slopes = type("Slopes", (), {"left": fall, "right": fall})
    gains = brute_force_gains(space, rows, slopes, modelled, k=4)
    gains[indices] = -1
    assert selector.ask().numbers["upper_bound_gain"] == pytest.approx(gains.max())


def test_start_is_the_middle_then_the_worst_covered():
    space = ContextSpace(a=range(5), b=range(5))
    matrix = example_matrix(space)
    selector = GPSelector(space)
    first = selector.ask()
    assert first.context == {"a": 2.0, "b": 2.0}
    assert "middle" in first.reason
    selector.tell(first, matrix[first.index])
    for _ in range(2):
        worst = int(np.argmin(np.where(selector.history.free_targets(), selector.rows.best, 1e9)))
        trial = selector.ask()
        assert trial.index == worst
        assert "The target with the lowest best return" in trial.reason
        selector.tell(trial, matrix[trial.index])
    in_returns = selector.next_trials(1)[0]
    assert "By the upper confidence bound" in in_returns.reason
    rise = f"raise the mean best return by {in_returns.expected_gain:.3g}. "
    assert rise in in_returns.reason
    selector.history.return_range = (-1000.0, 1000.0)
    trial = selector.ask()
    assert trial.source == in_returns.source
    assert f"raise coverage by {100 * in_returns.expected_gain / 2000:.1f} points. " in trial.reason


def test_pending_sources_are_expected_to_cover():
    space = ContextSpace(a=range(21))
    matrix = -np.abs(np.subtract.outer(np.arange(21), np.arange(21)))
    selector = GPSelector(space)
    for index in (10, 8, 12):
        selector.tell({"a": index}, matrix[index])
    batch = [c.context["a"] for c in selector.ask(2)]
    # Alone, both would go to the same end; knowing of the first, the second takes the other.
    assert (batch[0] - 10) * (batch[1] - 10) < 0


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"best": "guess"}, "Unknown best 'guess'; known: real, modelled"),
        ({"slopes": "steep"}, "Unknown slopes 'steep'"),
    ],
)
def test_bad_settings(option, text):
    with pytest.raises(SelectorError, match=text):
        GPSelector(ContextSpace(a=range(3)), **option)
