"""The study of Hopper in docs/examples/mujoco.md: its command runs, its output is the kept one."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sdmbtl.cli import app

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs" / "examples" / "mujoco.md").read_text()
#: A run of a few seconds; the command itself takes minutes.
TINY = {"--steps": "128", "--budget": "1", "--out": "study"}
SETTINGS = ["num_envs=2", "num_steps=32", "minibatch_size=64", "update_epochs=1", "eval_episodes=1"]


def the_command():
    (line,) = re.findall(r"^sdmbtl (run Hopper .*)$", RECIPES, flags=re.MULTILINE)
    return shlex.split(line)


def test_a_tiny_form_of_it_runs(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    (space,) = re.findall(r"```toml\n# hopper.toml\n(.*?)```", RECIPES, flags=re.DOTALL)
    (tmp_path / "hopper.toml").write_text(space)
    arguments = the_command()
    for option, value in TINY.items():
        arguments[arguments.index(option) + 1] = value
    for setting in SETTINGS:
        arguments += ["--set", setting]
    result = CliRunner().invoke(app, [*arguments, "--episodes", "1", "--json"])
    assert result.exit_code == 0, result.output
    status = json.loads(result.stdout)
    assert (status["policies"], status["targets"]) == (1, 9)


def test_what_is_printed_is_what_was_measured():
    if not (ROOT / "results").exists():
        pytest.skip("results are not part of a wheel")
    measured = json.loads((ROOT / "results" / "hopper.json").read_text())
    assert f"mean best return {measured['performance']:.0f}\n" in RECIPES
    random = measured["random_actions"]["performance"]
    assert f"Random actions: mean return {random:.2f}." in RECIPES
    for entry in measured["rounds"]:
        row = (
            f"{entry['steps']:,}    {entry['training_return']:.0f}       {entry['performance']:.0f}"
        )
        assert row in RECIPES
    assert measured["performance"] > 100 * random, "its policies move"
