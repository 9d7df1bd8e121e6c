"""Compiled functions are kept for the next process."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from sdmbtl.training.ppo import networks

pytest.importorskip("filelock")

COMPILE = """
import jax, sys
from sdmbtl.training.ppo.networks import start_backend
start_backend()
print(jax.config.jax_compilation_cache_dir)
print(float(jax.jit(lambda x: x * 3 + 1)(2.0)))
"""
OWN = ("JAX_", "XDG_CACHE", "PYTHONWARNINGS")


def compile_something(home):
    """The directory of the cache, and warnings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OWN)}
    environment = {**kept, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True, check=True
    )
    directory, result = done.stdout.split()
    assert result == "7.0"
    return directory, done.stderr


def test_compiled_functions_are_kept_and_a_corrupt_one_is_compiled_again(tmp_path):
    directory = tmp_path / ".cache" / "sdmbtl" / "compiled"
    assert compile_something(tmp_path) == (str(directory), "")
    entries = list(directory.glob("*-cache"))
    assert entries
    for path in entries:
        path.write_bytes(b"torn")
    assert "Error reading persistent compilation cache" in compile_something(tmp_path)[1]


def test_a_directory_that_cannot_be_made_does_not_break_a_run(tmp_path):
    (tmp_path / ".cache").touch()
    compile_something(tmp_path)


@pytest.mark.parametrize(
    ("chosen", "home_cache", "kept_in"),
    [
        (None, "/mine", "/mine/sdmbtl/compiled"),
        (None, "relative", "/home/me/.cache/sdmbtl/compiled"),
        ("/jax", "/mine", None),
    ],
)
def test_the_directory_is_the_users_choice(chosen, home_cache, kept_in, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", home_cache)
    monkeypatch.setenv("HOME", "/home/me")
    options = {}
    config = SimpleNamespace(jax_compilation_cache_dir=chosen, update=options.__setitem__)
    monkeypatch.setattr(networks, "jax", SimpleNamespace(config=config))
    networks._keep_compiled_functions()
    assert options.get("jax_compilation_cache_dir") == kept_in
