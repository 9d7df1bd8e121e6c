"""Linear gap model: slopes and difficulty against explicit regressions and known truths."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models import KnownRows, LinearGapModel
from sdmbtl.selectors.models.model import FittedModel

GRID = ContextSpace(a=range(7), b=range(6))
UNITS = GRID.unit_targets
N = len(GRID)


def make_rows(k=5, slopes=(-4.0, -2.0), noise=0.0, seed=0, quality=0.0, difficulty=None):
    rng = np.random.default_rng(seed)
    sources = UNITS[rng.permutation(N)[:k]]
    returns = np.abs(sources[:, None] - UNITS) @ np.array(slopes)
    returns = returns + (rng.normal(size=N) if difficulty is None else difficulty)
    returns += quality * rng.normal(size=(k, 1)) + noise * rng.normal(size=returns.shape)
    return KnownRows(GRID, sources, returns, returns.max(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_those_of_a_regression_with_policies_and_targets_as_dummies(seed):
    rows = make_rows(noise=1.0, seed=seed, quality=3.0)
    k = len(rows)
    distances = np.abs(rows.sources[:, None] - UNITS).reshape(k * N, 2)
    dummies = [np.tile(np.eye(N), (k, 1)), np.repeat(np.eye(k), N, axis=0)]
    explicit = np.linalg.lstsq(np.hstack([distances, *dummies]), rows.returns.ravel(), rcond=None)
    np.testing.assert_allclose(LinearGapModel(ridge=0.0).fit(rows).slopes, explicit[0][:2])


def test_exact_rows_are_continued_exactly():
    rows = make_rows()
    shape = LinearGapModel(ridge=1e-12).fit(rows)
    expected = make_rows(k=N).only(slice(None))
    np.testing.assert_allclose(
        shape.returns(expected.sources, slice(None)), expected.returns, atol=1e-6
    )


def test_an_antisymmetric_gap_is_difficulty_and_quality():
    """left · [y - x]_+ + right · [x - y]_+ needs no second slope."""
    sources = UNITS[::5]
    left, right = np.array([-8.0, -2.0]), np.array([-2.0, -8.0])

    def truth(x):
        above = UNITS - x[:, None]
        return np.maximum(above, 0) @ left + np.maximum(-above, 0) @ right

    returns = truth(sources)
    fitted = FittedModel(
        LinearGapModel(), KnownRows(GRID, sources, returns, np.zeros(len(sources)))
    )
    mean, _ = fitted.predict(UNITS[2::5], slice(None))
    assert np.abs(mean - truth(UNITS[2::5])).max() < 0.3


def test_a_dimension_without_evidence_is_presumed_to_matter_as_much_as_others():
    rows = make_rows(k=N)
    rows = rows.only(rows.sources[:, 1] == 0.4)
    shape = LinearGapModel(ridge=1e-3).fit(rows)
    assert shape.slopes[0] == pytest.approx(-4.0, rel=0.05)
    assert shape.slopes[1] < -0.2


def test_noise_in_the_difficulty_is_shrunk_away_and_real_difficulty_is_not():
    rng = np.random.default_rng(1)
    flat = make_rows(k=4, noise=5.0, difficulty=np.zeros(N))
    assert LinearGapModel().fit(flat).difficulty.std() < 0.5 * (5.0 / 2)
    real = 50.0 * rng.normal(size=N)
    difficulty = LinearGapModel().fit(make_rows(k=4, noise=0.1, difficulty=real)).difficulty
    assert np.corrcoef(difficulty, real)[0, 1] > 0.999


def test_one_row_tells_a_linear_difficulty_from_the_gap():
    shape = LinearGapModel().fit(make_rows(k=1, difficulty=3.0 * UNITS[:, 0]))
    np.testing.assert_allclose(shape.slopes, [-4.0, -2.0], rtol=0.1)


def test_the_steepest_dimensions_are_named():
    assert "-4 across a" in LinearGapModel(ridge=1e-9).fit(make_rows()).explain()
