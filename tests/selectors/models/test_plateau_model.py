"""Plateau model: levels, reaches and predictions against loops and known truths."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.selectors.models import CompletedRows, PlateauModel
from sdmbtl.selectors.models.plateau_model import (
    PlateauShape,
    _far_level,
    combine_directions,
    fit_reaches,
    targets_to_fit,
)
from sdmbtl.transfer import ObservedRows

GRID = ContextSpace(a=range(8), b=range(7))
USUAL = PlateauModel()
ALONG_DIMENSIONS = PlateauModel(combine_up_to=0)
NONE = np.inf
REACHES = np.array([*USUAL.reaches, NONE])
NO_LIMIT, START = len(REACHES) - 1, USUAL.reaches.index(0.8)
#: a, b, a + b and a - b.
ALL = combine_directions(2, combined=True)


def plateau(space, sources, reaches, far=-3.0, near=5.0):
    """(k, N) returns that are `near` around the source and `far` away from it.

    The reaches are those on targets above the source, then those below; or the same for both.
    """
    above, below = np.resize(reaches, (2, space.n_dimensions))
    difference = space.unit_targets - np.atleast_2d(sources)[:, None]
    scaled = difference / np.where(difference > 0, above, below)
    return far + (near - far) * np.exp(-(scaled**2).sum(axis=2))


def completed(sources, returns, space=GRID):
    return CompletedRows.of(ObservedRows(space, space.from_unit(sources), returns))


def spread_sources(k, seed=0, dimensions=2):
    return np.random.default_rng(seed).random((k, dimensions))


def noise_rows(k=6, seed=0, space=GRID):
    returns = np.random.default_rng(seed).normal(size=(k, len(space)))
    return completed(spread_sources(k, seed, space.n_dimensions), returns, space)


class TestLevels:
    @pytest.mark.parametrize("k", [3, 4, 6, 11])
    def test_far_is_a_quantile(self, k):
        returns = np.random.default_rng(k).normal(size=(k, 9))
        np.testing.assert_allclose(
            _far_level(returns, 0.2), np.quantile(returns, 0.2, axis=0), rtol=1e-12
        )

    @pytest.mark.parametrize("seed", range(5))
    def test_near_lies_between_the_best_and_the_ceiling(self, seed):
        rows = noise_rows(seed=seed)
        fitted = PlateauModel().fit(rows)
        assert (fitted.shape.near >= rows.best).all()
        assert (fitted.shape.near <= rows.ceiling).all()
        np.testing.assert_array_equal(fitted.shape.far, _far_level(rows.returns, USUAL.far_share))


class TestReaches:
    @pytest.mark.parametrize(
        "reaches",
        [
            (0.2, 0.2, 0.2, 0.2),
            (0.4, 0.2, 0.4, 0.2),
            (0.2, 0.4, 0.4, 0.2),
            (0.2, 0.8, 0.2, 0.2),
        ],
    )
    def test_those_of_the_grid_are_found_on_each_side(self, reaches):
        sources = GRID.unit_targets[[9, 20, 31, 38, 46, 53, 12, 26]]
        rows = completed(sources, plateau(GRID, sources, reaches))
        assert tuple(ALONG_DIMENSIONS.fit(rows).shape.reaches) == reaches

    def test_the_best_of_both_starts_is_kept(self):
        def error(*starts):
            reaches = fit_reaches(
                squares, returns, heights, REACHES, [np.full(4, s) for s in starts], 2
            )
            rates = np.where(reaches < NONE, reaches**-2.0, 0.0)
            closeness = np.exp(-(squares * rates[:, None, None]).sum(axis=0))
            return ((returns - heights * closeness) ** 2).mean()

        leads = []
        for seed in range(40):
            rng = np.random.default_rng(seed)
            squares, heights = rng.random((4, 3, 6)) ** 2, rng.normal(size=6)
            returns = rng.normal(size=(3, 6))
            low, high = error(2), error(4)
            assert error(2, 4) == min(low, high)
            leads.append(np.sign(low - high))
        assert {-1.0, 1.0} <= set(leads), "each start is the better one at times"


class TestCombinedDimensions:
    """What counts may be the sum or the difference of two dimensions."""

    @pytest.mark.parametrize("direction", [2, 3], ids=["sum", "difference"])
    def test_policies_along_them_are_predicted(self, direction):
        def truth(sources):
            difference = (GRID.unit_targets - sources[:, None]) @ ALL[direction]
            return 8.0 * np.exp(-((difference / np.where(difference > 0, 0.2, 0.4)) ** 2)) - 3.0

        sources, others = GRID.unit_targets[::5], GRID.unit_targets[3::5]
        rows = completed(sources, truth(sources))
        combined, plain = (
            np.abs(shape.returns(others, slice(None)) - truth(others)).mean()
            for shape in (PlateauModel().fit(rows).shape, ALONG_DIMENSIONS.fit(rows).shape)
        )
        assert combined < 0.4 * plain
        assert "about 14 % of the range of a and b" in PlateauModel().fit(rows).explain()

    def test_predictions_equal_a_double_loop(self):
        rng = np.random.default_rng(2)
        far, near = rng.normal(size=(2, len(GRID)))
        reaches = rng.choice(REACHES, size=8)
        shape = PlateauShape(GRID, far, near, ALL, reaches)
        sources = rng.random((3, 2))
        returns = shape.returns(sources, slice(None))
        for i, source in enumerate(sources):
            for j, target in enumerate(GRID.unit_targets):
                exponent = 0.0
                for d, direction in enumerate(ALL):
                    difference = (target - source) @ direction
                    reach = reaches[d] if difference > 0 else reaches[4 + d]
                    if reach < NONE:
                        exponent += (difference / reach) ** 2
                expected = far[j] + (near[j] - far[j]) * np.exp(-exponent)
                assert returns[i, j] == pytest.approx(expected, rel=1e-9)

    def test_directions(self):
        root = np.sqrt(0.5)
        np.testing.assert_allclose(ALL, [[1, 0], [0, 1], [root, root], [root, -root]])
        assert combine_directions(1, combined=True).tolist() == [[1.0]]
        for dimensions in (3, 7):
            directions = combine_directions(dimensions, combined=True)
            assert directions.shape == (dimensions**2, dimensions)
            np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
            assert len(np.unique(directions, axis=0)) == dimensions**2
        np.testing.assert_array_equal(combine_directions(4, combined=False), np.eye(4))

    def test_many_dimensions_are_not_combined(self):
        space = ContextSpace.sample(30, seed=0, **{f"d{i}": Interval(0.0, 1.0) for i in range(40)})
        rows = completed(space.unit_targets[:4], np.random.default_rng(0).random((4, 30)), space)
        assert len(PlateauModel().fit(rows).shape.directions) == 40


class TestRest:
    def test_many_targets_are_thinned_out_and_the_same_ones_each_time(self):
        assert targets_to_fit(2, 1000, 2000).tolist() == list(range(1000))
        some = targets_to_fit(10, 5000, 2000)
        assert len(some) == 200
        assert len(set(some.tolist())) == len(some)
        assert (np.diff(some) > 0).all()
        np.testing.assert_array_equal(some, targets_to_fit(10, 5000, 2000))
        assert len(targets_to_fit(100_000, 5000, 2000)) == 32
        assert len(targets_to_fit(100_000, 9, 2000)) == 9
