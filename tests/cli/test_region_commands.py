"""Regions, parents and steps on the command line."""

import json

import numpy as np
import pytest
from command_runner import QUICK

from sdmbtl.studies import Study


@pytest.fixture(scope="module")
def regions(tmp_path_factory, command, tiny):
    """A study with a generalist in two halves and a specialist, and what its run printed."""
    path = tmp_path_factory.mktemp("studies") / "regions"
    choice = ("--width", 0.25, "--specialist-steps", 2048, "--total-steps", 5000)
    return path, command("run", "CartPole", "--space", tiny, *QUICK, "--out", path, *choice)


def test_a_run_shows_regions_parents_and_steps(regions, command):
    path, result = regions
    study = Study.open(path)
    texts = [study.space.describe(trial.source) for trial in study.trials]
    assert texts[0].startswith("whole space, ")
    assert texts[0].endswith(" steps")
    assert texts[1].startswith("whole space, from policy 0, ")
    assert texts[2].endswith(", 2,048 steps")
    lines = [line for line in result.stderr.splitlines() if "own return" in line]
    for line, text in zip(lines, texts, strict=True):
        assert f"  {text}  own return " in line
    shown = result.stdout.split("Next:")[0]
    assert max(map(len, shown.splitlines())) <= 80
    assert "whole space" in shown
    assert f"{study.steps:,} environment steps in all" in shown
    assert f"Stopped: {study.steps:,} of 5,000 environment steps are used." in shown


def test_status_as_json(regions, command):
    path, _ = regions
    status = command.json("status", path)
    first, second, third = status["rounds"]
    assert status["selector"] == "generalist-first"
    assert status["steps"] == first["steps"] + second["steps"] + third["steps"]
    assert (first["width"], first["parent"]) == (1.0, None)
    assert (second["width"], second["parent"]) == (1.0, 0)
    assert (third["width"], third["asked_steps"]) == (0.25, 2048)
    low, high = third["region"]["length"]
    assert low < high


def test_portfolios_say_regions(regions, command, tmp_path):
    path, _ = regions
    exported = tmp_path / "exported"
    text = command("portfolio", path, "--export", exported).stdout
    assert "policy 0, trained on the whole space: " in text
    assert f"policy 2, trained on {Study.open(path).portfolio().trained_on(2)}: " in text
    loaded = command("portfolio", exported).stdout
    assert loaded.splitlines() == text.splitlines()[:-1], "less where it was exported to"
    context = json.dumps(Study.open(path).space.target(0))
    chosen = command("portfolio", path, "--context", context).stdout.splitlines()[0]
    assert chosen in {line.split(":")[0] for line in text.splitlines()}


def test_resume_takes_total_steps(regions, command):
    path, _ = regions
    stopped = command.json("resume", path, "--total-steps", 5000)["stopped"]
    assert "of 5,000 environment steps are used" in stopped
    again = command("resume", path)
    assert "Using the earlier stopping rule: --total-steps 5000" in again.stderr
    assert "of 5,000 environment steps are used" in again.stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--width", "2"), "--width is auto, or a share"),
        (("--width", "wide"), "Got 'wide' instead"),
        (("--init", "warm"), "--init is auto, scratch or parent. Got 'warm' instead"),
        (
            ("--total-steps", 0),
            "'--total-steps': Input should be greater than or equal to 1. Got '0' instead.",
        ),
        (
            ("--specialist-steps", 0),
            "'--specialist-steps': Input should be greater than or equal to 1. Got '0' instead.",
        ),
        (("--selector", "random", "--width", 0.5), "'random' chooses points"),
    ],
)
def test_unusable_options(options, text, command, tiny, tmp_path):
    said = command.error("run", "CartPole", "--space", tiny, "--out", tmp_path / "s", *options)
    assert text in " ".join(said.replace("│", " ").split())


def test_ask_and_tell_regions(command, tiny, tmp_path):
    path = tmp_path / "study"
    asked = json.loads(command("ask", path, "--space", tiny, "--width", 0.25).stdout)
    assert asked["width"] == 1.0
    assert set(asked["region"]) == set(asked["context"])
    assert "parent" not in asked
    assert "steps" not in asked
    row = np.arange(8.0).tolist()
    command("tell", path, "-", given=json.dumps({**asked, "returns": row}))
    second = json.loads(command("ask", path).stdout)
    assert (second["width"], second["parent"]) == (0.25, 0)
    report = {key: second[key] for key in ("context", "width", "parent")}
    command("tell", path, "-", given=json.dumps({**report, "returns": row}))
    assert [t.status for t in Study.open(path).trials] == ["finished", "finished"]
    assert "new study" in command.error("ask", path, "--width", 0.25)


def test_lines_of_points_are_as_before(command, tiny, tmp_path):
    asked = json.loads(command("ask", tmp_path / "study", "--space", tiny).stdout)
    keys = ("id", "context", "strategy", "structure", "model", "reason", "numbers", "attributes")
    assert tuple(asked) == keys
