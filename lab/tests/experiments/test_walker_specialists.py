"""What the ways to train walkers are worth, from the data sets that ship."""

import json
from pathlib import Path

import numpy as np
import pytest

from sdmbtl_lab.matrices import load_matrix, load_regions
from walker_specialists import compare

RESULT = Path(__file__).parents[3] / "results" / "walker-specialists.json"


@pytest.fixture(scope="module")
def data():
    return load_matrix("bipedal-walker"), load_regions("regions-bipedal-walker")


def test_the_result_is_what_the_data_sets_give(data):
    measured = json.loads(RESULT.read_text())["ways"]
    found = dict(compare(*data))
    assert list(measured) == list(found)
    for name, numbers in found.items():
        assert measured[name] == pytest.approx(numbers, abs=1e-5), name


def test_own_contexts_are_those_of_the_policies(data):
    points, regions = data
    found = dict(compare(*data))
    own = [points.returns[seed, n, n] for seed in range(len(points.returns)) for n in range(27)]
    from_scratch = found["from scratch, each in its own context"]
    assert from_scratch["mean_return"] == pytest.approx(np.mean(own))
    assert from_scratch["share_that_walk"] == pytest.approx(np.mean(np.array(own) > 200))
    centers = [
        regions.returns[
            0,
            number,
            regions.space.index(dict(zip(regions.space.names, source.center, strict=True))),
        ]
        for number, source in enumerate(regions.sources)
        if number
    ]
    specialists = found["from the one for all, each in its own region"]
    assert specialists["mean_return"] == pytest.approx(np.mean(centers))
    assert specialists["units"] == pytest.approx(1 + 27 / 4)


def test_few_policies_are_bought_with_the_units_that_there_are(data):
    found = dict(compare(*data))
    for kind in ("from scratch", "from the one for all"):
        values = [
            found[f"{kind}, {units} units, best choice"]["mean_return"] for units in (2, 3, 4)
        ]
        assert values == sorted(values)
        assert (
            values[-1]
            <= found[
                f"{kind}, best of all in each context"
                if kind == "from scratch"
                else "from the one for all, best in each context"
            ]["mean_return"]
        )
