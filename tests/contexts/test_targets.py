"""Targets: equal ones, refused lists, and very many as JSON data."""

import json

import numpy as np
import pytest

from sdmbtl.checks import check_return_range
from sdmbtl.contexts import ContextSpace, Interval, Levels, targets
from sdmbtl.contexts.targets import first_of_each
from sdmbtl.errors import ContextError


def test_first_of_each():
    rows = np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [-0.0, 3.0], [4.0, 4.0]])
    assert first_of_each(rows).tolist() == [0, 1, 0, 1, 4]
    assert first_of_each(rows[1:3]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("listed", "dimensions", "word"),
    [
        (None, {}, "at least one dimension"),
        (None, {"mass": 3.0}, "'mass' must be a list of numbers"),
        (None, {"a": [1, 2], "mass": [1, 1]}, "'mass': Values of a dimension must be distinct"),
        (None, {"mass": []}, "'mass': A dimension needs at least one value"),
        (None, {"mass": [1, np.nan]}, "'mass': 'value' must be a finite number"),
        (None, {"mass": ["1", 2]}, "'mass': 'value' must be a finite number"),
        (None, {"a\nb": [1]}, "visible text"),
        (None, {"a": [1, 2], "b": Interval(0, 1)}, "'b' has bounds but no values"),
        (None, {"a": Levels([1.0, 1e-6, 1e-5, -1e6], "linear")}, "1e-06 and 1e-05 are the same"),
        ([], {"a": [1]}, "'number of targets' must be"),
        (5, {"a": [1]}, "must be a list of contexts"),
        ([[1, 1], [1]], {"a": [1, 2], "b": [1]}, "Target 1: A context has 2 values"),
        ([[1, 1], [1, np.inf]], {"a": [1, 2], "b": [1]}, "Target 1: 'b': 'value' must be"),
        ([{"a": 1}, {"b": 1}], {"a": [1, 2]}, "Target 1: Unknown dimension 'b'"),
        ([{"a": 1}, {}], {"a": [1, 2]}, "Target 1: A context needs every dimension"),
        ([{"a": "1"}], {"a": [1, 2]}, "Target 0: 'a': 'value' must be"),
        (["a"], {"a": [1, 2]}, "Target 0: A context must be a mapping"),
        ([[1, 0], [1, 2.5]], {"a": [1], "b": Interval(0, 1)}, "Target 1 has b=2.5, outside"),
        ([[-0.1]], {"a": Interval(0, 1)}, "Target 0 has a=-0.1, outside"),
        ([[0.5], [0.25], [0.5]], {"a": Interval(0, 1)}, "Targets 0 and 2, a=0.5 and a=0.5"),
        ([[1e6], [1e-6], [1e-5]], {"a": Interval(1e-6, 1e6)}, "Targets 1 and 2"),
    ],
)
def test_unusable_targets_and_dimensions(listed, dimensions, word):
    with pytest.raises(ContextError, match=word):
        ContextSpace(listed, **dimensions)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Interval(2, 1), "low <= high"),
        (lambda: Interval(0, 1, "log"), "above 0"),
        (lambda: Levels([0, 1], "log"), "above 0"),
        (lambda: Levels([1, 2], "cubic"), "'scale'"),
        (lambda: Interval(0, 1, "steps"), "'scale'"),
        (lambda: ContextSpace.sample(0, a=Interval(0, 1)), "'n'"),
        (lambda: check_return_range((-1.7e308, 1.7e308), error=ContextError), "finite width"),
        (lambda: ContextSpace.sample(3), "at least one dimension"),
        (lambda: ContextSpace.sample(9, a=[1, 2], b=[1, 2, 3]), "Fewer than 9"),
    ],
)
def test_unusable_arguments(make, word):
    with pytest.raises(ContextError, match=word):
        make()


SPACE = ContextSpace.sample(50, a=Interval(-1, 1), b=Interval(0.1, 10, scale="log"))


@pytest.fixture
def packed(monkeypatch):
    monkeypatch.setattr(targets, "MOST_LISTED", 99)
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
        {"float64": "not base64!"},
        {"float64": "AAAA"},
        {"float64": 3},
    ],
)
def test_a_damaged_text_is_refused(packed, change):
    packed["targets"] |= change
    with pytest.raises(ContextError, match="damaged"):
        ContextSpace.from_dict(packed)


def test_the_limit_of_targets_holds(packed, monkeypatch):
    monkeypatch.setattr(targets, "MAX_COUNT", 49)
    with pytest.raises(ContextError, match="at most 49"):
        ContextSpace.from_dict(packed)
