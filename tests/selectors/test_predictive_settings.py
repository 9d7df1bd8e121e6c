"""Settings of the default selector: what the user knows, and its models."""

import json

import numpy as np
import pytest
from auto_runs import GRID, N, mountain, run_rounds

from sdmbtl import ContextSpace, make_selector
from sdmbtl.errors import ModelError, SelectorError, StateError
from sdmbtl.selectors.models import (
    PlateauModel,
    UnstructuredModel,
)
from sdmbtl.selectors.predictive_selector import PredictiveSelector


class TestPriorKnowledge:
    def test_no_distance_is_spent_on_an_irrelevant_dimension(self):
        matrix = mountain(falls=(4.0, 0.0), noise=0.1)
        for falls in ({"a": 1.0}, {"a": 3.0, "b": 0.0}):
            selector = PredictiveSelector(GRID, falls=falls)
            one, two = (GRID.unit_targets[c.index] for c in run_rounds(selector, matrix, 2))
            assert one[0] == pytest.approx(0.5)
            assert abs(two[0] - one[0]) > 0.2
            expected = selector._first_row.fits["first-row"].predict(GRID.unit_targets, slice(None))
            by_target = expected.mean.reshape(7, 6, N)
            np.testing.assert_allclose(by_target, by_target[:, :1].repeat(6, axis=1))

    def test_the_first_choice_follows_the_falls(self):
        space = ContextSpace([[0, 5], [1, 4], [10, 0], [2, 10], [0, 6]], a=[0, 10], b=[0, 10])
        chosen = {
            name: PredictiveSelector(space, falls={name: 1.0}).ask().context[name]
            for name in ("a", "b")
        }
        assert chosen == {"a": 1.0, "b": 5.0}, "the median of each dimension"

    def test_difficulty_matters_for_the_second_choice_only(self):
        units = GRID.unit_targets
        hill = -30.0 * np.abs(units[:, 0] - 0.5)
        matrix = mountain(falls=(0.5, 4.0)) + hill
        knowing, fooled = PredictiveSelector(GRID, difficulty=hill), PredictiveSelector(GRID)
        for selector in (knowing, fooled):
            run_rounds(selector, matrix, 2)
            selector.ask()
        assert knowing._first_row.fits["first-row"].slopes[0] > -2.0
        assert fooled._first_row.fits["first-row"].slopes[0] < -20.0
        first = [selector.trials[0].index for selector in (knowing, fooled)]
        second = [selector.trials[1].index for selector in (knowing, fooled)]
        assert first[0] == first[1]
        assert second[0] != second[1]

    @pytest.mark.parametrize("falls", [{"c": 1.0}, {"a": 1.0, "length": 2.0}, [1.0, 2.0], "a"])
    def test_falls_of_unknown_dimensions(self, falls):
        with pytest.raises(SelectorError) as caught:
            PredictiveSelector(GRID, falls=falls)
        assert "'falls' must map names of dimensions to numbers" in str(caught.value)
        assert repr(falls) in str(caught.value)
        assert "the dimensions are ['a', 'b']" in str(caught.value)

    @pytest.mark.parametrize(
        "falls",
        [
            {"a": 1.0, "b": -1.0},
            {"a": 0.0, "b": 0.0},
            {},
            {"a": np.nan},
            {"a": np.inf},
            {"a": "steep"},
        ],
    )
    def test_falls_that_are_no_falls(self, falls):
        with pytest.raises(SelectorError, match=r"'falls' must be numbers >= 0, not all 0. Got"):
            PredictiveSelector(GRID, falls=falls)

    @pytest.mark.parametrize(
        ("difficulty", "shape"),
        [
            (np.zeros(N - 1), f"({N - 1},)"),
            (np.zeros((N, 1)), f"({N}, 1)"),
            (3.0, "()"),
            (["hard"] * N, "(0,)"),
            (np.full(N, np.nan), f"({N},)"),
        ],
    )
    def test_difficulty_of_other_targets(self, difficulty, shape):
        with pytest.raises(SelectorError) as caught:
            PredictiveSelector(GRID, difficulty=difficulty)
        assert f"expected return for each of the {N} targets" in str(caught.value)
        assert f"Got shape {shape} instead" in str(caught.value)


class TestModels:
    """An ablation is a setting: models by name, as JSON, and never mixed up."""

    @pytest.mark.parametrize(
        "models",
        [
            ["plateau"],
            [{"name": "plateau", "reaches": [0.2, 0.8], "combine_up_to": 0}, "none"],
            [PlateauModel(far_share=0.1), {"name": "additive", "ridge": 1e-4}],
        ],
    )
    def test_settings_make_the_same_selector_again(self, models):
        selector = make_selector("auto", GRID, models=models)
        settings = json.loads(json.dumps(selector.settings()))
        again = make_selector("auto", GRID, models=settings["models"])
        assert again.settings() == settings
        matrix = mountain(noise=0.5)
        assert run_rounds(again, matrix, 5) == run_rounds(selector, matrix, 5)
        loaded = make_selector("auto", GRID, models=settings["models"])
        loaded.load_state_dict(json.loads(json.dumps(selector.state_dict())))
        assert loaded.ask() == selector.ask()

    def test_a_state_of_another_model_of_the_same_name_is_refused(self):
        state = make_selector("auto", GRID, models=[{"name": "plateau", "sweeps": 3}]).state_dict()
        selector = make_selector("auto", GRID, models=["plateau"])
        with pytest.raises(StateError, match=r"models\[0\].sweeps: recorded 3, now 2"):
            selector.load_state_dict(state)

    @pytest.mark.parametrize(
        ("models", "message"),
        [
            (["plataeu"], "Unknown model 'plataeu'.*Did you mean 'plateau'?"),
            ([{"name": "plateau", "reach": [1]}], "Unknown option 'reach'.*mean 'reaches'?"),
            ([{"ridge": 1}], "A model is given by its name, or by name and settings"),
            ("plateau", "'models' must be a list"),
            ([], "Models must have different names"),
            (["plateau", "plateau"], "Models must have different names"),
            ([{"name": "plateau", "reaches": [0.4, 0.2]}], "'reaches' must be .* ascending"),
            ([{"name": "plateau", "starts": [0.3]}], "'starts' must be among the reaches"),
            ([{"name": "plateau", "far_share": 1}], "'far_share' must be below 1"),
            ([{"name": "plateau", "sweeps": 0}], "'sweeps' must be a whole number >= 1"),
            ([{"name": "additive", "ridge": "small"}], "'ridge' must be a finite number"),
        ],
    )
    def test_errors(self, models, message):
        with pytest.raises(ModelError, match=message):
            make_selector("auto", GRID, models=models)


class NeedsThreeRows(UnstructuredModel):
    min_rows = 3


def test_models_that_need_more_rows_are_waited_for():
    selector = PredictiveSelector(GRID, models=[NeedsThreeRows()])
    models = []
    for number in range(4):
        trial = selector.ask()
        selector.tell(trial, np.arange(float(len(GRID))) * number)
        models.append(trial.model)
    assert models == [None, None, None, "none"]
