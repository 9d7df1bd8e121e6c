"""The identity of environments changes with one's own code, and not with anything else."""

import importlib
import json
import sys
from types import ModuleType

import gymnasium
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.environments.identity import identify
from sdmbtl.studies.environment import compare

SPACE = ContextSpace(gravity=[5.0, 10.0, 20.0])
SPACE_OF_G = ContextSpace(g=[5.0, 10.0])

ENVS = '''
"""Environments."""
import gymnasium
from physics_of_mine import LENGTH

def make(context):
    """A pendulum."""
    return gymnasium.make("Pendulum-v1", g=context["gravity"], max_episode_steps=LENGTH)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the current directory that imports another one there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "envs_of_mine.py").write_text(ENVS)
    (tmp_path / "physics_of_mine.py").write_text("LENGTH = 20\n")
    yield tmp_path
    for name in ("envs_of_mine", "physics_of_mine"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def identified(family):
    found = identify(family, family.space().middle())
    return json.loads(json.dumps(found))


def edit(path, before, after):
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def test_a_module_and_what_it_imports_next_to_it(mine):
    family = make_family("envs_of_mine:make", space=SPACE)
    first = identified(family)
    assert set(first["source"]) == {"envs_of_mine", "physics_of_mine"}
    edit(mine / "envs_of_mine.py", "A pendulum", "Words")
    edit(mine / "envs_of_mine.py", "import gymnasium", "import gymnasium  # a comment")
    assert identified(family) == first
    edit(mine / "physics_of_mine.py", "20", "30")
    assert compare(first, identified(family)) == ["source of physics_of_mine has changed"]
    edit(mine / "envs_of_mine.py", "from physics_of_mine import LENGTH", "LENGTH = 20")
    assert compare(first, identified(family)) == [
        "source of envs_of_mine has changed",
        "source of physics_of_mine is no longer used",
    ]


def test_functions_without_a_module(monkeypatch):
    # What runs the tests may be a program that is installed; a notebook has no file.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))

    def make(context):
        return gymnasium.make("Pendulum-v1", g=context["gravity"])

    def other(context):
        return gymnasium.make("Pendulum-v1", g=context["gravity"] + 1)

    for function in (make, other):
        function.__module__ = "__main__"
    one, two = (identified(FactoryFamily(f, SPACE)) for f in (make, other))
    name = make.__qualname__
    assert list(one["source"]) == [name]
    two["source"] = {name: next(iter(two["source"].values()))}
    assert compare(one, two) == [f"source of {name} has changed"]


def test_typed_into_a_shell():
    space: dict = {"__name__": "__main__"}
    code = "import gymnasium\ndef make(context): return gymnasium.make('Pendulum-v1')"
    exec(code, space)  # noqa: S102
    assert identified(FactoryFamily(space["make"], SPACE))["source"] == {}


def test_installed_packages_have_no_source():
    assert identified(make_family("gym:Pendulum-v1", space=SPACE_OF_G))["source"] == {}
    assert identified(make_family("CartPole"))["source"] == {}


def test_a_package_of_ones_own_with_relative_imports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "package_of_mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .envs import make\n")
    (folder / "envs.py").write_text(ENVS.replace("physics_of_mine", ".physics"))
    (folder / "physics.py").write_text("LENGTH = 20\n")
    (folder / "unrelated.py").write_text("")
    family = make_family("package_of_mine:make", space=SPACE)
    assert set(identified(family)["source"]) == {
        "package_of_mine.envs",
        "package_of_mine.physics",
    }
    for name in [name for name in sys.modules if name.startswith("package_of_mine")]:
        del sys.modules[name]
