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


def compile_something(home, code=COMPILE):
    """The directory of the cache, and warnings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OWN)}
    environment = {**kept, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
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
    monkeypatch.setattr(networks, "jax", SimpleNamespace(config=config, devices=list))
    networks.start_backend()
    assert options.get("jax_compilation_cache_dir") == kept_in


def test_training_and_evaluating_compile_few_programs(tmp_path):
    """Each one is traced and read again in every process, at the start of a run."""
    compile_something(tmp_path, TRAIN)
    assert len(list((tmp_path / ".cache/sdmbtl/compiled").glob("*-cache"))) <= 12
