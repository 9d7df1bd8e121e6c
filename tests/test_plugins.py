"""Plug-ins: distributions of others add environments, selectors, trainers and commands."""

import importlib
import subprocess
import sys

import pytest

from sdmbtl import plugins

GROUPS = ("environments", "selectors", "trainers", "commands")

MODULE = '''
import typer

from sdmbtl.environments.pendulum import Pendulum
from sdmbtl.selectors import RandomSelector
from sdmbtl.training import Trainer


class Moon(Pendulum):
    """A pendulum on the moon."""

    name = "Moon"


class Dice(RandomSelector):
    """Random choice under another name."""


class Patience(Trainer):
    """A trainer that is never trained with."""

    name = "patience"


app = typer.Typer(help="Commands of a plug-in.")


@app.callback()
def callback() -> None:
    """Commands of a plug-in."""


@app.command()
def greet() -> None:
    """Greet."""
    typer.echo("hello from a plug-in")
'''
POINTS = {
    "environments": {"Moon": "moon_plugin:Moon", "Broken": "moon_plugin:Gone"},
    "selectors": {"dice": "moon_plugin:Dice", "broken": "moon_exits:Selector"},
    "trainers": {"patience": "moon_plugin:Patience", "broken": "no_such_module:Trainer"},
    "commands": {"moon": "moon_plugin:app", "broken": "no_such_module:app"},
}


def make_distribution(site, name, groups):
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[sdmbtl.{group}]", *(f"{point} = {where}" for point, where in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A directory in which a distribution with plug-ins is installed; one of each is broken."""
    site = tmp_path_factory.mktemp("site")
    (site / "moon_plugin.py").write_text(MODULE)
    (site / "moon_exits.py").write_text("raise SystemExit(0)")
    make_distribution(site, "moon", POINTS)
    return site


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    for function in (plugins.installed, plugins.load):
        function.cache_clear()
    yield
    for function in (plugins.installed, plugins.load):
        function.cache_clear()
    sys.modules.pop("moon_plugin", None)


@pytest.mark.parametrize("group", GROUPS)
def test_a_plugin_is_found_and_loaded_by_name(installed, group):
    (name, where), *_ = POINTS[group].items()
    module, _, attribute = where.partition(":")
    assert name in plugins.installed(group)
    assert plugins.load(group, name) is getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("group", GROUPS)
def test_a_broken_plugin_is_named_in_one_line(installed, group):
    _, (name, _) = POINTS[group].items()
    with pytest.warns(UserWarning, match=f"{name}.*moon.*(Error|Exit)") as warned:
        assert plugins.load(group, name) is None
    assert "\n" not in str(warned[0].message)


def test_everything_can_be_used_from_the_command_line(site):
    """In a new process, as registries are filled once; broken plug-ins stop nothing."""
    script = """
import sys
from typer.testing import CliRunner
from sdmbtl import ContextSpace, make_selector
from sdmbtl.cli import app
from sdmbtl.environments import make_family
from sdmbtl.training import trainer_names
from sdmbtl.training.registry import trainer_class

print("patience" in trainer_names(), trainer_class("patience").__name__)
print(make_family("Moon").name, type(make_selector("dice", ContextSpace(x=range(3)))).__name__)
for arguments in (["moon", "greet"], ["environments"], ["trainers"], ["--help"]):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    print(result.output)
"""
    path = [str(site), *sys.path]
    made = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{script}"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("True Patience\nMoon Dice\nhello from a plug-in\n")
    assert "Moon" in made.stdout.split("plug-in\n", 1)[1]
    printed = made.stderr + made.stdout
    broken = [line for line in printed.splitlines() if "cannot be loaded" in line]
    assert len(broken) == len(set(broken)), "each is named once"
    assert any("'broken' of 'moon'" in line for line in broken)


def test_commands_of_plugins_are_imported_when_they_are_asked_for(site):
    script = "from sdmbtl.cli import app; app(['tell', '--help'], standalone_mode=False); "
    script += "import sys; assert 'moon_plugin' not in sys.modules; assert 'rich' in sys.modules"
    path = [str(site), *sys.path]
    words = [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{script}"]
    subprocess.run(words, check=True, capture_output=True)
