"""The selector of single contexts: targets to evaluate if all of them cost too much."""

import numpy as np
import pytest
from predictive_runs import GRID, N, mountain, run_rounds

from sdmbtl.errors import ContextError, SelectorError
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
        source = GRID.unit_targets[trial.index]
        expected = selector.mixture.improvement(source, selector.rows.best)
        top = np.argsort(-expected)[:4]
        assert set(top) <= set(selector.targets_to_evaluate(trial, 10))

    def test_errors(self):
        selector = PredictiveSelector(GRID)
        for n in (0, -1, 2.5, True):
            with pytest.raises(SelectorError, match="n"):
                selector.targets_to_evaluate(GRID.target(0), n)
        with pytest.raises(ContextError):
            selector.targets_to_evaluate({"a": 1.0}, 3)
