"""Values from JSON data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from sdmbtl.json_data import as_json
from sdmbtl_lab.from_json import from_json


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
