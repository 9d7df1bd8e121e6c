"""The default selector: what it expects, what it chooses, what it says, and odd data."""

import json

import numpy as np
import pytest
from auto_runs import GRID, N, additive, indices, mountain, run_rounds
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl import ContextSpace, make_selector
from sdmbtl.errors import ExhaustedError, SelectorError, StateError
from sdmbtl.selectors import MountainSelector, RandomSelector
from sdmbtl.selectors import acquisition as acquisition_module
from sdmbtl.selectors.acquisition import predicted_gains, predicted_improvement
from sdmbtl.selectors.gain_location import where_gained
from sdmbtl.selectors.models import (
    AdditiveModel,
    FirstRowModel,
    ModelComparison,
    TrackRecord,
    default_models,
)
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl.testing import example_matrix, example_spaces
from sdmbtl.wording import points
from sdmbtl_lab.benchmarks import simulate


class TestChoice:
    def test_auto_is_this_selector(self):
        assert type(make_selector("auto", GRID)) is PredictiveSelector
        assert [s.name for s in default_models()] == [
            "plateau",
            "additive-quality",
            "additive",
            "mountain",
            "none",
        ]

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
        corrected = values.max() * choice.record.share_that_came
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
        index, gain, row = selector._largest_gain(selector.history, choice, best, free)
        prediction = choice.model.predict(GRID.unit_targets[index][None], slice(None))
        assert index != np.flatnonzero(free)[0]
        np.testing.assert_array_equal(row, predicted_improvement(prediction, best)[0])
        assert gain == pytest.approx(row.mean())

    def test_a_known_range_makes_gains_points_of_coverage(self):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.1), 5)
        in_returns = selector.next_trials(1)[0]
        selector.return_range = (-100.0, 100.0)
        trial = selector.ask()
        assert trial.source == in_returns.source
        assert trial.numbers == in_returns.numbers
        words = f"raise coverage by {points(trial.expected_gain / 200)}, mostly for "
        assert words in trial.reason

    def test_few_policies_of_a_mountain_get_close_to_the_best_possible(self):
        matrix = mountain(noise=0.2)
        run = simulate(PredictiveSelector(GRID), matrix, 8)
        cover = simulate(MountainSelector(GRID), matrix, 8)
        random = simulate(make_selector("random", GRID), matrix, 8)
        assert run.curve[-1] > random.curve[-1]
        assert run.curve[-1] > cover.curve[-1] - 0.1

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
        values *= choice.record.share_that_came
        trial = selector.ask()
        assert trial.expected_gain == pytest.approx(values[trial.index])
        assert trial.expected_gain > 0.99 * values.max()

    def test_settings_of_its_own(self):
        selector = PredictiveSelector(
            GRID,
            models=[AdditiveModel(ridge=1e-4), "mountain"],
            falls={"b": 2.0, "a": 0.5},
            difficulty=np.arange(N),
        )
        assert json.loads(json.dumps(selector.settings())) == {
            "models": [
                {"name": "additive", "ridge": 1e-4, "presume_fall": True},
                {"name": "mountain", "ridge": 2e-5, "presume_fall": True},
            ],
            "falls": [0.25, 1.0],
            "difficulty": [float(v) for v in range(N)],
        }
        plain = PredictiveSelector(GRID)
        assert plain.settings()["falls"] is None
        assert plain.settings()["difficulty"] is None
        with pytest.raises(StateError, match="falls"):
            plain.load_state_dict(PredictiveSelector(GRID, falls={"a": 1.0}).state_dict())

    @pytest.mark.parametrize("block", [1, 100, 5 * N])
    def test_gains_do_not_depend_on_the_size_of_the_blocks(self, monkeypatch, block):
        """Less than a row, some rows and a rest, and some rows that fit."""
        trials = []
        for size in (10**9, block):
            monkeypatch.setattr(acquisition_module, "BLOCK", size)
            trials.append(run_rounds(PredictiveSelector(GRID), mountain(noise=0.5), 14))
        for at_once, in_blocks in zip(*trials, strict=True):
            assert in_blocks.index == at_once.index
            assert in_blocks.expected_gain == pytest.approx(at_once.expected_gain)


class TestPending:
    @pytest.mark.parametrize("rows", [0, 1, 2, 4])
    def test_batches_are_spread(self, rows):
        selector, matrix = PredictiveSelector(GRID), mountain()
        run_rounds(selector, matrix, rows)
        batch = selector.ask(4)
        units = np.array([GRID.unit_targets[c.index] for c in batch])
        assert len({c.index for c in batch}) == 4
        for i in range(4):
            for j in range(i):
                steps = np.abs(units[i] - units[j]) * [6, 5]
                assert steps.max() > 1.5, "no two of a batch are neighbours"

    def test_what_is_pending_counts_as_trained(self):
        selector, matrix = PredictiveSelector(GRID), mountain()
        run_rounds(selector, matrix, 4)
        gains = [c.numbers["expected_gain"] for c in selector.ask(3)]
        assert gains == sorted(gains, reverse=True)
        assert gains[2] < gains[0]

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

    def test_pending_policies_never_make_improvements_negative(self):
        # Policies get better to the upper right: the pending one is expected to pass the ceiling.
        x, y = GRID.unit_targets[:, None], GRID.unit_targets[None]
        matrix = 10 * x.sum(axis=2) - 3 * np.abs(x - y).sum(axis=2)
        selector = PredictiveSelector(GRID)
        for index in (0, 7, 3, 8):
            selector.tell(GRID.target(index), matrix[index])
        selector.ask()
        choice = selector._choose_model(selector.history)
        best = selector._expected_best(selector.history, choice)
        prediction = choice.model.predict(GRID.unit_targets, slice(None))
        assert predicted_improvement(prediction, best).min() >= 0.0


class TestState:
    @pytest.mark.parametrize("rounds", [1, 2, 5])
    def test_continues_exactly_the_same(self, rounds):
        matrix = mountain(noise=0.5)
        original = PredictiveSelector(GRID, seed=3)
        run_rounds(original, matrix, rounds)
        original.ask()
        loaded = PredictiveSelector(GRID, seed=3)
        loaded.load_state_dict(json.loads(json.dumps(original.state_dict())))
        assert loaded.remaining_gain() == original.remaining_gain()
        assert loaded.evidence() == original.evidence()
        assert run_rounds(loaded, matrix, 4) == run_rounds(original, matrix, 4)
        assert loaded.evidence() == original.evidence()

    def test_asking_what_is_known_changes_no_choice(self):
        matrix = mountain(noise=0.5)
        curious, plain = PredictiveSelector(GRID), PredictiveSelector(GRID)
        for _ in range(7):
            one, other = curious.ask(), plain.ask()
            assert one == other
            for selector in (curious, plain):
                selector.tell(one, matrix[one.index])
            curious.remaining_gain()
            curious.evidence()
            curious.targets_to_evaluate(one, 5)
            _ = curious.expected_best_trials

    def test_of_another_run_leaves_no_evidence(self):
        selector = PredictiveSelector(GRID)
        empty = selector.state_dict()
        run_rounds(selector, mountain(noise=0.5), 5)
        assert selector.evidence()
        selector.load_state_dict(empty)
        assert selector.evidence() == []
        assert selector.remaining_gain() is None

    def test_late_tells_are_put_in_order(self):
        matrix = mountain(noise=0.5)
        late, plain = PredictiveSelector(GRID), PredictiveSelector(GRID)
        run_rounds(late, matrix, 2)
        run_rounds(plain, matrix, 2)
        batch = late.ask(3)
        assert batch == plain.ask(3)
        for trial in (batch[1], batch[2], batch[0]):
            late.tell(trial, matrix[trial.index])
            late.evidence()  # the comparison looks at the rows that came too early
        for trial in batch:
            plain.tell(trial, matrix[trial.index])
        assert late.evidence() == plain.evidence()
        assert late.ask() == plain.ask()


class TestUnits:
    @given(
        scale=st.sampled_from([1e-12, 1e-9, 1e-6, 0.37, 1e3, 1e12]),
        shift=st.floats(-100, 100),
        seed=st.integers(0, 3),
    )
    @settings(deadline=None, max_examples=12)
    def test_shift_and_scale_change_no_choice(self, scale, shift, seed):
        matrix = mountain(noise=0.5, seed=seed)
        assert indices(scale * (matrix + shift)) == indices(matrix)

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_what_is_known_scales_too(self, scale):
        plain, scaled = PredictiveSelector(GRID), PredictiveSelector(GRID)
        matrix = mountain(noise=0.5)
        run_rounds(plain, matrix, 6)
        run_rounds(scaled, scale * matrix, 6)
        assert scaled.remaining_gain() == pytest.approx(scale * plain.remaining_gain(), rel=1e-6)
        for one, other in zip(plain.evidence(), scaled.evidence(), strict=True):
            assert other["score"] == pytest.approx(one["score"], rel=1e-6)
            assert other["error"] == pytest.approx(scale * one["error"], rel=1e-6)

    @pytest.mark.parametrize("value", [0.0, 7.3, -1e12, 1e-12])
    def test_equal_returns(self, value):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, np.full((N, N), value), 6)
        assert selector.remaining_gain() == 0.0
        assert selector.performance == pytest.approx(value)

    @pytest.mark.parametrize("rows", [2, 3, 5])
    def test_equal_rows_before_others(self, rows):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, np.zeros((N, N)), rows)
        for _ in range(3):
            run_rounds(selector, matrix, 1)
            remaining = selector.remaining_gain()
            assert remaining is not None
            assert np.isfinite(remaining)
            assert all(np.isfinite(e["score"]) for e in selector.evidence())


class TestOddSpaces:
    @pytest.mark.parametrize("name", example_spaces())
    def test_every_question_has_an_answer_until_the_end(self, name):
        space = example_spaces()[name]
        selector, matrix = PredictiveSelector(space), example_matrix(space)
        for _ in range(len(space)):
            trial = selector.ask()
            some = selector.targets_to_evaluate(trial, 2)
            assert trial.index in some
            selector.tell(trial, matrix[trial.index])
            assert len(selector.evidence()) <= 5 * max(len(selector.rows) - 2, 0)
            remaining = selector.remaining_gain()
            assert remaining is None or remaining >= 0.0
            assert set(selector.expected_best_trials) <= {t.id for t in selector.trials}
        with pytest.raises(ExhaustedError, match="none is left"):
            selector.ask()

    def test_two_targets(self):
        space = ContextSpace(a=[1.0, 2.0])
        selector = PredictiveSelector(space)
        assert len({c.index for c in run_rounds(selector, np.eye(2), 2)}) == 2

    def test_a_constant_dimension_changes_no_first_choice(self):
        wide, narrow = ContextSpace(a=range(9), c=[5.0]), ContextSpace(a=range(9))
        matrix = mountain(narrow, (4.0,), noise=0.1)
        assert indices(matrix, 2, wide) == indices(matrix, 2, narrow)
        assert len(set(indices(matrix, 9, wide))) == 9


class TestOddRows:
    def test_repeats_of_a_context(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        for noise in (0.0, 0.5, -0.5):
            selector.tell(GRID.target(10), matrix[10] + noise, repeat=noise != 0.0)
        trials = run_rounds(selector, matrix, 4)
        assert 10 not in [c.index for c in trials]
        assert np.isfinite(selector.remaining_gain())

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

    def test_failed_runs_say_nothing(self):
        matrix = mountain(noise=0.5)
        selector = PredictiveSelector(GRID)
        run_rounds(selector, matrix, 3)
        before = selector.evidence()
        selector.tell(selector.ask(), status="failed")
        assert selector.evidence() == before
        assert len({c.index for c in run_rounds(selector, matrix, 3)}) == 3

    def test_rows_in_part_from_the_very_first(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        rng = np.random.default_rng(1)
        for _ in range(8):
            trial = selector.ask()
            row = np.where(rng.random(N) < 0.7, np.nan, matrix[trial.index])
            row[trial.index] = matrix[trial.index, trial.index]
            row[3] = np.nan if trial.index != 3 else row[3]
            selector.tell(trial, row)
        assert len({t.index for t in selector.trials}) == 8
        assert np.isfinite(selector.remaining_gain())
        assert trial.strategy == "improvement"
        trained = matrix[[t.index for t in selector.trials]]
        best = trained[selector.expected_best_trials, np.arange(N)]
        assert best.mean() > trained.max(axis=0).mean() - 0.5

    def test_policies_evaluated_on_different_targets(self):
        selector, matrix = PredictiveSelector(GRID), mountain()
        for number in range(6):
            trial = selector.ask()
            selector.tell(trial, np.where(np.arange(N) % 6 == number, matrix[0], np.nan))
        assert len({t.index for t in selector.trials}) == 6
        assert (selector.expected_best_trials >= 0).all()

    def test_one_evaluated_target_in_all(self):
        selector = PredictiveSelector(GRID)
        for value in (1.0, 2.0, 3.0, 4.0):
            row = np.full(N, np.nan)
            row[5] = value
            selector.tell(selector.ask(), row)
        assert len({t.index for t in selector.trials}) == 4
        assert selector.remaining_gain() is not None


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

    def test_nothing_has_failed_before_the_first_row(self):
        assert PredictiveSelector(GRID).failed_runs() == []
        assert RandomSelector(GRID).failed_runs() == []


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

    def test_is_about_right_on_other_exact_data(self):
        selector, matrix = PredictiveSelector(GRID), additive()
        run_rounds(selector, matrix, 6)
        expected, before = selector.remaining_gain(3), selector.performance
        run_rounds(selector, matrix, 3)
        assert 0.5 < expected / (selector.performance - before) < 2.0

    def test_grows_with_the_number_of_policies(self):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), 5)
        gains = [selector.remaining_gain(policies) for policies in (1, 2, 3, 6, 100)]
        assert gains == sorted(gains)
        assert gains[0] < gains[2]
        assert gains[2] < 3 * gains[0], "each policy leaves less to the next"

    def test_counts_no_context_twice(self, monkeypatch):
        selector, asked = PredictiveSelector(GRID), []
        run_rounds(selector, np.full((N, N), 2.0), 4)  # all are equally good
        original = selector._largest_gain

        def largest_gain(*arguments):
            asked.append(original(*arguments)[0])
            return original(*arguments)

        monkeypatch.setattr(selector, "_largest_gain", largest_gain)
        selector.remaining_gain(N)
        trained = [t.index for t in selector.trials]
        assert sorted(asked + trained) == list(range(N))

    def test_is_what_the_next_trials_say_together(self):
        """One forecast, one number: both are corrected by the share that came so far."""
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), 5)
        choice = selector._choose_model(selector.history)
        assert abs(choice.record.share_that_came - 1.0) > 0.01
        one, three = selector.remaining_gain(1), selector.remaining_gain(3)
        raw = predicted_gains(choice.model, GRID.unit_targets, choice.best).max()
        assert one == pytest.approx(raw * choice.record.share_that_came)
        trials = selector.ask(3)
        assert trials[0].expected_gain == pytest.approx(one)
        assert sum(trial.expected_gain for trial in trials) == pytest.approx(three)
        assert f"raise the mean best return by {one:.3g}" in trials[0].reason

    def test_is_never_more_than_what_is_left(self, monkeypatch):
        """Expectations that were far too low do not promise more than there is."""
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, 5)
        monkeypatch.setattr(TrackRecord, "share_that_came", 1e9)
        left = selector.rows.returns.max() - selector.rows.best.mean()
        assert left < np.ptp(selector.rows.returns)
        assert selector.remaining_gain() == pytest.approx(left)
        assert selector.ask().expected_gain == pytest.approx(left)

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

    def test_falls_as_targets_are_covered(self):
        selector, matrix = PredictiveSelector(GRID), mountain()
        gains = []
        for _ in range(4):
            run_rounds(selector, matrix, 5)
            gains.append(selector.remaining_gain())
        assert gains[0] > 2 * gains[-1] > 0.0

    def test_is_nothing_at_the_ceiling(self):
        selector = PredictiveSelector(GRID)
        matrix = np.minimum(mountain(falls=(8.0, 8.0)), 4.0)
        run_rounds(selector, matrix, 12)
        assert selector.performance == pytest.approx(4.0, abs=0.2)
        assert selector.remaining_gain() < 0.02
        run_rounds(selector, np.full((N, N), 4.0), 2)
        # More than the ceiling was expected before and never came: hardly anybody believes it now.
        assert 0.0 <= selector.remaining_gain() < 1e-3 * np.ptp(matrix)

    def test_a_failed_run_is_no_evidence_against_it(self):
        """It adds nothing, and that says nothing about what the others will add."""
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, matrix, 8)
        before, outcomes = selector.remaining_gain(), selector.comparison.choose().record.outcomes
        run_rounds(selector, matrix - 100.0, 1)
        assert selector.failed_runs() == [8]
        assert selector.comparison.choose().record.outcomes == outcomes
        # The failed context is taken now, and not to be gained any more.
        assert 0.7 * before < selector.remaining_gain() <= before

    def test_follows_what_came_lately(self):
        """Gains that stop coming are not expected for long, whatever came in the beginning."""
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, 6)
        before = selector.remaining_gain()
        run_rounds(selector, np.full((N, N), np.median(matrix)), 3)
        assert selector.failed_runs() == []
        assert selector.remaining_gain() < 0.2 * before

    def test_is_nothing_when_all_is_trained(self):
        space = ContextSpace(a=range(5))
        selector = PredictiveSelector(space)
        run_rounds(selector, example_matrix(space), 5)
        assert selector.remaining_gain() == 0.0

    def test_pending_policies_are_not_counted(self):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), 5)
        before = selector.remaining_gain(2)
        alone = selector.remaining_gain(1)
        selector.ask()
        assert selector.remaining_gain(1) == pytest.approx(before - alone)

    @pytest.mark.parametrize("policies", [0, -1, 1.5, True, "3"])
    def test_needs_a_number_of_policies(self, policies):
        with pytest.raises(SelectorError, match="policies"):
            PredictiveSelector(GRID).remaining_gain(policies)
