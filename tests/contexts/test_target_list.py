"""Targets as JSON data, also very many of them."""

import json

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace, Interval, target_list
from sdmbtl.errors import ContextError

SPACE = ContextSpace.sample(50, a=Interval(-1, 1), b=Interval(0.1, 10, scale="log"))


@pytest.fixture
def packed(monkeypatch):
    monkeypatch.setattr(target_list, "MOST_LISTED", 99)
    return json.loads(json.dumps(SPACE.to_dict()))


def test_few_targets_are_lists_that_people_can_read():
    assert SPACE.to_dict()["targets"] == SPACE.targets.tolist()


def test_many_targets_are_one_text_and_come_back_to_the_last_bit(packed):
    assert isinstance(packed["targets"]["float64"], str)
    again = ContextSpace.from_dict(packed)
    assert np.array_equal(again.targets, SPACE.targets)
    assert again == SPACE


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [49, 2]},
        {"shape": [50]},
        {"shape": [-50, -2]},
        {"shape": None},
        {"float64": "not base64!"},
        {"float64": "AAAA"},
        {"float64": 3},
    ],
)
def test_a_damaged_text_is_refused(packed, change):
    packed["targets"] |= change
    with pytest.raises(ContextError, match="damaged"):
        ContextSpace.from_dict(packed)


def test_values_are_checked_like_those_of_lists(packed):
    for bad, message in ((np.nan, "Target 0: A context's values must be finite"), (7.0, "outside")):
        targets = SPACE.targets.copy()
        targets[0, 0] = bad
        packed["targets"] = target_list.targets_as_json(targets)
        with pytest.raises(ContextError, match=message):
            ContextSpace.from_dict(packed)


def test_the_limit_of_targets_holds(packed, monkeypatch):
    monkeypatch.setattr(target_list, "MAX_COUNT", 49)
    with pytest.raises(ContextError, match="at most 49"):
        ContextSpace.from_dict(packed)
