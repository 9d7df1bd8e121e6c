"""Plateau model: levels, reaches and predictions against loops and known truths."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models import KnownRows, PlateauModel
from sdmbtl.selectors.models.plateau_model import Plateau, combine_directions

GRID = ContextSpace(a=range(8), b=range(7))
NONE = np.inf
REACHES = np.array([*PlateauModel().reaches, NONE])
#: a, b, a + b and a - b.
ALL = combine_directions(2)


def plateau(space, sources, reaches, far=-3.0, near=5.0):
    """(k, N) returns that are `near` around the source and `far` away from it.

    The reaches are those on targets above the source, then those below; or the same for both.
    """
    above, below = np.resize(reaches, (2, space.n_dimensions))
    difference = space.unit_targets - np.atleast_2d(sources)[:, None]
    scaled = difference / np.where(difference > 0, above, below)
    return far + (near - far) * np.exp(-(scaled**2).sum(axis=2))


def known(sources, returns, space=GRID):
    own = [
        row[np.abs(space.unit_targets - source).sum(axis=1).argmin()]
        for source, row in zip(sources, returns, strict=True)
    ]
    return KnownRows(space, sources, returns, np.array(own))


def spread_sources(k, seed=0, dimensions=2):
    return np.random.default_rng(seed).random((k, dimensions))


def noise_rows(k=6, seed=0, space=GRID):
    returns = np.random.default_rng(seed).normal(size=(k, len(space)))
    return known(spread_sources(k, seed, space.n_dimensions), returns, space)


class TestLevels:
    @pytest.mark.parametrize("k", [1, 3, 6])
    def test_far_is_a_quantile_over_the_policies_and_a_bad_one(self, k):
        rows = noise_rows(k)
        bad = np.full((1, len(GRID)), np.quantile(rows.returns, 0.2))
        np.testing.assert_allclose(
            PlateauModel().fit(rows).far,
            np.quantile(np.vstack([rows.returns, bad]), 0.2, axis=0),
            rtol=1e-12,
        )

    @pytest.mark.parametrize("seed", range(5))
    def test_near_lies_between_the_best_and_the_ceiling(self, seed):
        rows = noise_rows(seed=seed)
        shape = PlateauModel().fit(rows)
        assert (shape.near >= rows.best).all()
        assert (shape.near <= rows.ceiling).all()


class TestReaches:
    @pytest.mark.parametrize(
        "reaches",
        [(0.2, 0.2, 0.2, 0.2), (0.2, 0.4, 0.4, 0.2), (0.2, 0.8, 0.2, 0.2)],
    )
    def test_policies_are_predicted_by_those_on_each_side(self, reaches):
        sources, others = GRID.unit_targets[::4], GRID.unit_targets[2::4]
        shape = PlateauModel().fit(known(sources, plateau(GRID, sources, reaches)))
        predicted, truth = shape.returns(others, slice(None)), plateau(GRID, others, reaches)
        assert np.corrcoef(predicted.ravel(), truth.ravel())[0, 1] > 0.95

    def test_one_row_is_enough(self):
        source = GRID.unit_targets[[27]]
        shape = PlateauModel().fit(known(source, plateau(GRID, source, (0.2, 0.4))))
        there, far = shape.returns(GRID.unit_targets[[9]], np.array([9, 55]))[0]
        assert there > 4.0
        assert far < 0.0


class TestCombinedDimensions:
    """What counts may be the sum or the difference of two dimensions."""

    @pytest.mark.parametrize("direction", [2, 3], ids=["sum", "difference"])
    def test_policies_along_them_are_predicted(self, direction):
        def truth(sources):
            difference = (GRID.unit_targets - sources[:, None]) @ ALL[direction]
            return 8.0 * np.exp(-((difference / np.where(difference > 0, 0.2, 0.4)) ** 2)) - 3.0

        sources, others = GRID.unit_targets[::5], GRID.unit_targets[3::5]
        rows = known(sources, truth(sources))
        shape = PlateauModel().fit(rows)
        predicted = shape.returns(others, slice(None))
        assert np.corrcoef(predicted.ravel(), truth(others).ravel())[0, 1] > 0.9
        assert "about 14 % of the range of a and b" in shape.explain()

    def test_predictions_equal_a_double_loop(self):
        rng = np.random.default_rng(2)
        far, near = rng.normal(size=(2, len(GRID)))
        reaches = rng.choice(REACHES, size=8)
        shape = Plateau(GRID, far, near, ALL, reaches)
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
        assert combine_directions(1).tolist() == [[1.0]]
        for dimensions in (3, 7):
            directions = combine_directions(dimensions)
            assert directions.shape == (dimensions**2, dimensions)
            np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
            assert len(np.unique(directions, axis=0)) == dimensions**2
