"""The selector of single contexts: what it expects, what it chooses, what it says, odd data."""

import json

import numpy as np
import pytest
from predictive_runs import GRID, N, additive, mountain, run_rounds

from sdmbtl import ContextSpace
from sdmbtl.selectors import MountainSelector
from sdmbtl.selectors.acquisition import where_gained
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl.testing import example_matrix


def gains_of_all(selector, best=None):
    """(N,) what each free target would gain, computed on all targets."""
    space = selector.space
    best = selector.rows.best if best is None else best
    values = selector.mixture.gains(space.unit_targets, best)
    values[[t.index for t in selector.trials]] = -1.0
    return values


class TestChoice:
    def test_the_first_context_is_the_most_central_one(self):
        trial = PredictiveSelector(GRID).ask()
        assert trial.index == MountainSelector(GRID).ask().index
        assert trial.structure is trial.model is None

    @pytest.mark.parametrize("rounds", [1, 2, 3, 6])
    @pytest.mark.parametrize("make_matrix", [additive, lambda: mountain(noise=0.3)])
    def test_later_the_largest_expected_gain_is_chosen(self, rounds, make_matrix):
        selector, matrix = PredictiveSelector(GRID), make_matrix()
        run_rounds(selector, matrix, rounds)
        trial = selector.next_trials(1)[0]
        values = gains_of_all(selector)
        assert trial.index == int(values.argmax())
        assert trial.strategy == "improvement"
        assert trial.structure is None, "nothing was detected"
        corrected = values.max() * selector.mixture.realised_share
        room = selector.rows.returns.max() - selector.performance
        assert trial.numbers["expected_gain"] == pytest.approx(
            min(corrected, max(values.max(), room))
        )

    def test_the_reason_is_one_sentence_with_gain_place_finding_and_model(self):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.1), 5)
        trial = selector.ask()
        gains = selector.mixture.improvement(GRID.unit_targets[trial.index], selector.rows.best)
        where = where_gained(gains, GRID.unit_targets, GRID.names)
        start = f"Training here should raise the mean best return by {trial.expected_gain:.3g}"
        assert trial.reason.startswith(start)
        assert (f", mostly for {where}: " in trial.reason) == (where is not None)
        assert selector.mixture.explain() in trial.reason
        assert f"({trial.model} model, " in trial.reason

    def test_the_model_that_predicts_best_is_named(self):
        selector = PredictiveSelector(GRID)
        trials = run_rounds(selector, mountain(noise=0.1), 6)
        assert trials[-1].model == "linear-gap"

    def test_without_any_gain_contexts_are_still_offered(self):
        trials = run_rounds(PredictiveSelector(GRID), np.full((N, N), 7.3), 6)
        assert len({t.index for t in trials}) == 6
        assert trials[-1].expected_gain == 0.0

    def test_many_targets_are_compared_on_some_of_them_first(self):
        space = ContextSpace(a=range(16), b=range(16))
        selector, matrix = PredictiveSelector(space), mountain(space, noise=0.3)
        run_rounds(selector, matrix, 4)
        trial = selector.next_trials(1)[0]
        values = gains_of_all(selector)
        assert values[trial.index] > 0.99 * values.max()


class TestPending:
    def test_expected_gains_of_pending_policies_add_up_by_hand(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.1)
        run_rounds(selector, matrix, 4)
        first = selector.ask()
        best = selector.rows.best
        expected = best + selector.mixture.improvement(GRID.unit_targets[first.index], best)
        second = selector.next_trials(1)[0]
        assert second.index == int(gains_of_all(selector, expected).argmax())


class TestOddRows:
    def test_a_warm_start_beside_the_targets(self):
        rng = np.random.default_rng(0)
        units = rng.random((5, 2))
        distance = np.abs(units[:, None] - GRID.unit_targets) @ np.array([4.0, 2.0])
        selector = PredictiveSelector(GRID)
        for source, row in zip(GRID.from_unit(units), 10 - distance, strict=True):
            selector.tell(GRID.context(source), row, source_return=10.0)
        assert len(selector.evidence()) == 2 * 4
        trial = selector.ask()
        assert trial.strategy == "improvement"
        nearest = distance.min(axis=0)
        gain = np.maximum(nearest - (10 - mountain()), 0.0).mean(axis=1)
        assert gain[trial.index] > 0.8 * gain.max()

    def test_rows_in_part_are_enough(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.1)
        rng = np.random.default_rng(0)
        for _ in range(6):
            trial = selector.ask()
            row = matrix[trial.index].copy()
            row[rng.random(N) < 0.5] = np.nan
            selector.tell(trial, row)
        chosen = [t.index for t in selector.trials]
        reached = matrix[chosen].max(axis=0).mean()
        others = [rng.permutation(N)[:6] for _ in range(50)]
        assert reached > np.mean([matrix[other].max(axis=0).mean() for other in others])


class TestEvidence:
    def test_has_an_entry_for_each_row_and_model(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, matrix, 1)
        assert selector.evidence() == []
        run_rounds(selector, matrix, 3)
        entries = selector.evidence()
        assert [e["rows"] for e in entries] == [1, 1, 2, 2, 3, 3]
        assert [e["model"] for e in entries] == ["plateau", "linear-gap"] * 3
        assert set(entries[0]) == {"model", "rows", "weight", "error", "expected", "gain"}
        assert json.loads(json.dumps(entries)) == entries

    def test_is_true(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        trials = run_rounds(selector, matrix, 4)
        returns = matrix[[c.index for c in trials]]
        entries = selector.evidence()
        for entry in entries:
            known, row = returns[: entry["rows"]], returns[entry["rows"]]
            gain = np.maximum(row - known.max(axis=0), 0.0).mean()
            assert entry["gain"] == pytest.approx(gain)
        last = [e["weight"] for e in entries[-2:]]
        assert last == pytest.approx(selector.mixture.weights.tolist())
        assert sum(last) == pytest.approx(1.0)

    def test_leaves_out_runs_that_have_probably_failed(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, matrix, 8)
        assert selector.failed_runs() == []
        run_rounds(selector, matrix - 100.0, 1)
        selector.tell(selector.ask(), status="failed")
        run_rounds(selector, matrix, 2)
        assert selector.failed_runs() == [8]
        assert sorted({e["rows"] for e in selector.evidence()}) == [1, 2, 3, 4, 5, 6, 7, 9, 10]


class TestRemainingGain:
    def test_is_unknown_before_the_third_row(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        for _ in range(3):
            assert selector.remaining_gain() is None
            run_rounds(selector, matrix, 1)
        assert selector.remaining_gain() > 0.0

    @pytest.mark.parametrize("rounds", [4, 6, 10])
    def test_is_about_right_on_an_exact_mountain(self, rounds):
        selector, matrix = PredictiveSelector(GRID), mountain()
        run_rounds(selector, matrix, rounds)
        expected, before = selector.remaining_gain(3), selector.performance
        run_rounds(selector, matrix, 3)
        assert expected == pytest.approx(selector.performance - before, rel=0.5)

    def test_is_what_the_next_trials_say_together(self):
        """One forecast, one number."""
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), 5)
        one, three = selector.remaining_gain(1), selector.remaining_gain(3)
        trials = selector.ask(3)
        assert trials[0].expected_gain == pytest.approx(one)
        assert sum(trial.expected_gain for trial in trials) == pytest.approx(three)
        assert f"raise the mean best return by {one:.3g}" in trials[0].reason

    def test_is_never_more_than_the_highest_return_leaves(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, 5)
        choice = selector.next_trials(1)[0]
        left = 0.5 * choice.expected_gain
        selector.history.return_range = (-1e9, selector.rows.best.mean() + left)
        assert selector.remaining_gain() == pytest.approx(left)
        bounded = selector.ask()
        assert bounded.expected_gain == pytest.approx(left)
        assert bounded.source == choice.source

    def test_is_nothing_when_all_is_trained(self):
        space = ContextSpace(a=range(5))
        selector = PredictiveSelector(space)
        run_rounds(selector, example_matrix(space), 5)
        assert selector.remaining_gain() == 0.0


class TestTargetsToEvaluate:
    @pytest.mark.parametrize("rows", [0, 4])
    @pytest.mark.parametrize("n", [1, 20, N + 9])
    def test_are_so_many_sorted_and_contain_its_own(self, rows, n):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), rows)
        trial = selector.ask()
        chosen = selector.targets_to_evaluate(trial, n)
        assert len(chosen) == min(n, N)
        assert (np.diff(chosen) > 0).all()
        assert trial.index in chosen

    def test_are_spread_and_hold_those_with_the_largest_expected_improvement(self):
        selector = PredictiveSelector(GRID)
        run_rounds(selector, mountain(noise=0.2), 4)
        trial = selector.ask()
        expected = selector.mixture.improvement(GRID.unit_targets[trial.index], selector.rows.best)
        top = np.argsort(-expected)[:4]
        chosen = selector.targets_to_evaluate(trial, 12)
        assert set(top) <= set(chosen)
        distance = np.abs(GRID.unit_targets[:, None] - GRID.unit_targets[chosen]).sum(axis=2)
        assert distance.min(axis=1).mean() < 0.27
