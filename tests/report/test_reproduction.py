"""The command that makes a study again."""

import json
import shlex
from dataclasses import asdict

import pytest
from command_runner import Command
from report_studies import SPACES, told_study
from small_study import POINTS, REGIONS, TRAINER
from stand_ins import STAND_INS

from sdmbtl import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.report.reproduction import reproduction
from sdmbtl.studies import Study

COMMAND = Command()
WIDE = make_family("CartPole").space("wide", levels=2)


@pytest.fixture(autouse=True)
def _no_training(monkeypatch):
    """Commands train in no time."""
    for place, name, value in STAND_INS:
        if name != "training":
            monkeypatch.setattr(place, name, value)


def made_again(found, folder, monkeypatch):
    """The configuration of the study that the command makes."""
    monkeypatch.chdir(folder)
    (folder / "space.toml").write_text(found.space_file)
    program, *arguments = shlex.split(found.command)
    assert program == "sdmbtl"
    COMMAND(*arguments)
    return Study.open(folder / "again").configuration


@pytest.mark.parametrize(
    "options",
    [
        {**REGIONS, "region_contexts": 64, "batch": 2},
        {**POINTS, "seed": 7, "episodes": 2, "retries": 0},
        {"selector": "m/gp-mbtl"},
        {"selector": "gp-mbtl", "selector_options": {"exploration": 2.0}},
    ],
)
def test_the_same_study_is_made(tmp_path, monkeypatch, options):
    study = Study.open(
        tmp_path / "study", "CartPole", space=WIDE, trainer_options=TRAINER, **options
    )
    found = reproduction(study.configuration, {"total_steps": 1}, "again")
    assert made_again(found, tmp_path, monkeypatch) == study.configuration


def test_a_range_of_returns_in_the_file_is_kept(tmp_path, monkeypatch):
    file = tmp_path / "space.toml"
    file.write_text("[dimensions.length]\nvalues = [0.5, 1.0]\n[returns]\nmin = 0\nmax = 100\n")
    study = Study.open(tmp_path / "study", "CartPole", space=file, trainer_options=TRAINER)
    found = reproduction(study.configuration, {"total_steps": 1}, "again")
    assert made_again(found, tmp_path, monkeypatch) == study.configuration


def test_a_study_without_environment_is_made_by_ask(tmp_path, monkeypatch):
    study = told_study(tmp_path / "study", SPACES["line"], selector="auto", seed=3)
    found = reproduction(study.configuration, {}, "again")
    assert found.command.startswith("sdmbtl ask again --space space.toml")
    assert made_again(found, tmp_path, monkeypatch) == study.configuration


@pytest.mark.parametrize(
    ("space", "options", "why"),
    [
        (SPACES["list"], {}, "The targets are a list"),
        (SPACES["line"], {"region_contexts": 8}, "region_contexts=8 is set in Python"),
        (SPACES["line"], {"batch": 2}, "batch=2 is set in Python"),
    ],
)
def test_what_no_command_makes_is_said(tmp_path, space, options, why):
    study = told_study(tmp_path / "study", space, policies=0, **options)
    found = reproduction(study.configuration, {}, "again")
    assert (found.command, found.space_file) == (None, None)
    assert why in found.why_not
    assert json.loads(found.configuration) == asdict(study.configuration)


def test_a_function_without_a_name_is_no_command(tmp_path):
    import gymnasium

    def make(context):
        return gymnasium.make("CartPole-v1")

    study = Study.open(tmp_path / "study", make, space=ContextSpace(a=[1.0, 2.0]))
    assert "only Python knows" in reproduction(study.configuration, {}, "again").why_not


def test_names_and_paths_cannot_leave_their_places(tmp_path, monkeypatch):
    name = 'x"; rm -rf ~ #'
    study = told_study(tmp_path / "study", ContextSpace(**{name: [1.0, 2.0]}), policies=0)
    found = reproduction(study.configuration, {}, "a b; c")
    assert shlex.split(found.command)[:3] == ["sdmbtl", "ask", "a b; c"]
    again = reproduction(study.configuration, {}, "again")
    assert made_again(again, tmp_path, monkeypatch) == study.configuration
