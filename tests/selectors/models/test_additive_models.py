"""Additive models: exact data is recovered exactly, the rest agrees with plain regressions."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ModelError
from sdmbtl.selectors.models import (
    AdditiveModel,
    AdditiveQualityModel,
    CompletedRows,
    MountainModel,
)
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.slopes import signed_differences

GRID = ContextSpace(a=range(5), b=[0.0, 1.0, 2.0, 4.0])
N = len(GRID)
RIDGE = MountainModel().ridge
MODELS = [MountainModel(), AdditiveModel(), AdditiveQualityModel()]
LEFT, RIGHT = np.array([3.0, 1.0]), np.array([6.0, -2.0])


def falling(space, sources, left=LEFT, right=RIGHT, difficulty=None):
    """(k, N) returns that fall by `left` above and by `right` below the source."""
    x, y = np.atleast_2d(sources)[:, None], space.unit_targets[None]
    if difficulty is None:
        difficulty = 10 * np.sin(9 * space.unit_targets.sum(axis=1))
    return difficulty - np.maximum(y - x, 0) @ left - np.maximum(x - y, 0) @ right


def spread_sources(k=8, space=GRID, seed=0):
    """(k, D) sources in unit coordinates, two corners among them."""
    rng = np.random.default_rng(seed)
    corners = np.array([np.zeros(space.n_dimensions), np.ones(space.n_dimensions)])
    return np.vstack([corners, rng.random((k - 2, space.n_dimensions))])


def completed(sources, returns, space=GRID):
    return CompletedRows.of(ObservedRows(space, space.from_unit(sources), returns))


def noisy(seed=0, k=6):
    sources = spread_sources(k, seed=seed)
    return completed(sources, falling(GRID, sources) + np.random.default_rng(seed).normal(size=N))


def coefficients(fitted):
    """Those of [x - y]_- and [x - y]_+: the first difference is minus the distance."""
    return np.concatenate([-fitted.slopes.left, fitted.slopes.right])


def explicit_fit(model, rows):
    """Slopes and variance by lstsq on all pairs, the ridge as additional observations."""
    k, n = rows.returns.shape
    pairs = k * n
    targets = np.tile(np.eye(n), (k, 1))
    policies = np.repeat(np.eye(k), n, axis=0)
    design = np.hstack([targets, policies]) if model.free_quality else targets
    features = np.vstack([signed_differences(x, rows.space.unit_targets) for x in rows.sources])
    features, returns = (
        columns - design @ np.linalg.lstsq(design, columns, rcond=None)[0]
        for columns in (features, rows.returns.ravel())
    )
    dimensions = rows.space.n_dimensions
    distance = features[:, dimensions:].sum(axis=1) - features[:, :dimensions].sum(axis=1)
    common = min(distance @ returns / (distance @ distance + RIDGE * pairs), 0.0)
    presumed = common * np.repeat([-1.0, 1.0], dimensions)
    one = np.eye(dimensions)
    basis = np.eye(2 * dimensions)
    if model.name == "mountain":
        basis = np.vstack([-one, one])
    width = basis.shape[1]
    augmented = np.vstack([features @ basis, np.sqrt(RIDGE * pairs) * np.eye(width)])
    response = np.concatenate([returns - features @ presumed, np.zeros(width)])
    slopes = presumed + basis @ np.linalg.lstsq(augmented, response, rcond=None)[0]
    left = returns - features @ slopes
    return slopes, float(left @ left) / ((k - 1) * (n - 1))


@pytest.mark.parametrize("model", MODELS, ids=lambda s: s.name)
@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_the_explicit_regression(model, seed):
    rows = noisy(seed)
    fitted = model.fit(rows)
    slopes, variance = explicit_fit(model, rows)
    np.testing.assert_allclose(coefficients(fitted), slopes, rtol=1e-6, atol=1e-7)
    assert fitted.variance == pytest.approx(variance, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda s: s.name)
@pytest.mark.parametrize("targets", [slice(None), np.array([3, 0, 17])], ids=["all", "some"])
def test_predictions_equal_a_double_loop(model, targets):
    rows = noisy()
    fitted = model.fit(rows)
    sources = np.random.default_rng(5).random((4, 2))
    prediction = fitted.predict(sources, targets)
    slopes = coefficients(fitted)
    for i, source in enumerate(sources):
        quality, row_variance = 0.0, 0.0
        if fitted.quality is not None:
            one, other = fitted.quality.predict(source[None])
            quality, row_variance = one[0], other[0]
        assert prediction.variance[i] == pytest.approx(row_variance + fitted.variance)
        for position, j in enumerate(np.arange(N)[targets]):
            target = GRID.unit_targets[[j]]
            level = np.mean(
                [
                    row[j] - signed_differences(x, target)[0] @ slopes
                    for x, row in zip(rows.sources, rows.returns, strict=True)
                ]
            )
            expected = level + signed_differences(source, target)[0] @ slopes + quality
            assert prediction.mean[i, position] == pytest.approx(expected, rel=1e-9)


def test_additive_data_is_recovered_and_the_next_row_predicted():
    sources = spread_sources(9)
    fitted = AdditiveModel().fit(completed(sources[:8], falling(GRID, sources[:8])))
    np.testing.assert_allclose(fitted.slopes.left, -LEFT, atol=0.02)
    np.testing.assert_allclose(fitted.slopes.right, -RIGHT, atol=0.02)
    prediction = fitted.predict(sources[8:], slice(None))
    np.testing.assert_allclose(prediction.mean, falling(GRID, sources[8:]), atol=0.02)
    assert prediction.variance.tolist() == [fitted.variance]
    assert fitted.variance < 1e-4


def test_free_quality_separates_the_noise_of_policies_from_the_slopes():
    sources = spread_sources(8)
    slopes = np.array([4.0, 2.0])
    noise = np.random.default_rng(2).normal(0.0, 5.0, size=8)
    rows = completed(sources, falling(GRID, sources, slopes, slopes) + noise[:, None])
    free, fixed = AdditiveQualityModel().fit(rows), AdditiveModel().fit(rows)
    # Only what falls on both sides together is known when policies may differ by any amount.
    np.testing.assert_allclose(free.slopes.left + free.slopes.right, -2 * slopes, atol=0.05)
    assert free.variance < 1e-3 < 1.0 < fixed.variance
    prediction = free.predict(sources[:3], slice(None))
    assert (prediction.variance > 1.0).all()


def test_a_dimension_in_which_sources_do_not_differ_is_presumed_like_the_others():
    sources = spread_sources(6)
    sources[:, 1] = 0.5
    slopes = np.array([4.0, 4.0])
    fitted = AdditiveModel().fit(completed(sources, falling(GRID, sources, slopes, slopes)))
    assert -4.0 <= fitted.slopes.left[1] < -1.0
    assert fitted.slopes.right[1] == pytest.approx(fitted.slopes.left[1])
    assert fitted.slopes.known.tolist() == [True, False]
    rising = AdditiveModel().fit(completed(sources, falling(GRID, sources, -slopes, -slopes)))
    np.testing.assert_allclose([rising.slopes.left[1], rising.slopes.right[1]], 0.0, atol=1e-9)


class TestSettings:
    def test_a_dimension_without_differences_may_be_presumed_flat(self):
        sources = spread_sources(6)
        sources[:, 1] = 0.5
        rows = completed(sources, falling(GRID, sources, np.full(2, 4.0), np.full(2, 4.0)))
        fitted = AdditiveModel(presume_fall=False).fit(rows)
        np.testing.assert_allclose(fitted.slopes.left, [-4.0, 0.0], atol=0.01)

    def test_are_checked(self):
        with pytest.raises(ModelError, match="'ridge' must be a finite number >= 0. Got -1"):
            MountainModel(ridge=-1)
        with pytest.raises(ModelError, match="'presume_fall' must be true or false"):
            AdditiveModel(presume_fall=1)
