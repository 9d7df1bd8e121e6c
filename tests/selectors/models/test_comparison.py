"""The comparison: records by hand, detection, growth, and what happens when rows change."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ModelError
from sdmbtl.selectors.acquisition import expected_improvement, predicted_improvement
from sdmbtl.selectors.models import (
    FittedModel,
    ModelComparison,
    Outcome,
    PlateauModel,
    RowModel,
    RowPrediction,
    TrackRecord,
    UnstructuredModel,
    default_models,
)
from sdmbtl.selectors.models import comparison as contest_module
from sdmbtl.selectors.models.cells import target_cells
from sdmbtl.selectors.models.comparison import CELLS, _likeness
from sdmbtl.transfer import ObservedRows

GRID = ContextSpace(a=range(7), b=range(6))
N = len(GRID)
LINE = ContextSpace(a=range(4))


def outcome(**given_):
    usual = {"score": 0.5, "error": 1.0, "variance": 1.0, "expected": 1.0, "gain": 1.0}
    return Outcome(**{"rows": 2, "above": None, **usual, **given_})


class ScriptedFit(FittedModel):
    """Predicts the same row for every source."""

    def __init__(self, row, variance):
        self.row, self.variance = row, variance

    def predict(self, sources, targets):
        mean = np.tile(self.row[targets], (len(sources), 1))
        return RowPrediction(mean, np.full(len(sources), float(self.variance)))

    def explain(self):
        return "as the script says"


class Scripted(RowModel):
    """Always expects the same row."""

    min_rows = 1

    def __init__(self, name, row, variance=1.0, min_rows=1):
        self.name, self.row, self.variance = name, np.array(row, dtype=float), variance
        self.min_rows = min_rows

    def fit(self, rows):
        return ScriptedFit(self.row, self.variance)


def line_rows(*returns):
    return ObservedRows(LINE, [[0.0]] * len(returns), returns)


def contest_of(*models):
    return ModelComparison(models, predicted_improvement)


def default_contest():
    return contest_of(*default_models())


def improvements(comparison, name, sources, targets, best):
    return predicted_improvement(
        comparison.calibrated(name).predict(sources, targets), best[targets]
    )


def spread_sources(k, seed=0):
    return GRID.unit_targets[np.random.default_rng(seed).permutation(N)[:k]]


def observed(sources, returns):
    return ObservedRows(GRID, GRID.from_unit(sources), returns)


def falling_rows(k=9, seed=0, left=(4.0, 2.0), right=(4.0, 2.0), noise=0.05):
    sources = spread_sources(k, seed)
    x, y = sources[:, None], GRID.unit_targets[None]
    returns = 5 * np.sin(9 * GRID.unit_targets.sum(axis=1)) - np.maximum(y - x, 0) @ np.array(left)
    returns = returns - np.maximum(x - y, 0) @ np.array(right)
    rng = np.random.default_rng(seed + 1)
    return observed(sources, returns + noise * rng.normal(size=returns.shape))


def noise_rows(k=9, seed=0):
    return observed(spread_sources(k, seed), np.random.default_rng(seed).normal(size=(k, N)))


class TestLikeness:
    def test_by_hand(self):
        assert _likeness(np.array([1.0, 0.0]), np.array([3.0, 4.0])) == pytest.approx(9 / 25)
        assert _likeness(np.array([1.0, 0.0]), np.array([0.0, 4.0])) == 0.0

    def test_without_gain_or_expectation_is_0(self):
        assert _likeness(np.zeros(2), np.ones(2)) == 0.0
        assert _likeness(np.ones(2), np.zeros(2)) == 0.0


class TestOutcomes:
    ROWS = ([0.0, 0.0, 0.0, 0.0], [2.0, 0.0, -1.0, 1.0])

    def watched(self, row, variance=1.0):
        comparison = contest_of(Scripted("s", row, variance))
        comparison.watch(line_rows(*self.ROWS))
        return comparison

    def test_by_hand(self):
        # Nothing was tested before: policies did not differ, so the variance is that expected.
        (result,) = self.watched([1.0, 0.0, -1.0, -2.0]).records["s"].outcomes
        expected = expected_improvement(
            np.array([[1.0, 0.0, -1.0, -2.0]]), np.ones((1, 1)), np.array([[0.0, 0.0, -1.0, -2.0]])
        )[0]
        gains = np.array([2.0, 0.0, 0.0, 1.0])
        assert result.rows == 1
        assert result.error == pytest.approx((1 + 0 + 0 + 9) / 4)
        assert result.variance == 1.0
        assert result.gain == pytest.approx(0.75)
        assert result.expected == pytest.approx(expected.mean())
        assert result.score == pytest.approx(_likeness(expected, gains))
        assert result.above == 1.0, "above 0 was expected on the first target, and came"

    def test_improvements_are_compared_cell_by_cell(self):
        rows = noise_rows(3)
        best = rows.returns[:2].max(axis=0)
        comparison = contest_of(Scripted("s", np.zeros(N), min_rows=2))
        comparison.watch(rows)
        between = (rows.returns[:2] - rows.returns[:2].mean(axis=0)).var()
        expected = expected_improvement(
            -best[None], np.sqrt(np.maximum([[1.0]], between)), -rows.returns[:2].max()
        )[0]
        gains = np.maximum(rows.returns[2] - best, 0.0)
        cells = target_cells(GRID.unit_targets, CELLS)
        by_cell = [np.bincount(cells, weights=values) for values in (expected, gains)]
        assert comparison.records["s"].outcomes[0].score == pytest.approx(_likeness(*by_cell))


class TestFailedRuns:
    """A training run fails now and then: its row lies far below all others."""

    @staticmethod
    def rows_with(failures, k=12, drop=60.0):
        rows = falling_rows(k)
        returns = rows.returns.copy()
        returns[list(failures)] -= drop
        return ObservedRows(GRID, rows.sources, returns)

    def test_no_model_learns_from_them(self):
        comparison, clean = default_contest(), default_contest()
        rows = self.rows_with((4, 9))
        sound = rows.only(~np.isin(np.arange(12), (4, 9)))
        completed = comparison.watch(rows)
        assert np.flatnonzero(comparison.failed).tolist() == [4, 9]
        np.testing.assert_array_equal(completed.returns, clean.watch(sound).returns)
        assert comparison.records == clean.records
        assert comparison.choose().name == clean.choose().name

    def test_a_row_out_of_order_costs_only_what_comes_after_it(self, monkeypatch):
        """Of runs side by side a later one may be reported first; rows keep the order of asks."""
        monkeypatch.setattr(contest_module, "find_failed_runs", lambda r: np.zeros(len(r), bool))
        rows, fitted = falling_rows(10), []

        class Counting(PlateauModel):
            def fit(self, rows):
                fitted.append(len(rows))
                return super().fit(rows)

        comparison = contest_of(Counting(), UnstructuredModel())
        comparison.watch(rows.only(slice(9)).only(np.arange(9) != 6))
        fitted.clear()
        comparison.watch(rows.only(slice(9)))
        assert fitted == [7, 8, 9]
        fresh = contest_of(PlateauModel(), UnstructuredModel())
        fresh.watch(rows.only(slice(9)))
        assert_same_contest(comparison, fresh)


class TestImprovements:
    def test_later_the_variance_is_what_past_errors_say(self):
        comparison = contest_of(Scripted("s", np.zeros(4), variance=2.0))
        comparison.watch(line_rows([0.0] * 4, [1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]))
        # Errors of 1/2 and 1, variances of 2 and 2.
        assert comparison.records["s"].calibration == pytest.approx(1.5 / 4.0)
        deviation = np.sqrt([[2.0 * 1.5 / 4.0]])
        some, best = np.array([2, 0]), np.array([1.0, 5.0, 2.0, 5.0])
        expected = expected_improvement(-np.array([[2.0, 1.0]]), deviation, np.full((1, 2), -2.0))
        values = improvements(comparison, "s", np.zeros((1, 1)), some, best)
        np.testing.assert_allclose(values, expected)


class TestVerdict:
    def test_of_equals_the_first_is_kept(self):
        rows = line_rows([0.0] * 4, [1.0, 0.0, 0.0, 0.0])
        right, wrong = [1.0, -9.0, -9.0, -9.0], [-9.0, 1.0, -9.0, -9.0]
        comparison = contest_of(Scripted("w", wrong), Scripted("a", right))
        comparison.watch(rows)
        choice = comparison.choose()
        assert choice.name == "a"
        assert choice.model.fitted is comparison.fits["a"]
        assert choice.record is comparison.records["a"]
        assert choice.scores == {name: comparison.records[name].score for name in ("w", "a")}
        assert choice.explanation == (
            f"Best predictor so far: a (score {choice.scores['a']:.2f}; "
            f"next: w {choice.scores['w']:.2f})."
        )
        again = contest_of(Scripted("b", right), Scripted("a", right))
        again.watch(rows)
        assert again.choose().name == "b"

    def test_says_which_models_were_passed_over_and_why(self):
        comparison = contest_of(*(Scripted(name, [0.0] * 4) for name in "abcd"))
        comparison.watch(line_rows([0.0] * 4))
        for name, score, error in (("a", 0.61, 1), ("b", 0.632, 1), ("c", 0.9, 9), ("d", 0.62, 1)):
            comparison.records[name] = TrackRecord((outcome(score=score, error=error),))
        choice = comparison.choose()
        assert choice.name == "a"
        assert choice.explanation == (
            "Best predictor so far: a (score 0.61; higher, but with too large errors: c 0.90; "
            "higher, but counted as equal: b 0.63, d 0.62)."
        )
        assert choice.passed_over == {
            "higher, but with too large errors": ["c"],
            "higher, but counted as equal": ["b", "d"],
        }


def assert_same_contest(one, other):
    assert one.records == other.records
    np.testing.assert_array_equal(one.best, other.best)
    assert one.choose().name == other.choose().name
    sources = np.random.default_rng(0).random((3, 2))
    for name in one.fits:
        np.testing.assert_array_equal(
            improvements(one, name, sources, slice(None), one.best),
            improvements(other, name, sources, slice(None), other.best),
        )


def with_holes(rows):
    returns = rows.returns.copy()
    returns[np.random.default_rng(3).random(returns.shape) < 0.5] = np.nan
    returns[:, 5] = 1.0
    return ObservedRows(GRID, rows.sources, returns)


class TestGrowth:
    @pytest.mark.parametrize("holes", [False, True])
    def test_row_by_row_is_the_same_as_all_at_once(self, holes):
        rows = with_holes(falling_rows()) if holes else falling_rows()
        slow, fast = default_contest(), default_contest()
        for count in range(1, len(rows) + 1):
            slow.watch(rows.only(slice(count)))
        completed = fast.watch(rows)
        assert completed is fast.rows
        assert_same_contest(slow, fast)
        assert [o.rows for o in fast.records["additive"].outcomes] == list(range(2, len(rows)))


class TestHoles:
    def test_are_filled_by_what_the_model_predicts(self):
        expected = np.array([5.0, 1.0, 2.0, 3.0])
        comparison = contest_of(Scripted("s", expected))
        completed = comparison.watch(line_rows([0.0] * 4, [np.nan, np.nan, np.nan, 4.0]))
        np.testing.assert_allclose(completed.returns[1], expected + 1.0)
        assert completed.returns[1, 3] == 4.0


class TestErrors:
    @pytest.mark.parametrize("models", [[], [UnstructuredModel(), UnstructuredModel()]])
    def test_names_must_differ(self, models):
        with pytest.raises(ModelError, match="Models must have different names. Got"):
            contest_of(*models)

    def test_too_few_rows_for_any(self):
        comparison = default_contest()
        comparison.watch(falling_rows(1))
        with pytest.raises(ModelError, match="No model can be fitted to so few rows"):
            comparison.choose()
