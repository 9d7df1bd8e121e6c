"""Compiled functions are kept for the next process."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("filelock")

COMPILE = """
import jax, sys
from sdmbtl.training.ppo.networks import start_backend
start_backend()
print(jax.config.jax_compilation_cache_dir)
print(float(jax.jit(lambda x: x * 3 + 1)(2.0)))
"""


def compile_something(home, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XDG_CACHE"))}
    environment = {**kept, "HOME": str(home), **variables}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True, check=True
    )
    directory, result = done.stdout.split()
    assert result == "7.0"
    return directory


def entries(directory):
    return {path.name: path for path in directory.glob("*-cache")}


def test_compiled_functions_are_kept_and_a_corrupt_one_is_compiled_again(tmp_path):
    directory = tmp_path / ".cache" / "sdmbtl" / "compiled"
    assert compile_something(tmp_path) == str(directory)
    first = entries(directory)
    assert first
    assert compile_something(tmp_path) == str(directory)
    assert entries(directory).keys() == first.keys()
    for path in first.values():
        path.write_bytes(b"torn")
    compile_something(tmp_path)


def test_the_directory_is_the_users_choice(tmp_path):
    chosen = str(tmp_path / "mine")
    assert compile_something(tmp_path, XDG_CACHE_HOME=chosen).startswith(chosen)
    assert compile_something(tmp_path, JAX_COMPILATION_CACHE_DIR=chosen) == chosen


def test_a_directory_that_cannot_be_made_does_not_break_a_run(tmp_path):
    (tmp_path / "file").touch()
    compile_something(tmp_path, XDG_CACHE_HOME=str(tmp_path / "file"))
