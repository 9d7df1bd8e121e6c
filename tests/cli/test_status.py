"""`sdmbtl status` and its views; studies whose rows are told, not trained."""

import json
import math
import os
import re

import gymnasium
import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.studies import Study
from sdmbtl.studies.leases import LeaseKeeper

LINE = ContextSpace(a=range(6))
SPACE = ContextSpace(length=[1.0, 2.0, 3.0, 4.0], mass=[1.0, 2.0, 3.0, 4.0])
DISTANCES = np.abs(SPACE.unit_targets[:, None] - SPACE.unit_targets).sum(axis=2)


def told(path, space, rows, **settings):
    study = Study.open(path, space=space, **settings)
    for row in rows:
        trial = study.ask()
        study.tell(trial, row(trial) if callable(row) else row)
    return study


def test_policies_and_next_commands(command, trained):
    path, _ = trained
    text = command("status", path).stdout
    table, summary, commands = text.split("\n\n")
    assert table.split()[:4] == ["#", "trained", "on", "from"]
    assert [line[0] for line in table.splitlines()[1:] if line[0] != " "] == ["0", "1", "2"]
    steps = command.json("status", path)
    kinds = f"{steps['training_steps']:,} of training, {steps['evaluation_steps']:,} of evaluation"
    assert f"3 policies, {steps['steps']:,} steps" in summary
    assert f"Steps: {kinds}." in summary
    assert steps["evaluation_steps"] > 0
    assert "Why policy 2: " in summary
    assert f"sdmbtl portfolio {path} --export OUT" in commands
    assert f"sdmbtl resume {path} --budget 15" in commands
    status = command.json("status", path)
    assert [entry["id"] for entry in status["rounds"]] == [0, 1, 2]
    assert status["rounds"][0]["gain"] is None


def test_before_the_beginning_and_while_another_process_runs(command, tiny, tmp_path):
    study = Study.open(tmp_path / "s", "CartPole", space=str(tiny), selector="random")
    text = command("status", study.path).stdout
    assert f"sdmbtl resume {study.path} --budget 12" in text
    assert "sdmbtl report" not in text
    assert command.json("status", study.path)["running_process"] is None
    with LeaseKeeper(study.store):
        assert command.json("status", study.path)["running_process"] == os.getpid()
        text = command("status", study.path).stdout
        assert f"Process {os.getpid()} is working" in text
        assert f"sdmbtl report {study.path} --live" in text
        assert "sdmbtl resume" not in text


def test_next_command_of_environments_from_a_function(command, tmp_path):
    def make_env(context):
        return gymnasium.make("CartPole-v1", max_episode_steps=int(context["limit"]))

    Study.open(tmp_path / "own", make_env, space=ContextSpace(limit=[5, 9]))
    text = command("status", tmp_path / "own").stdout
    assert "Study.open(" in text
    assert "sdmbtl resume" not in text


def test_failed_policies(command, tiny, tmp_path):
    study = Study.open(tmp_path / "s", "CartPole", space=str(tiny), selector="random")
    study.tell(study.ask(), status="failed", error="no memory")
    text = command("status", study.path).stdout
    assert "no memory" in text
    assert "--retry-failed" in text


def test_targets_with_partial_rows(command, tmp_path):
    nan = math.nan
    study = Study.open(tmp_path / "s", space=LINE)
    study.tell({"a": 2.0}, [50, 60, 70, nan, nan, nan])
    study.tell({"a": 4.0}, [10, nan, 12, 11, nan, nan])
    targets = command.json("status", study.path, "--show", "targets")
    assert [target["policy"] for target in targets] == [0] * 6
    assert [target["context"]["a"] for target in targets] == [0, 1, 2, 3, 4, 5]
    assert len(command("status", study.path, "--show", "targets").stdout.splitlines()) == 9
    assert [target["episodes"] for target in targets] == [1, 1, 1, 0, 0, 0]
    assert all(10 <= target["expected_return"] <= 70 for target in targets)
    assert targets[3]["expected_return"] > 11, "where only the other policy was evaluated"
    assert re.search(r"2 of \d+ tasks predicted", command("status", study.path).stdout)
    assert "Did you mean 'targets'?" in command.error("status", study.path, "--show", "target")


@pytest.mark.parametrize(
    ("selector", "known", "value"),
    [
        ("auto", None, 1e100),
        ("generalist-first", (0.0, 500.0), 5e-324),
        ("m/gp-mbtl", (0.0, 500.0), -1e100),
    ],
)
def test_extreme_returns_stop_no_command(command, tmp_path, selector, value, known):
    rows = np.random.default_rng(0).uniform(0.0, 0.9, size=(6, 16))
    rows[:, 0] = value
    rows[3] = value  # all equal
    rows[5, 1:] *= value  # a mixture of sizes
    study = told(tmp_path / "s", SPACE, rows, selector=selector, return_range=known)
    assert math.isfinite(command.json("status", study.path)["performance"])
    for words in (["status"], ["status", "--show", "targets"], ["portfolio"]):
        assert "nan" not in command(words[0], study.path, *words[1:]).stdout
    chosen = command.json("portfolio", study.path, "--context", "length=1.5 mass=2")["choice"]
    assert chosen["expected_return"] is not None
    assert json.loads(command("ask", study.path).stdout)["id"] == 6
