"""Settings of the selector of single contexts: its models."""

import json

import numpy as np
import pytest
from predictive_runs import GRID, mountain, run_rounds

from sdmbtl import make_selector
from sdmbtl.errors import ModelError, StateError
from sdmbtl.selectors.models import LinearGapModel, PlateauModel, RowModel, Shape


class AsBefore(Shape):
    """The next policy does what the last one did."""

    def __init__(self, row):
        self.row = row

    def returns(self, sources, targets):
        return np.tile(self.row[targets], (len(sources), 1))

    def explain(self):
        return "policies are all alike"


class AlwaysAsBefore(RowModel):
    name = "as-before"

    def fit(self, rows):
        return AsBefore(rows.returns[-1])

    def describe(self):
        return {"name": self.name}


@pytest.mark.parametrize(
    "models",
    [["plateau"], ["linear-gap", PlateauModel(far_share=0.1)], [AlwaysAsBefore(), "plateau"]],
)
def test_a_selector_continues_from_its_state(models):
    selector = make_selector("predictive", GRID, models=models)
    run_rounds(selector, mountain(noise=0.5), 5)
    loaded = make_selector("predictive", GRID, models=models)
    loaded.load_state_dict(json.loads(json.dumps(selector.state_dict())))
    assert loaded.ask() == selector.ask()


def test_a_state_of_another_model_of_the_same_name_is_refused():
    state = make_selector("predictive", GRID, models=[PlateauModel(sweeps=3)]).state_dict()
    selector = make_selector("predictive", GRID, models=["plateau"])
    with pytest.raises(StateError, match=r"models\[0\].sweeps: recorded 3, now 2"):
        selector.load_state_dict(state)


def test_an_own_model_is_weighted_by_its_likelihood():
    selector = make_selector("predictive", GRID, models=[AlwaysAsBefore(), LinearGapModel()])
    trials = run_rounds(selector, mountain(noise=0.2), 6)
    assert trials[-1].model == "linear-gap"


@pytest.mark.parametrize("models", ["plateau", 7, [], ["plateau", "plateau"], ["plataeu"]])
def test_errors(models):
    with pytest.raises(ModelError):
        make_selector("predictive", GRID, models=models)
