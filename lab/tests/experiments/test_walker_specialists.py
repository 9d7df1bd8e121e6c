"""Ways to train walkers, from the data sets that ship."""

import json
from pathlib import Path

import pytest

from sdmbtl_lab.matrices import load_matrix, load_regions
from walker_specialists import compare

RESULT = Path(__file__).parents[3] / "results" / "walker-specialists.json"


def test_the_recorded_result_follows_from_the_data_sets():
    recorded = json.loads(RESULT.read_text())["ways"]
    data = load_matrix("bipedal-walker"), load_regions("regions-bipedal-walker")
    found = {name: (units, returns) for name, units, returns in compare(*data)}
    assert list(recorded) == list(found)
    for name, (units, returns) in found.items():
        assert recorded[name]["units"] == pytest.approx(units)
        assert recorded[name]["mean_return"] == pytest.approx(returns.mean(), abs=1e-5), name
        assert recorded[name]["share_that_walk"] == pytest.approx((returns > 200).mean(), abs=1e-5)
