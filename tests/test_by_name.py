"""What can be named: functions and classes of one's own or of packages, nothing of Python's."""

import sys

import pytest

from sdmbtl.by_name import import_by_name
from sdmbtl.errors import FamilyError

MODULE = """
import functools
import os
import subprocess
from os import system
from subprocess import Popen, run
from shutil import rmtree as clean
from gymnasium import make as passed_on


def make(context):
    pass


class Environment:
    def method(self):
        pass


partly = functools.partial(make, {})
remembered = functools.lru_cache(make)
number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "named_things.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield "named_things"
    sys.modules.pop("named_things", None)


def imported(name):
    return import_by_name(name, "factory", example="my_envs:make", error=FamilyError)


@pytest.mark.parametrize("name", ["make", "Environment", "passed_on"])
def test_functions_and_classes(module, name):
    assert callable(imported(f"{module}:{name}"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            (name, "'named_things:.*' is .* of Python's standard library")
            for name in ("Popen", "run", "clean")
        ),
        *(
            (name, "must be a function or a class")
            for name in ("system", "os", "partly", "remembered", "number")
        ),
        *(
            (name, "at the top of a module")
            for name in ("os.system", "subprocess.Popen", "Environment.method", "make()")
        ),
        ("__builtins__", "must be a function or a class"),
        ("__class__", "is builtins.module of Python's|has no"),
    ],
)
def test_what_a_module_may_not_lend(module, name, text):
    with pytest.raises(FamilyError, match=text):
        imported(f"{module}:{name}")


@pytest.mark.parametrize(
    "name",
    [
        *("subprocess:Popen", "os:system", "builtins:exec", "posix:system", "os.path:join"),
        *("runpy:run_path", "test.support.script_helper:spawn_python", "__main__:make"),
    ],
)
def test_python_itself_is_not_named(name, monkeypatch):
    before = set(sys.modules)
    with pytest.raises(FamilyError, match="is one of Python itself"):
        imported(name)
    assert set(sys.modules) == before


@pytest.mark.parametrize("name", ["..:x", "a b:x", "../evil:x", "my-envs:x", "a..b:x", ".a:x"])
def test_what_is_not_a_module(name):
    with pytest.raises(FamilyError, match="is not the name of a module"):
        imported(name)
