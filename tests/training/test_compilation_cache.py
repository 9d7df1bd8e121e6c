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

TRAIN = """
from sdmbtl.environments import make_family
from sdmbtl.training import TrainingJob, make_trainer

family = make_family("CartPole")
space = family.space()
trainer = make_trainer("ppo", family, space, total_timesteps=256, num_envs=4, num_steps=32)
(first,) = trainer.train([TrainingJob(space.targets, 0)])
trainer.train([TrainingJob(space.targets, 1, parent=first.policy, sees_context=True)])
trainer.evaluate(first.policy, space.targets, episodes=1, seed=0)
import jax
print(jax.config.jax_compilation_cache_dir, 7.0)
"""


def compile_something(home, code=COMPILE, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XDG_CACHE"))}
    environment = {**kept, "HOME": str(home), **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
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


def test_training_and_evaluating_compile_few_programs(tmp_path):
    """Each one is traced and read again in every process, at the start of a run."""
    compile_something(tmp_path, TRAIN)
    assert len(entries(tmp_path / ".cache" / "sdmbtl" / "compiled")) <= 12
