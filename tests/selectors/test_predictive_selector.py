"""The default selector: what it expects, what it chooses, what it says, and odd data."""

import json

import numpy as np
import pytest
from predictive_runs import GRID, N, additive, mountain, run_rounds

from sdmbtl import ContextSpace
from sdmbtl.selectors import MountainSelector
from sdmbtl.selectors.acquisition import predicted_gains, predicted_improvement
from sdmbtl.selectors.gain_location import where_gained
from sdmbtl.selectors.models import (
    FirstRowModel,
    ModelComparison,
    default_models,
)
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl.testing import example_matrix


class TestChoice:
    def test_the_first_context_is_the_most_central_one(self):
        trial = PredictiveSelector(GRID).ask()
        assert trial.index == MountainSelector(GRID).ask().index
        assert trial.structure is trial.model is None

    def test_the_second_is_the_best_that_the_first_row_lets_expect(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.3)
        (first,) = run_rounds(selector, matrix, 1)
        comparison = ModelComparison([FirstRowModel()], predicted_improvement)
        comparison.watch(selector.rows)
        values = predicted_gains(comparison.choose().model, GRID.unit_targets, matrix[first.index])
        values[first.index] = -1.0
        trial = selector.ask()
        assert trial.index == int(values.argmax())
        assert trial.numbers["expected_gain"] == pytest.approx(values.max())
        assert trial.structure is trial.model is None, "no model was tested"
        assert trial.reason.startswith(
            "Training here is predicted to raise the mean best return by"
        )
        assert "Judged by the first policy alone, performance falls with" in trial.reason

    @pytest.mark.parametrize("rounds", [2, 3, 6])
    def test_later_the_largest_expected_gain_is_chosen(self, rounds):
        selector, matrix = PredictiveSelector(GRID), additive()
        run_rounds(selector, matrix, rounds)
        comparison = ModelComparison(default_models(), predicted_improvement)
        comparison.watch(selector.rows)
        choice = comparison.choose()
        values = predicted_gains(choice.model, GRID.unit_targets, selector.rows.best)
        values[[t.index for t in selector.trials]] = -1.0
        trial = selector.ask()
        assert trial.index == int(values.argmax())
        assert trial.strategy == "improvement"
        assert trial.model == choice.name
        assert trial.structure is None, "nothing was detected"
        corrected = values.max() * choice.record.realised_share
        assert trial.numbers == {"expected_gain": pytest.approx(corrected)}

    def test_the_reason_names_model_gain_and_what_was_found(self):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.1), 5)
        trial = selector.ask()
        choice = selector.comparison.choose()
        found = selector.comparison.fits[trial.model].explain()
        source = GRID.unit_targets[trial.index]
        prediction = choice.model.predict(source[None], slice(None))
        gains = predicted_improvement(prediction, selector.rows.best)[0]
        where = where_gained(gains, GRID.unit_targets, GRID.names)
        assert where is not None
        assert trial.reason == (
            f"{choice.explanation} Training here is predicted to raise the mean best return by "
            f"{trial.expected_gain:.3g}, mostly for {where}. {found[0].upper()}{found[1:]}."
        )
        assert trial.reason.startswith(f"Best predictor so far: {trial.model} (score ")

    def test_of_equal_gains_the_reason_is_about_the_context_that_is_chosen(self):
        """The most central of them is, not the first: what it would improve is other targets."""
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(), 3)
        choice = selector._choose_model(selector.history)
        free = selector.history.free_targets()
        best = np.full(N, 1e3)  # nothing improves: every gain is the same
        gains, index, row = selector._compare_sources(selector.history, choice, best, free)
        prediction = choice.model.predict(GRID.unit_targets[index][None], slice(None))
        assert index != np.flatnonzero(free)[0]
        np.testing.assert_array_equal(row, predicted_improvement(prediction, best)[0])
        assert gains[index] == pytest.approx(row.mean())

    def test_if_no_model_predicts_the_choice_is_random_and_says_so(self):
        chosen = []
        for seed in (0, 1):
            selector = PredictiveSelector(GRID, seed=seed, models=["none"])
            trials = run_rounds(selector, np.random.default_rng(0).normal(size=(N, N)), 6)
            assert {c.strategy for c in trials[2:]} == {"random"}
            assert {c.model for c in trials[2:]} == {"none"}
            assert trials[-1].reason.endswith(
                "it will be good. So any context is as good as another."
            )
            chosen.append([c.index for c in trials])
        assert chosen[0][:2] == chosen[1][:2]
        assert chosen[0][2:] != chosen[1][2:]

    def test_without_any_gain_the_space_is_covered(self):
        selector = PredictiveSelector(GRID)
        trials = run_rounds(selector, np.full((N, N), 7.3), 6)
        assert [c.index for c in trials] == [
            c.index for c in run_rounds(MountainSelector(GRID), np.zeros((N, N)), 6)
        ]
        assert trials[-1].strategy == "m-mbtl"
        assert trials[-1].reason.startswith("No further gain is predicted. ")
        assert "Reduces the mean distance" in trials[-1].reason

    @pytest.mark.parametrize("size", [16, 31], ids=["one round", "two rounds"])
    def test_many_targets_are_compared_on_some_of_them_first(self, size):
        space = ContextSpace(a=range(size), b=range(size))
        selector, matrix = PredictiveSelector(space), mountain(space, noise=0.3)
        run_rounds(selector, matrix, 4)
        comparison = ModelComparison(default_models(), predicted_improvement)
        comparison.watch(selector.rows)
        choice = comparison.choose()
        values = predicted_gains(choice.model, space.unit_targets, selector.rows.best)
        values *= choice.record.realised_share
        trial = selector.ask()
        assert trial.expected_gain == pytest.approx(values[trial.index])
        assert trial.expected_gain > 0.99 * values.max()


class TestPending:
    def test_expected_gains_of_pending_policies_add_up_by_hand(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.1)
        run_rounds(selector, matrix, 4)
        first = selector.ask()
        choice = selector._choose_model(selector.history)
        best = selector.rows.best
        prediction = choice.model.predict(GRID.unit_targets[[first.index]], slice(None))
        expected = best + predicted_improvement(prediction, best)[0]
        np.testing.assert_allclose(selector._expected_best(selector.history, choice), expected)
        values = predicted_gains(choice.model, GRID.unit_targets, expected)
        values[[t.index for t in selector.trials]] = -1.0
        assert selector.ask().index == int(values.argmax())


class TestOddRows:
    def test_a_warm_start_beside_the_targets(self):
        rng = np.random.default_rng(0)
        units = rng.random((5, 2))
        distance = np.abs(units[:, None] - GRID.unit_targets) @ np.array([4.0, 2.0])
        selector = PredictiveSelector(GRID)
        for source, row in zip(GRID.from_unit(units), 10 - distance, strict=True):
            selector.tell(GRID.context(source), row, source_return=10.0)
        assert len(selector.evidence()) == 5 * 3
        trial = selector.ask()
        assert trial.model is not None
        assert trial.strategy == "improvement"
        nearest = distance.min(axis=0)
        gain = np.maximum(nearest - (10 - mountain()), 0.0).mean(axis=1)
        assert gain[trial.index] > 0.8 * gain.max()


class TestEvidence:
    def test_has_an_entry_for_each_row_and_model(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, matrix, 2)
        assert selector.evidence() == []
        run_rounds(selector, matrix, 3)
        entries = selector.evidence()
        assert [e["rows"] for e in entries] == [2] * 5 + [3] * 5 + [4] * 5
        names = [s.name for s in default_models()]
        assert [e["model"] for e in entries] == names * 3
        keys = {"model", "rows", "score", "error", "expected", "gain"}
        assert set(entries[0]) == keys
        assert json.loads(json.dumps(entries)) == entries

    def test_is_true(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        trials = run_rounds(selector, matrix, 4)
        returns = matrix[[c.index for c in trials]]
        for entry in selector.evidence():
            known, row = returns[: entry["rows"]], returns[entry["rows"]]
            gain = np.maximum(row - known.max(axis=0), 0.0).mean()
            assert entry["gain"] == pytest.approx(gain)
            assert 0.0 <= entry["score"] <= 1.0
            if entry["model"] == "none":
                error = np.sqrt(((row - known.mean(axis=0)) ** 2).mean())
                assert entry["error"] == pytest.approx(error)

    def test_leaves_out_runs_that_have_probably_failed(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, matrix, 8)
        assert selector.failed_runs() == []
        run_rounds(selector, matrix - 100.0, 1)
        selector.tell(selector.ask(), status="failed")
        run_rounds(selector, matrix, 2)
        assert selector.failed_runs() == [8]
        assert sorted({e["rows"] for e in selector.evidence()}) == [2, 3, 4, 5, 6, 7, 9, 10]


class TestRemainingGain:
    def test_is_unknown_before_the_third_row(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        for _ in range(3):
            assert selector.remaining_gain() is None
            run_rounds(selector, matrix, 1)
        assert selector.remaining_gain() > 0.0

    @pytest.mark.parametrize("rounds", [4, 6, 10])
    def test_is_right_on_an_exact_mountain(self, rounds):
        selector, matrix = PredictiveSelector(GRID), mountain()
        run_rounds(selector, matrix, rounds)
        expected, before = selector.remaining_gain(3), selector.performance
        run_rounds(selector, matrix, 3)
        assert expected == pytest.approx(selector.performance - before, rel=0.05)

    def test_is_what_the_next_trials_say_together(self):
        """One forecast, one number: both are corrected by the share that came so far."""
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), 5)
        choice = selector._choose_model(selector.history)
        assert abs(choice.record.realised_share - 1.0) > 0.01
        one, three = selector.remaining_gain(1), selector.remaining_gain(3)
        raw = predicted_gains(choice.model, GRID.unit_targets, choice.best).max()
        assert one == pytest.approx(raw * choice.record.realised_share)
        trials = selector.ask(3)
        assert trials[0].expected_gain == pytest.approx(one)
        assert sum(trial.expected_gain for trial in trials) == pytest.approx(three)
        assert f"raise the mean best return by {one:.3g}" in trials[0].reason

    def test_is_never_more_than_the_highest_return_leaves(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, 5)
        choice = selector.next_trials(1)[0]
        left = 0.5 * choice.expected_gain
        selector.return_range = (-1e9, selector.rows.best.mean() + left)
        assert selector.remaining_gain() == pytest.approx(left)
        bounded = selector.ask()
        assert bounded.expected_gain == pytest.approx(left)
        assert bounded.source == choice.source

    def test_is_nothing_when_all_is_trained(self):
        space = ContextSpace(a=range(5))
        selector = PredictiveSelector(space)
        run_rounds(selector, example_matrix(space), 5)
        assert selector.remaining_gain() == 0.0
