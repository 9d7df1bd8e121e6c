"""Settings of the default selector: what the user knows, and its models."""

import json

import numpy as np
import pytest
from predictive_runs import GRID, mountain, run_rounds

from sdmbtl import make_selector
from sdmbtl.errors import ModelError, StateError
from sdmbtl.selectors.models import (
    PlateauModel,
    UnstructuredModel,
)
from sdmbtl.selectors.predictive_selector import PredictiveSelector


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
            ([{"name": "plateau", "far_share": 1}], "'far_share' at least 0"),
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
