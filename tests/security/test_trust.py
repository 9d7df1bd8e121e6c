"""Code that a study names is imported if this user made the study here, or trusts it."""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import gymnasium
import pytest
from command_runner import Command
from gymnasium.envs.registration import EnvSpec

from sdmbtl import ContextSpace
from sdmbtl.environments.registry import code_of_family
from sdmbtl.errors import StudyError
from sdmbtl.studies import Study
from sdmbtl.training import spec
from sdmbtl.trust import StudyTrust

SPACE = ContextSpace(gravity=[5.0, 10.0])
MODULE = """
from pathlib import Path

import gymnasium

Path("imported").touch()


def make(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], max_episode_steps=5)
"""
command = Command()


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SDMBTL_TRUST", raising=False)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study with a function of one's own, whose module says when it was imported."""
    (tmp_path / "seen_envs.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    study = Study.open(tmp_path / "study", "seen_envs:make", space=SPACE, trainer="sb3", episodes=1)
    forget_module()
    yield study.path
    sys.modules.pop("seen_envs", None)


def forget_module():
    sys.modules.pop("seen_envs", None)
    spec._make_family.cache_clear()
    spec._make_trainer.cache_clear()
    Path("imported").unlink()


def was_imported():
    return Path("imported").exists()


def test_what_was_made_here_is_trusted(study):
    assert Study.open(study).family.name == "seen_envs:make"
    assert was_imported()


@pytest.mark.parametrize("how", [shutil.copytree, shutil.move])
def test_what_was_copied_or_moved_is_not(study, tmp_path, how):
    other = how(study, tmp_path / "other")
    again = Study.open(other)
    for use in (
        lambda: again.training,
        lambda: again.family,
        lambda: again.trainer,
        lambda: again.run(budget=1),
        lambda: again.evaluate(),
        lambda: again.evaluate_missing(),
    ):
        with pytest.raises(StudyError, match="called: the function 'seen_envs:make'. If you trust"):
            use()
    assert not was_imported()
    assert Study.open(other, trust=True).family is not None
    assert was_imported()


def test_naming_the_code_is_trust_and_is_remembered(study, tmp_path):
    other = shutil.copytree(study, tmp_path / "other")
    named = Study.open(other, "seen_envs:make", space=SPACE, trainer="sb3", episodes=1)
    assert named.training
    assert Study.open(other).training


def set_fact(path, name, change):
    with closing(sqlite3.connect(path / "study.db")) as file, file:
        (text,) = file.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        changed = json.dumps(change(json.loads(text)))
        file.execute("UPDATE facts SET value = ? WHERE name = ?", (changed, name))


def test_another_configuration_in_the_same_place_is_not_trusted(study):
    other = {"name": "seen_envs:other", "options": {}}
    set_fact(study, "configuration", lambda found: found | {"family": other})
    with pytest.raises(StudyError, match="seen_envs:other"):
        _ = Study.open(study).training
    assert not was_imported()


def test_an_equal_study_of_somebody_else_is_not_trusted(study):
    set_fact(study, "origin", lambda _: "0" * 32)
    with pytest.raises(StudyError, match="If you trust it"):
        _ = Study.open(study).training


@pytest.mark.parametrize(
    "arguments", [["resume", "--budget", 1], ["evaluate"], ["evaluate", "--missing"], ["play"]]
)
def test_commands_ask_for_trust(study, tmp_path, arguments):
    Study.open(study).tell([5.0], [1.0, 2.0])  # there is something to play
    other = shutil.copytree(study, tmp_path / "other")
    name, *options = arguments
    assert "the function 'seen_envs:make'. If you trust it: --trust" in command.error(
        name, other, *options
    )
    assert not was_imported()


def test_trust_on_the_command_line_or_by_a_variable(study, tmp_path, monkeypatch):
    other = shutil.copytree(study, tmp_path / "other")
    assert "no finished policies yet" in command.error("evaluate", other, "--trust")
    monkeypatch.setenv("SDMBTL_TRUST", "1")
    assert "no finished policies yet" in command.error("evaluate", other)


def test_looking_imports_nothing(study, tmp_path):
    other = shutil.copytree(study, tmp_path / "other")
    for words in (["status"], ["status", "--show", "targets"], ["ask"]):
        command(words[0], other, *words[1:])
    command("doctor", other)
    assert not was_imported()


# -- the marks -----------------------------------------------------------------------------


def test_studies_that_name_nothing_leave_no_mark(tmp_path):
    Study.open(tmp_path / "asked", space=SPACE)
    assert not own(tmp_path, 1)._mark.parent.exists()


def test_without_a_place_for_marks_trust_is_said(tmp_path, monkeypatch, study):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
    made = Study.open(tmp_path / "second", "seen_envs:make", space=SPACE, trainer="sb3")
    assert made.training, "the user named it"
    with pytest.raises(StudyError, match="If you trust it"):
        _ = Study.open(tmp_path / "second").training


def own(path, identity):
    return StudyTrust(path, {"name": "a:b", "options": {}}, identity, given=False)


def test_without_a_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    own(tmp_path, 1).remember()
    assert not own(tmp_path, 1).holds


def test_marks_of_somebody_else_do_not_count(tmp_path, monkeypatch):
    own(tmp_path, 1).remember()
    assert own(tmp_path, 1).holds
    assert not own(tmp_path, 2).holds
    assert not own(tmp_path / "b", 1).holds
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    assert not own(tmp_path, 1).holds


# -- what is named -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "found"),
    [
        ("CartPole", {"physics": "carl"}, []),
        ("cart-pole", {}, []),
        ("no such family", {}, []),
        ("gym:Pendulum-v1", {"dimensions": {"gravity": {"path": "g"}, "m": "m"}}, []),
        ("gym:LunarLander", {"enable_wind": True, "turbulence_power": 1.5}, []),
        ("a:b", {}, ["the function 'a:b'"]),
        ("gym:a.b:C-v0", {}, ["the module 'a.b'"]),
        ("gym:Ant-v5", {"xml_file": "x.xml"}, ["the argument xml_file='x.xml' of 'gym:Ant-v5'"]),
        (
            "gym:sdmbtl/CartPole-v0",
            {"family": "os:system"},
            ["the argument family='os:system' of 'gym:sdmbtl/CartPole-v0'"],
        ),
        (
            "gym:Pendulum-v1",
            {"dimensions": {"m": {"path": "unwrapped.m"}}},
            ["the attribute 'unwrapped.m' of 'gym:Pendulum-v1'"],
        ),
        (
            "gym:Pendulum-v1",
            {"dimensions": {"m": "a[0]"}},
            ["the attribute 'a[0]' of 'gym:Pendulum-v1'"],
        ),
    ],
)
def test_code_of_a_family(name, options, found):
    assert code_of_family({"name": name, "options": options}) == found


def test_environments_that_a_process_registered(monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "Own-v0", EnvSpec("Own-v0", entry_point="own:make"))
    (found,) = code_of_family({"name": "gym:Own-v0", "options": {}})
    assert "made by own:make" in found
