"""JSON data from values of any kind, and differences between two pieces."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from sdmbtl import ContextSpace
from sdmbtl.json_data import as_json, differences


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
    assert differences({"a": [1]}, {"a": [1, 2]}) == ["a[1]: recorded nothing, now 2"]
    (line,) = differences({"a": "x" * 500}, {"a": 1})
    assert len(line) < 200
    assert differences({"a": [1.0, {}]}, {"a": [1, {}]}) == []
