"""The comparison: records by hand, detection, growth, and what happens when rows change."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ModelError
from sdmbtl.selectors.acquisition import expected_improvement, predicted_improvement
from sdmbtl.selectors.models import (
    CompletedRows,
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
from sdmbtl.selectors.models.calibrated_model import LEAST_SPREAD, least_variance
from sdmbtl.selectors.models.cells import target_cells
from sdmbtl.selectors.models.comparison import CELLS, NO_SCORE, SETS_KEPT, TOLERANCE, _likeness
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection import NO_STRUCTURE

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


def plateau_rows(k=9, seed=0, noise=0.02):
    sources = spread_sources(k, seed)
    squares = ((sources[:, None] - GRID.unit_targets) / 0.2) ** 2
    rng = np.random.default_rng(seed + 1)
    returns = np.exp(-squares.sum(axis=2))
    return observed(sources, returns + noise * rng.normal(size=returns.shape))


def noise_rows(k=9, seed=0):
    return observed(spread_sources(k, seed), np.random.default_rng(seed).normal(size=(k, N)))


class TestLikeness:
    def test_scale_plays_no_role(self):
        one = np.array([1.0, 2.0, 0.0])
        assert _likeness(one, 7 * one) == pytest.approx(1.0)
        assert _likeness(1e-9 * one, 1e9 * one) == pytest.approx(1.0)

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

    def test_expectations_above_the_ceiling(self):
        assert self.watched([-1.0] * 4).records["s"].outcomes[0].above is None
        assert self.watched([1.0] * 4).records["s"].outcomes[0].above == 0.5
        # What counts is the largest return on any target, not the best on each.
        comparison = contest_of(Scripted("s", [6.0] * 4))
        comparison.watch(line_rows([0.0, 0.0, 0.0, 5.0], [1.0, 6.0, 7.0, 5.0]))
        assert comparison.records["s"].outcomes[0].above == 0.5

    def test_certainty_has_a_limit(self):
        rows = line_rows([0.0, 0.0, 0.0, 4.0], self.ROWS[1])
        comparison = contest_of(Scripted("s", np.zeros(4), variance=0.0))
        comparison.watch(rows)
        least = (LEAST_SPREAD * 4.0) ** 2
        assert least_variance(CompletedRows.of(rows.first(1))) == pytest.approx(least)
        assert comparison.records["s"].outcomes[0].variance == pytest.approx(least)

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

    def test_it_does_not_matter_when_they_are_noticed(self):
        rows, at_once, step_by_step = self.rows_with((0, 5)), default_contest(), default_contest()
        at_once.watch(rows)
        noticed = []
        for count in range(1, 13):
            step_by_step.watch(rows.first(count))
            noticed.append(int(step_by_step.failed.sum()))
        assert noticed[0] == 0
        assert noticed[-1] == 2
        assert step_by_step.records == at_once.records

    def test_their_returns_count_where_they_are_the_best(self):
        rows = self.rows_with((4,))
        returns = rows.returns.copy()
        returns[4, 7] = 99.0
        returns[4, 8] = np.nan
        comparison = default_contest()
        comparison.watch(ObservedRows(GRID, rows.sources, returns))
        assert comparison.failed[4]
        assert comparison.best[7] == 99.0
        expected = np.delete(returns, 4, axis=0).max(axis=0)
        np.testing.assert_array_equal(np.delete(comparison.best, 7), np.delete(expected, 7))

    def test_an_error_of_a_model_comes_back_until_it_is_fixed(self):
        class Breaking(Scripted):
            broken = True

            def fit(self, rows):
                if self.broken and len(rows) == 2:
                    raise ZeroDivisionError
                return super().fit(rows)

        model = Breaking("s", [1.0] * 4)
        comparison = contest_of(model)
        rows = line_rows([0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0], [0.0, 0.0, 1.0, 1.0])
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                comparison.watch(rows)
        model.broken = False
        assert len(comparison.watch(rows)) == 3

    @pytest.mark.parametrize("holes", [False, True])
    def test_a_changed_mind_costs_nothing(self, monkeypatch, holes):
        """What was learnt is taken up again when a row is found sound after all."""
        rows = with_holes(falling_rows(10)) if holes else falling_rows(10)
        fitted = []

        class Counting(PlateauModel):
            def fit(self, rows):
                fitted.append(len(rows))
                return super().fit(rows)

        def judged(*failed):
            monkeypatch.setattr(
                contest_module, "find_failed_runs", lambda r: np.isin(np.arange(len(r)), failed)
            )

        comparison = contest_of(Counting(), UnstructuredModel())
        for count, failed, fits in [
            (5, (), [2, 3, 4, 5]),
            (6, (1,), [2, 3, 4, 5]),
            (7, (), [6, 7]),
            (8, (1,), [6, 7]),
            (9, (1, 8), []),
            (10, (1,), [8, 9]),
        ]:
            judged(*failed)
            fitted.clear()
            comparison.watch(rows.first(count))
            assert fitted == fits
            assert len(comparison._earlier) <= 1, "no set is kept twice"
            fresh = contest_of(PlateauModel(), UnstructuredModel())
            fresh.watch(rows.first(count))
            assert_same_contest(comparison, fresh)

    def test_a_row_out_of_order_costs_only_what_comes_after_it(self, monkeypatch):
        """Of runs side by side a later one may be reported first; rows keep the order of asks."""
        monkeypatch.setattr(contest_module, "find_failed_runs", lambda r: np.zeros(len(r), bool))
        rows, fitted = falling_rows(10), []

        class Counting(PlateauModel):
            def fit(self, rows):
                fitted.append(len(rows))
                return super().fit(rows)

        comparison = contest_of(Counting(), UnstructuredModel())
        comparison.watch(rows.first(9).only(np.arange(9) != 6))
        fitted.clear()
        comparison.watch(rows.first(9))
        assert fitted == [7, 8, 9]
        fresh = contest_of(PlateauModel(), UnstructuredModel())
        fresh.watch(rows.first(9))
        assert_same_contest(comparison, fresh)

    def test_only_a_few_sets_of_rows_are_kept(self, monkeypatch):
        rows, comparison = falling_rows(), default_contest()
        for failed in range(SETS_KEPT + 4):
            monkeypatch.setattr(
                contest_module, "find_failed_runs", lambda r, f=failed: np.arange(len(r)) == f
            )
            comparison.watch(rows.first(len(rows) - 1 + failed % 2))
        assert len(comparison._earlier) == SETS_KEPT

    def test_the_same_rows_are_not_judged_again(self, monkeypatch):
        comparison, rows = default_contest(), self.rows_with((4,))
        comparison.watch(rows)
        monkeypatch.setattr(contest_module, "find_failed_runs", None)
        assert comparison.watch(rows) is comparison.rows
        with pytest.raises(TypeError):
            comparison.watch(rows.first(11))


class TestImprovements:
    def test_before_any_test_policies_differ_at_least_as_much_as_they_did(self):
        comparison = contest_of(Scripted("s", np.zeros(4), variance=1e-6, min_rows=2))
        comparison.watch(line_rows([0.0] * 4, [2.0] * 4))
        best = np.full(4, 2.0)
        expected = expected_improvement(-np.ones((1, 4)), np.ones((1, 1)), np.full((1, 4), -2.0))
        values = improvements(comparison, "s", np.zeros((1, 1)), slice(None), best - 1)
        np.testing.assert_allclose(values, expected)

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

    @pytest.mark.parametrize(
        ("ahead", "chosen"), [(TOLERANCE / 2, "first"), (2 * TOLERANCE, "second")]
    )
    def test_a_small_lead_says_nothing(self, ahead, chosen):
        comparison = contest_of(Scripted("first", [0.0] * 4), Scripted("second", [0.0] * 4))
        comparison.watch(line_rows([0.0] * 4))
        comparison.records["first"] = TrackRecord((outcome(score=0.5),))
        comparison.records["second"] = TrackRecord((outcome(score=0.5 + ahead),))
        assert comparison.choose().name == chosen

    @pytest.mark.parametrize(("error", "chosen"), [(1.9, "first"), (2.1, "second")])
    def test_far_larger_errors_are_out_of_the_question(self, error, chosen):
        comparison = contest_of(Scripted("first", [0.0] * 4), Scripted("second", [0.0] * 4))
        comparison.watch(line_rows([0.0] * 4))
        comparison.records["first"] = TrackRecord((outcome(score=0.9, error=error**2),))
        comparison.records["second"] = TrackRecord((outcome(score=0.1, error=1.0),))
        choice = comparison.choose()
        assert choice.name == chosen
        assert choice.scores == {"first": 0.9, "second": 0.1}

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

    def test_while_nothing_was_tested_the_first_is_used(self):
        comparison = default_contest()
        comparison.watch(falling_rows(2))
        choice = comparison.choose()
        assert choice.name == "plateau"
        assert choice.explanation == (
            "No model has been tested yet, so the first one listed is used: plateau."
        )
        assert set(choice.scores.values()) == {None}

    @pytest.mark.parametrize("score", [0.0, 0.9 * NO_SCORE, 1.1 * NO_SCORE])
    def test_while_every_score_is_about_0_it_says_that_nothing_predicts(self, score):
        comparison = contest_of(Scripted("first", [0.0] * 4), Scripted("second", [0.0] * 4))
        comparison.watch(line_rows([0.0] * 4))
        comparison.records["first"] = TrackRecord((outcome(score=0.0),))
        comparison.records["second"] = TrackRecord((outcome(score=score),))
        words = "No model predicts the rows yet (every score is below 0.05): "
        assert comparison.choose().explanation.startswith(words) == (score < NO_SCORE)

    def test_does_not_change_with_later_rows(self):
        rows, comparison = falling_rows(), default_contest()
        comparison.watch(rows.first(5))
        choice, source = comparison.choose(), spread_sources(1, seed=9)
        before = choice.model.predict(source, slice(None))
        comparison.watch(rows)
        after = choice.model.predict(source, slice(None))
        np.testing.assert_array_equal(after.variance, before.variance)
        np.testing.assert_array_equal(after.ceiling, before.ceiling)

    def test_one_that_was_not_tested_does_not_win(self):
        late = Scripted("late", [0.0] * 4, min_rows=2)
        comparison = contest_of(late, Scripted("early", [0.0] * 4))
        comparison.watch(line_rows([0.0] * 4, [1.0] * 4))
        assert comparison.choose().name == "early"
        assert comparison.choose().scores["late"] is None

    def test_a_single_model_has_no_rival(self):
        comparison = contest_of(Scripted("s", [1.0] * 4))
        comparison.watch(line_rows([0.0] * 4, [1.0] * 4))
        assert comparison.choose().explanation == "Best predictor so far: s (score 1.00)."


class TestDetection:
    @pytest.mark.parametrize("seed", range(4))
    def test_a_mountain(self, seed):
        comparison = default_contest()
        comparison.watch(falling_rows(seed=seed))
        choice = comparison.choose()
        assert choice.name in ("mountain", "additive", "additive-quality")
        assert choice.scores["mountain"] > choice.scores[NO_STRUCTURE] + TOLERANCE

    @pytest.mark.parametrize("seed", range(4))
    def test_additive_but_no_mountain(self, seed):
        comparison = default_contest()
        comparison.watch(falling_rows(10, seed=seed, left=(8.0, 1.0), right=(1.0, 8.0)))
        choice = comparison.choose()
        assert choice.name in ("additive", "additive-quality")
        assert choice.scores["additive"] > choice.scores["mountain"] + TOLERANCE

    @pytest.mark.parametrize("seed", range(4))
    def test_a_plateau(self, seed):
        comparison = default_contest()
        comparison.watch(plateau_rows(seed=seed))
        choice = comparison.choose()
        assert choice.name == "plateau"
        assert choice.scores["plateau"] > choice.scores["additive"] + TOLERANCE
        assert choice.scores["plateau"] > choice.scores[NO_STRUCTURE] + TOLERANCE

    def test_noise_has_none_or_almost(self):
        leads = []
        for seed in range(8):
            comparison = default_contest()
            comparison.watch(noise_rows(12, seed))
            scores = comparison.choose().scores
            leads.append(max(scores.values()) - scores[NO_STRUCTURE])
        assert np.mean(leads) < 2 * TOLERANCE
        assert max(leads) < 0.15

    def test_none_is_the_mean_of_each_target(self):
        rows = noise_rows(5)
        fitted = UnstructuredModel().fit(CompletedRows.of(rows))
        some = np.array([4, 1])
        prediction = fitted.predict(np.zeros((3, 2)), some)
        np.testing.assert_allclose(prediction.mean, np.tile(rows.returns.mean(0)[some], (3, 1)))
        residuals = rows.returns - rows.returns.mean(axis=0)
        within = residuals - residuals.mean(axis=1, keepdims=True)
        between = residuals.mean(axis=1).var(ddof=1)
        np.testing.assert_allclose(prediction.variance, between + within.var())
        assert "says nothing" in fitted.explain()


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
            slow.watch(rows.first(count))
        completed = fast.watch(rows)
        assert completed is fast.rows
        assert_same_contest(slow, fast)
        assert [o.rows for o in fast.records["additive"].outcomes] == list(range(2, len(rows)))

    def test_the_same_rows_again_are_not_computed_again(self):
        comparison, rows = default_contest(), falling_rows()
        comparison.watch(rows)
        fits, records = (
            dict(comparison.fits),
            dict(comparison.records),
        )
        comparison.watch(rows.first(len(rows)))
        assert all(comparison.fits[name] is fits[name] for name in fits)
        assert comparison.records == records

    @pytest.mark.parametrize("change", ["return", "order", "fewer", "other space"])
    def test_changed_rows_are_noticed(self, change):
        comparison, rows = default_contest(), falling_rows()
        comparison.watch(rows)
        returns, sources, space = rows.returns.copy(), rows.sources, GRID
        if change == "return":
            returns[3, 7] += 2.0
        elif change == "order":
            order = [0, 2, 1, *range(3, len(rows))]
            returns, sources = returns[order], sources[order]
        elif change == "fewer":
            returns, sources = returns[:4], sources[:4]
        else:
            space = ContextSpace(a=range(2), b=range(21))  # as many targets, other cells
            sources = space.targets[: len(returns)]
        other = ObservedRows(space, sources, returns)
        comparison.watch(other)
        fresh = default_contest()
        fresh.watch(other)
        assert_same_contest(comparison, fresh)

    @given(seed=st.integers(0, 20), scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100))
    @example(seed=3, scale=5.5, shift=0.0)  # two rows at an edge: one side has no reach
    @settings(deadline=None, max_examples=8)
    def test_shift_and_scale(self, seed, scale, shift):
        rows = falling_rows(6, seed, left=(3.0, 1.0), noise=0.5)
        one, other = default_contest(), default_contest()
        one.watch(rows)
        other.watch(ObservedRows(GRID, rows.sources, scale * (rows.returns + shift)))
        for name in one.records:
            assert other.records[name].score == pytest.approx(one.records[name].score, rel=1e-4)
            assert other.records[name].calibration == pytest.approx(
                one.records[name].calibration, rel=1e-4
            )
        assert one.choose().name == other.choose().name

    @pytest.mark.parametrize("size", [1.0, 1e6, 1e120])
    def test_equal_rows_do_not_blow_up_the_improvements(self, size):
        comparison = contest_of(UnstructuredModel())
        comparison.watch(line_rows(np.zeros(4), np.zeros(4), size * np.arange(4.0)))
        sources, best = np.array([[0.5]]), np.zeros(4)
        expected = improvements(comparison, NO_STRUCTURE, sources, slice(None), best)
        assert (expected >= 0).all()
        assert (expected <= 3.0 * size).all(), "the ceiling is the largest return seen"

    def test_equal_rows_leave_nothing_to_expect(self):
        comparison = default_contest()
        comparison.watch(line_rows(*[[7.3] * 4] * 4))
        for name, record in comparison.records.items():
            assert [o.gain for o in record.outcomes] == [0.0, 0.0], name
            assert record.score == 0.0
            assert 0.0 < record.share_that_came <= 1.0


class TestHoles:
    def test_are_filled_by_what_the_model_predicts(self):
        expected = np.array([5.0, 1.0, 2.0, 3.0])
        comparison = contest_of(Scripted("s", expected))
        completed = comparison.watch(line_rows([0.0] * 4, [np.nan, np.nan, np.nan, 4.0]))
        np.testing.assert_allclose(completed.returns[1], expected + 1.0)
        assert completed.returns[1, 3] == 4.0

    def test_of_the_first_row_are_filled_by_its_neighbours(self):
        comparison = contest_of(Scripted("s", np.full(4, 99.0)))
        completed = comparison.watch(line_rows([1.0, np.nan, 1.0, 1.0]))
        assert completed.returns[0].tolist() == pytest.approx([1.0] * 4)

    def test_the_model_of_the_verdict_is_asked(self):
        right, wrong = (
            Scripted("a", [1.0, -9.0, -9.0, -9.0]),
            Scripted("w", [-9.0, 1.0, -9.0, -9.0]),
        )
        comparison = contest_of(wrong, right)
        rows = line_rows([0.0] * 4, [1.0, 0.0, 0.0, 0.0], [1.0, np.nan, np.nan, np.nan])
        comparison.watch(rows.first(2))
        assert comparison.choose().name == "a"
        np.testing.assert_allclose(comparison.watch(rows).returns[2], right.row)

    def test_the_next_row_of_a_mountain_is_filled_well(self):
        rows = falling_rows(noise=0.0)
        returns = rows.returns.copy()
        returns[8, ::2] = np.nan
        returns[8, 3] = rows.returns[8, 3]
        comparison = default_contest()
        completed = comparison.watch(ObservedRows(GRID, rows.sources, returns))
        np.testing.assert_allclose(completed.returns[8], rows.returns[8], atol=0.3)


class TestErrors:
    @pytest.mark.parametrize("models", [[], [UnstructuredModel(), UnstructuredModel()]])
    def test_names_must_differ(self, models):
        with pytest.raises(ModelError, match="Models must have different names. Got"):
            contest_of(*models)

    def test_no_rows(self):
        with pytest.raises(ModelError, match="at least one observed row. Got none"):
            default_contest().watch(ObservedRows(GRID))

    def test_nothing_seen_yet(self):
        with pytest.raises(ModelError, match="No rows yet"):
            _ = default_contest().best

    def test_too_few_rows_for_any(self):
        comparison = default_contest()
        comparison.watch(falling_rows(1))
        with pytest.raises(ModelError, match="No model can be fitted to so few rows"):
            comparison.choose()
