"""The default selector and rows in part: which targets to evaluate, which policy to use."""

import numpy as np
import pytest
from predictive_runs import GRID, N, mountain, run_rounds

from sdmbtl import ContextSpace
from sdmbtl.errors import ContextError, SelectorError
from sdmbtl.selectors.acquisition import predicted_improvement
from sdmbtl.selectors.predictive_selector import PredictiveSelector


class TestTargetsToEvaluate:
    @pytest.mark.parametrize("rows", [0, 1, 4])
    @pytest.mark.parametrize("n", [1, 2, 7, 20, N, N + 9])
    def test_are_so_many_sorted_and_contain_its_own(self, rows, n):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, rows)
        trial = selector.ask()
        chosen = selector.targets_to_evaluate(trial, n)
        assert chosen.dtype == np.intp
        assert len(chosen) == min(n, N)
        assert (np.diff(chosen) > 0).all()
        assert trial.index in chosen

    @pytest.mark.parametrize("rows", [0, 4])
    def test_are_spread(self, rows):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, rows)
        chosen = GRID.unit_targets[selector.targets_to_evaluate(selector.ask(), 12)]
        distance = np.abs(GRID.unit_targets[:, None] - chosen).sum(axis=2).min(axis=1)
        assert distance.max() < 0.7
        assert distance.mean() < 0.27

    def test_hold_those_with_the_largest_expected_improvement(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.2)
        run_rounds(selector, matrix, 4)
        trial = selector.ask()
        model = selector._choose_model(selector.history).model
        prediction = model.predict(GRID.unit_targets[[trial.index]], slice(None))
        expected = predicted_improvement(prediction, selector.rows.best)[0]
        top = np.argsort(-expected)[:4]
        assert set(top) <= set(selector.targets_to_evaluate(trial, 10))

    def test_errors(self):
        selector = PredictiveSelector(GRID)
        for n in (0, -1, 2.5, True):
            with pytest.raises(SelectorError, match="n"):
                selector.targets_to_evaluate(GRID.target(0), n)
        with pytest.raises(ContextError):
            selector.targets_to_evaluate({"a": 1.0}, 3)


class TestExpectedBest:
    def test_of_complete_rows_are_the_best_ones(self):
        selector, matrix = PredictiveSelector(GRID), mountain(noise=0.5)
        run_rounds(selector, matrix, 1)
        assert selector.expected_best_trials.tolist() == [0] * N
        selector.tell(selector.ask(), status="failed")
        run_rounds(selector, matrix, 4)
        np.testing.assert_array_equal(selector.expected_best_trials, selector.best_trials)
        assert 1 not in selector.expected_best_trials

    def test_neighbours_stand_in_for_what_was_not_evaluated(self):
        space = ContextSpace(a=range(10))
        selector = PredictiveSelector(space)
        low, high = np.full(10, np.nan), np.full(10, np.nan)
        low[[0, 2, 7, 9]] = [5.0, 5.0, 0.0, 0.0]
        high[[0, 2, 7, 9]] = [0.0, 0.0, 5.0, 5.0]
        selector.tell(space.target(1), low)
        selector.tell(space.target(8), high)
        assert selector.best_trials[1] == -1
        assert selector.expected_best_trials.tolist()[:3] == [0, 0, 0]
        assert selector.expected_best_trials.tolist()[7:] == [1, 1, 1]
