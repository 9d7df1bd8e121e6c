"""The comparison with tools of others: what is played, and what the tables say of it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import compare_tools
import tools_table
from compare_tools import best_next, ours, suggested
from sdmbtl import ContextSpace, Interval

GRID = ContextSpace(a=[1.0, 2.0, 4.0], b=[0.0, 1.0])


def trial(**values):
    """Suggests these."""
    suggest = {
        "suggest_int": lambda name, low, high: min(max(values[name], low), high),
        "suggest_float": lambda name, low, high: min(max(values[name], low), high),
    }
    return SimpleNamespace(**suggest)


def test_a_suggestion_is_a_target():
    assert GRID.target(suggested(trial(a=2, b=0), GRID)) == {"a": 4.0, "b": 0.0}
    assert GRID.target(suggested(trial(a=9, b=1), GRID)) == {"a": 4.0, "b": 1.0}
    listed = ContextSpace.sample(8, a=Interval(0, 1), b=Interval(0, 1))
    for number, target in enumerate(listed.targets):
        assert suggested(trial(a=target[0], b=target[1]), listed) == number


def test_the_oracle_takes_the_best_next(monkeypatch):
    monkeypatch.setattr(compare_tools, "POLICIES", (1, 2))
    returns = np.array([[0.0, 0.9, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert best_next(returns) == pytest.approx([1 / 3, 2 / 3])  # the second, or third; then both
    curve = ours("random")(ContextSpace(a=[0.0, 1.0, 2.0]), returns, 0)
    assert len(curve) == 2
    assert curve[0] <= curve[1] <= 2.4 / 3


def test_the_share_of_the_way_leaves_out_where_choosing_does_not_matter(tmp_path, monkeypatch):
    def row(random, oracle, auto):
        every = {name: [random, random] for name in tools_table.COLUMNS}
        return {**every, "auto": [auto, auto], "myopic-oracle": [oracle, oracle]}

    measured = {"much": row(0.2, 0.6, 0.5), "nothing": row(0.5, 0.505, 0.1)}
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"samplers": {"policies": [6, 12], "performance": measured}}))
    monkeypatch.setattr(tools_table, "RESULT", file)
    lines = [line.strip("| ").split(" | ") for line in tools_table.tools_table().splitlines()]
    titles = lines[0]
    by_name = {line[0]: dict(zip(titles, line, strict=True)) for line in lines[2:]}
    assert list(by_name)[:2] == ["much", "(nothing)"]
    assert by_name["much"]["`auto`"] == "0.500"
    for count in (6, 12):
        shares = by_name[f"**share, {count} policies**"]
        assert (shares["random"], shares["`auto`"], shares["oracle"]) == ("0.00", "0.75", "1.00")
