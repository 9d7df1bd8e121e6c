"""JSON data from values of any kind and back, and where two pieces differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.json_data import as_json, differences, from_json


@dataclass
class Record:
    number: np.int64
    values: np.ndarray
    inner: dict = field(default_factory=dict)


def test_values_of_any_kind_become_json():
    space = ContextSpace(a=[1, 2])
    record = Record(np.int64(3), np.array([[1.0, np.nan]]), {1: (np.float32(0.5), space)})
    data = as_json(record)
    assert data == {
        "number": 3,
        "values": [[1.0, None]],
        "inner": {"1": [0.5, as_json(space.to_dict())]},
    }
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_what_is_not_finite_is_nothing_and_digits_are_kept_as_asked():
    assert as_json([float("inf"), -float("inf"), 1 / 3]) == [None, None, 1 / 3]
    assert as_json({"a": 1 / 3, "b": 7, "c": True, "d": "0.333"}, digits=2) == {
        "a": 0.33,
        "b": 7,
        "c": True,
        "d": "0.333",
    }


def test_differences_are_named_by_their_place():
    recorded = {"seed": 0, "space": {"targets": [1, 2, 3]}, "old": None}
    given = {"seed": 0, "space": {"targets": [1, 5, 3]}, "new": "x"}
    assert differences(recorded, given) == [
        "space.targets[1]: recorded 2, now 5",
        "old: recorded None, now nothing",
        "new: recorded nothing, now 'x'",
    ]


def test_lists_of_other_lengths_and_long_values():
    assert differences([1], [1, 2], "a") == ["a: recorded [1], now [1, 2]"]
    (line,) = differences({"a": "x" * 500}, {"a": 1})
    assert len(line) < 200
    assert differences({"a": [1.0]}, {"a": [1]}) == []


@dataclass(frozen=True)
class Inner:
    values: tuple[float, ...]
    name: str | None = None


class Pair(NamedTuple):
    mean: float
    width: float | None


@dataclass(frozen=True)
class Outer:
    by_number: Mapping[int, Mapping[str, Inner]]
    one: Inner | None = None
    pair: Pair | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@pytest.mark.parametrize(
    "value",
    [
        Outer({}),
        Outer({}, pair=Pair(0.5, 0.1)),
        Outer({6: {"a": Inner((0.5, 1.0), "x")}, 12: {}}, Inner(()), extra={"b": [1, None]}),
    ],
)
def test_there_and_back(value):
    assert from_json(Outer, json.loads(json.dumps(as_json(value)))) == value


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ({}, TypeError, "missing 1 required .*'by_number'"),
        ({"by_number": {}, "two": 2}, TypeError, "unexpected keyword argument 'two'"),
        ({"by_number": {"six": {}}}, ValueError, "six"),
    ],
)
def test_data_of_something_else(data, error, text):
    with pytest.raises(error, match=text):
        from_json(Outer, data)
