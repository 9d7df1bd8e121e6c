"""Mixture of models: likelihoods, weights and improvements against brute force."""

import numpy as np
import pytest
from scipy import stats

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ModelError
from sdmbtl.selectors.models import KnownRows, LinearGapModel, ModelMixture, PlateauModel
from sdmbtl.selectors.models import mixture as mixture_module
from sdmbtl.selectors.models.model import FittedModel

GRID = ContextSpace(a=range(7), b=range(6))
UNITS = GRID.unit_targets
N = len(GRID)
BOTH = ("plateau", "linear-gap")


def make_rows(k, kind="linear", noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    sources = UNITS[rng.permutation(N)[:k]]
    away = sources[:, None] - UNITS
    if kind == "linear":
        returns = -np.abs(away) @ np.array([8.0, 4.0])
    else:
        returns = 10.0 * np.exp(-((away / 0.2) ** 2).sum(axis=2))
    returns = returns + noise * rng.normal(size=returns.shape)
    return KnownRows(GRID, sources, returns, returns.max(axis=1))


def watched(rows, models=BOTH):
    mixture = ModelMixture(models)
    mixture.watch(rows)
    return mixture


class TestWeights:
    def test_are_equal_before_any_prediction(self):
        assert watched(make_rows(1)).weights.tolist() == [0.5, 0.5]

    @pytest.mark.parametrize(("kind", "leading"), [("plateau", 0), ("linear", 1)])
    def test_favour_the_model_that_is_right(self, kind, leading):
        weights = watched(make_rows(10, kind)).weights
        assert weights[leading] > 0.99
        assert weights.sum() == pytest.approx(1.0)

    def test_are_likelihoods_of_the_rows_under_the_normal_distributions_predicted(self):
        rows = make_rows(4, noise=2.0)
        outcomes = watched(rows).outcomes
        errors = np.zeros(2)
        variances = np.zeros(2)
        for number, outcome in enumerate(outcomes):
            densities = []
            for place, model in enumerate((PlateauModel(), LinearGapModel())):
                fitted = FittedModel(model, rows.only(slice(number + 1)))
                mean, (common,) = fitted.predict(rows.sources[[number + 1]], slice(None))
                ratio = errors[place] / variances[place] if number else 1.0
                covariance = ratio * fitted.variance * np.eye(N) + common
                row = rows.returns[number + 1]
                densities.append(stats.multivariate_normal(mean[0], covariance).logpdf(row))
                errors[place] += (row - mean[0]).var()
                variances[place] += fitted.variance
            assert np.diff(outcome.log_likelihoods) == pytest.approx(np.diff(densities), rel=1e-6)


class TestRows:
    def test_are_watched_one_after_another_with_the_same_result(self):
        rows, slowly = make_rows(6), ModelMixture(BOTH)
        for count in range(1, 7):
            slowly.watch(rows.only(slice(count)))
        at_once = watched(rows)
        np.testing.assert_array_equal(slowly.weights, at_once.weights)
        np.testing.assert_array_equal(
            slowly.gains(UNITS, rows.best), at_once.gains(UNITS, rows.best)
        )

    @pytest.mark.parametrize("changed", [0, 2, 4])
    def test_that_change_are_seen(self, changed):
        rows = make_rows(5)
        mixture = watched(rows)
        returns = rows.returns.copy()
        returns[changed] += np.linspace(0, 1, N)
        other = KnownRows(GRID, rows.sources, returns, rows.own)
        mixture.watch(other)
        fresh = watched(other)
        np.testing.assert_array_equal(mixture.weights, fresh.weights)
        np.testing.assert_array_equal(
            mixture.gains(UNITS, rows.best), fresh.gains(UNITS, rows.best)
        )

    def test_that_are_taken_back_are_forgotten(self):
        rows = make_rows(6)
        mixture = watched(rows)
        mixture.watch(rows.only(slice(3)))
        np.testing.assert_array_equal(mixture.weights, watched(rows.only(slice(3))).weights)

    def test_of_failed_runs_are_left_out(self):
        rows = make_rows(9)
        rows.returns[4] -= 100.0
        sound = np.arange(9) != 4
        mixture = watched(rows)
        assert np.flatnonzero(mixture.failed).tolist() == [4]
        np.testing.assert_array_equal(mixture.weights, watched(rows.only(sound)).weights)


class TestImprovement:
    def test_is_that_of_many_draws(self):
        rows = make_rows(5, noise=1.0)
        mixture, best = watched(rows, ["linear-gap"]), rows.best - 1.0
        source = UNITS[17]
        fitted = FittedModel(LinearGapModel(), rows)
        mean, (common,) = fitted.predict(source[None], slice(None))
        outcomes = mixture.outcomes
        ratio = sum(o.errors[0] for o in outcomes) / sum(o.variances[0] for o in outcomes)
        deviation = (common + ratio * fitted.variance) ** 0.5
        draws = mean[0] + deviation * np.random.default_rng(0).normal(size=(100_000, 1))
        expected = np.clip(draws, best, max(rows.ceiling, *best)) - best
        np.testing.assert_allclose(
            mixture.improvement(source, best), expected.mean(axis=0), atol=0.02
        )

    def test_of_several_models_is_their_weighted_mean(self):
        rows = make_rows(2)
        mixture, alone = watched(rows), [watched(rows, [name]) for name in BOTH]
        weights = mixture.weights
        assert weights.min() >= 0
        expected = sum(
            w * one.improvement(UNITS[3], rows.best) for w, one in zip(weights, alone, strict=True)
        )
        np.testing.assert_allclose(mixture.improvement(UNITS[3], rows.best), expected, atol=2e-2)

    @pytest.mark.parametrize("block", [1, 100, 10_000])
    def test_gains_are_means_in_blocks(self, block, monkeypatch):
        monkeypatch.setattr(mixture_module, "BLOCK", block)
        rows = make_rows(4)
        mixture = watched(rows)
        expected = [mixture.improvement(unit, rows.best).mean() for unit in UNITS]
        np.testing.assert_allclose(mixture.gains(UNITS, rows.best), expected, rtol=1e-9)

    def test_nothing_is_gained_above_the_largest_return(self):
        rows = make_rows(4)
        gains = watched(rows).gains(UNITS, np.full(N, rows.ceiling))
        np.testing.assert_allclose(gains, 0.0, atol=1e-12)

    def test_the_share_that_was_realised(self):
        mixture = watched(make_rows(5))
        expected = sum(o.expected for o in mixture.outcomes)
        assert mixture.realised_share == sum(o.gain for o in mixture.outcomes) / expected
        assert watched(make_rows(1)).realised_share == 1.0


@pytest.mark.parametrize(
    ("models", "message"),
    [([], "different names"), (["plateau"] * 2, "different names"), (["hill"], "Unknown model")],
)
def test_errors(models, message):
    with pytest.raises(ModelError, match=message):
        ModelMixture(models)
