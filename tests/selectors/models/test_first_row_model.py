"""What a single row says: Mountain or plateau, falls on both sides, what the user knows."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models import CompletedRows, FirstRowModel
from sdmbtl.selectors.models.first_row_model import FirstRowMountain, FirstRowPlateau
from sdmbtl.selectors.models.plateau_model import PlateauModel, PlateauShape
from sdmbtl.transfer import ObservedRows

GRID = ContextSpace(a=range(7), b=range(7))
USUAL = FirstRowModel()
N = len(GRID)
CENTRE = np.array([0.5, 0.5])
TILT = np.array([2.0, -1.0])


def mountain_row(falls, source=CENTRE, tilt=TILT):
    """(N,) falls on both sides of the source, and difficulty in one direction."""
    return 9.0 + GRID.unit_targets @ tilt - np.abs(GRID.unit_targets - source) @ np.array(falls)


def one_row(row, source=CENTRE):
    return CompletedRows.of(ObservedRows(GRID, [GRID.from_unit(source)], [row]))


def explicit_falls(row, source):
    """The ridge regression with additional observations instead of normal equations."""
    differences = GRID.unit_targets - source
    features = np.hstack([np.ones((N, 1)), differences, np.abs(differences)])
    penalty = np.sqrt(USUAL.ridge * N) * np.eye(features.shape[1])[1:]
    response = np.concatenate([row, np.zeros(len(penalty))])
    slopes = np.linalg.lstsq(np.vstack([features, penalty]), response, rcond=None)[0]
    return np.maximum(-slopes[3:], USUAL.least_fall * np.ptp(row))


class TestFalls:
    @pytest.mark.parametrize("seed", range(3))
    def test_are_those_of_the_explicit_regression(self, seed):
        rng = np.random.default_rng(seed)
        source = rng.random(2)
        row = mountain_row([4.0, 2.0], source) + 0.5 * rng.normal(size=N)
        fitted, _ = FirstRowModel()._mountain(one_row(row, source))
        np.testing.assert_allclose(-fitted.slopes, explicit_falls(row, source), rtol=1e-8)

    def test_are_never_negative_nor_zero(self):
        row = mountain_row([-4.0, 0.0])
        fitted = FirstRowModel().fit(one_row(row))
        np.testing.assert_allclose(-fitted.slopes, USUAL.least_fall * np.ptp(row))


class TestPredictions:
    @pytest.mark.parametrize("targets", [slice(None), np.array([3, 0, 17])], ids=["all", "some"])
    def test_equal_a_double_loop(self, targets):
        source = np.array([0.3, 0.9])
        row = mountain_row([4.0, 2.0], source) + np.random.default_rng(0).normal(size=N)
        fitted = FirstRowModel().fit(one_row(row, source))
        sources = np.random.default_rng(1).random((4, 2))
        prediction = fitted.predict(sources, targets)
        for i, wanted in enumerate(sources):
            for position, j in enumerate(np.arange(N)[targets]):
                expected = row[j]
                for d in range(2):
                    target = GRID.unit_targets[j, d]
                    change = abs(wanted[d] - target) - abs(source[d] - target)
                    expected += fitted.slopes[d] * change
                assert prediction.mean[i, position] == pytest.approx(expected)
        np.testing.assert_allclose(prediction.variance, (USUAL.spread * np.ptp(row)) ** 2)


def plateau_row(reach=0.3, low=2.0, high=8.0, source=CENTRE):
    """(N,) high around the source, low far from it, cut off as a saturated return is."""
    distance = np.linalg.norm((GRID.unit_targets - source) / reach, axis=1)
    return np.where(distance < 1.0, high, low)


class TestPlateauOrMountain:
    def test_a_saturated_row_is_a_plateau_and_a_slope_a_mountain(self):
        assert isinstance(FirstRowModel().fit(one_row(plateau_row())), FirstRowPlateau)
        row = mountain_row([4.0, 2.0])
        assert isinstance(FirstRowModel().fit(one_row(row)), FirstRowMountain)

    def test_the_plateau_of_another_source_is_that_of_the_first(self):
        row = plateau_row()
        rows = one_row(row)
        fitted = FirstRowPlateau(rows, USUAL)
        far = np.full(N, np.quantile(row, USUAL.far_share))
        model = PlateauModel(starts=USUAL.starts, combine_up_to=0)
        shape = PlateauShape.fit(
            rows.space, rows.sources, rows.returns, far, np.full(N, row.max()), model
        )
        sources = np.random.default_rng(0).random((4, 2))
        prediction = fitted.predict(sources, slice(None))
        np.testing.assert_allclose(prediction.mean, shape.returns(sources, slice(None)))
        np.testing.assert_allclose(prediction.variance, (USUAL.spread * np.ptp(row)) ** 2)
        at_home = shape.returns(rows.sources, slice(None))[0]
        assert fitted.error == pytest.approx(((row - at_home) ** 2).mean())
        assert fitted.explain() == f"judged by the first policy alone, {shape.explain()}"

    def test_later_rows_change_nothing(self):
        row = plateau_row()
        observed = ObservedRows(GRID, [GRID.from_unit(CENTRE)], [row])
        more = observed.added(GRID.target(0), row[::-1]).added(GRID.target(9), row + 5.0)
        one, several = (FirstRowPlateau(CompletedRows.of(rows), USUAL) for rows in (observed, more))
        np.testing.assert_array_equal(one.shape.reaches, several.shape.reaches)
        sources = np.random.default_rng(0).random((4, 2))
        np.testing.assert_array_equal(
            one.predict(sources, slice(None)).mean, several.predict(sources, slice(None)).mean
        )


def test_one_row_is_enough_and_the_explanation_says_so():
    assert FirstRowModel.min_rows == 1
    assert FirstRowModel.name == "first-row"
    fitted, _ = FirstRowModel()._mountain(one_row(mountain_row([4.0, 2.0])))
    assert fitted.explain() == (
        "judged by the first policy alone, performance falls with the distance from the source, "
        f"as on a Mountain (across the full range: a {fitted.slopes[0]:+.3g}; "
        f"b {fitted.slopes[1]:+.3g})"
    )
