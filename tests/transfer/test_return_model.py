import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from sdmbtl import ContextSpace
from sdmbtl.transfer import ReturnModel, worth_playing
from sdmbtl.transfer.return_model import shared_changes

SPACE = ContextSpace(a=np.linspace(0.0, 1.0, 6), b=np.linspace(0.0, 1.0, 6))
N = len(SPACE)


def partial(seed=0, policies=3, played=8):
    """Smooth returns of which some were played; parents 0 <- 1 <- 2."""
    rng = np.random.default_rng(seed)
    truth = np.sin(3 * SPACE.unit_targets @ rng.normal(size=(2, policies))).T
    returns = np.full((policies, N), np.nan)
    for row, full in zip(returns, truth, strict=True):
        chosen = rng.choice(N, played, replace=False)
        row[chosen] = full[chosen] + 0.05 * rng.normal(size=played)
    return ReturnModel(SPACE, range(-1, policies - 1), returns, np.isfinite(returns) * 1.0), truth


def explicit(model):
    """Posterior means and covariance of all pairs by the textbook formula."""
    fit = model.fit
    units = SPACE.unit_targets
    away = np.linalg.norm(units[:, None] - units, axis=2)
    prior = np.kron(fit.kinship, np.exp(-away / fit.length))
    known = np.isfinite(model.returns).ravel()
    noise = np.diag(fit.noise / model.episodes.ravel()[known])
    values = (model.returns.ravel()[known] - fit.center) / fit.scale
    gain = prior[:, known] @ np.linalg.inv(prior[np.ix_(known, known)] + noise)
    means = fit.center + fit.scale * gain @ values
    return means.reshape(model.returns.shape), fit.scale**2 * (prior - gain @ prior[known])


def test_posterior_equals_the_textbook_formula():
    model, _ = partial()
    means, covariance = explicit(model)
    clipped = np.clip(means, np.nanmin(model.returns), np.nanmax(model.returns))
    np.testing.assert_allclose(model.means, clipped, atol=1e-7)
    of_one = covariance[N : 2 * N, N : 2 * N]
    np.testing.assert_allclose(model.covariance(1, np.arange(N)), of_one, atol=1e-7)
    variances = np.diag(covariance).reshape(3, N)
    np.testing.assert_allclose(model.variances_at(SPACE.unit_targets), variances, atol=1e-7)
    on_targets = model.on_targets(np.array([3, 30]))
    np.testing.assert_allclose(on_targets[0], clipped[:, [3, 30]], atol=1e-7)
    np.testing.assert_allclose(on_targets[1], variances[:, [3, 30]], atol=1e-7)


def test_a_policy_that_was_not_played_is_expected_to_be_like_its_parent():
    returns = np.full((3, N), np.nan)
    returns[0], returns[1] = np.arange(N), np.arange(N)[::-1]
    model = ReturnModel(SPACE, [-1, -1, 0], returns, np.isfinite(returns) * 100.0)
    child = model.means[2]
    assert np.abs(child - returns[0]).mean() < np.abs(child - returns[1]).mean()


def test_common_ancestors():
    counts = shared_changes([-1, 0, 0, 1, -1])
    expected = [[1, 1, 1, 1, 0], [1, 2, 1, 2, 0], [1, 1, 2, 1, 0], [1, 2, 1, 3, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(counts, expected)


def test_a_policy_that_continues_its_parent_adds_less():
    shared = shared_changes([-1, 0, 1], continued=[1], share=0.25)
    np.testing.assert_allclose(shared, [[1, 1, 1], [1, 1.25, 1.25], [1, 1.25, 2.25]])


@given(shift=st.floats(-1e3, 1e3), factor=st.floats(1e-3, 1e3))
def test_shift_and_scale_pass_through(shift, factor):
    model, _ = partial()
    other = ReturnModel(SPACE, model.parents, shift + factor * model.returns, model.episodes)
    np.testing.assert_allclose(
        other.means, shift + factor * model.means, atol=1e-6 * (factor + abs(shift))
    )


def test_of_many_returns_a_subset_stands_for_all_and_each_counts_in_its_place():
    space = ContextSpace(a=np.linspace(0, 1, 40), b=np.linspace(0, 1, 40))
    rng = np.random.default_rng(0)
    truth = np.sin(4 * space.unit_targets.sum(axis=1))
    returns = (truth + rng.normal(scale=0.5, size=(2, len(space)))) * 10
    model = ReturnModel(space, [-1, -1], returns, np.ones_like(returns), episode_variance=25.0)
    assert np.abs(model.means - 10 * truth).mean() < 0.6 * np.abs(returns - 10 * truth).mean()
    few = ReturnModel(space, [-1, -1], returns, np.full_like(returns, 1e6), episode_variance=25.0)
    np.testing.assert_allclose(few.means, returns, atol=0.1)


def test_worth_is_the_expected_rise_of_the_best_choice():
    model, _ = partial()
    targets = np.arange(N)
    chosen, worth = worth_playing(model, 1, targets, 1)
    covariance, means = model.covariance(1, targets), model.means
    rival = np.delete(means, 1, axis=0).max(axis=0)

    def rise(target):
        change = covariance[:, target] / np.sqrt(covariance[target, target] + model.noise)

        def after(z):
            best = np.maximum(rival, means[1] + change * z)
            return (best - np.maximum(rival, means[1])).mean() * norm.pdf(z)

        return quad(after, -8, 8, limit=400)[0]

    rises = [rise(target) for target in targets]
    assert chosen[0] == int(np.argmax(rises))
    assert worth[0] == pytest.approx(max(rises), rel=1e-3)


def test_targets_chosen_together_are_different_and_spread():
    model, _ = partial(policies=1)
    chosen, worth = worth_playing(model, 0, np.arange(N), 6)
    assert len(set(chosen.tolist())) == 6
    assert (np.diff(worth) <= 1e-12).all()
