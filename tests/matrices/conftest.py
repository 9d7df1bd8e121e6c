"""A matrix that is made by real training in a second: few contexts, short training."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sdmbtl.environments import make_family
from sdmbtl.matrices.matrix_factory import MatrixFactory
from sdmbtl.matrices.matrix_recipe import MatrixRecipe
from sdmbtl.trainers import make_trainer

HERE = Path(__file__).parent
SHORT = {
    "total_timesteps": 512,
    "num_envs": 2,
    "num_steps": 32,
    "minibatch_size": 32,
    "update_epochs": 1,
    "hidden_sizes": [8],
}
TRAINING = {**SHORT, "eval_every": 4, "eval_episodes": 2, "chunk": 4}


@pytest.fixture(scope="session")
def small_recipe():
    """Make the recipe: 8 contexts in two chunks, and a multi-task policy."""
    family = make_family("CartPole", space=make_family("CartPole").space("wide", levels=2))

    def make(training=(), **settings):
        trainer = make_trainer("ppo", family, family.space(), **{**TRAINING, **dict(training)})
        return MatrixRecipe.of(
            trainer, **{"episodes": 2, "seed": 3, "multi_task": (2,), **settings}
        )

    return make


@pytest.fixture(scope="session")
def recipe(small_recipe):
    return small_recipe()


@pytest.fixture(scope="session")
def reference(tmp_path_factory, recipe):
    """Two seeds, made in one process without interruption; not to be changed."""
    path = tmp_path_factory.mktemp("reference") / "matrix"
    dataset = MatrixFactory(path, recipe).make(2)
    return SimpleNamespace(path=path, dataset=dataset, bytes=(path / "matrix.npz").read_bytes())


@pytest.fixture
def killed(tmp_path, recipe):
    """Make the matrix in another process, which kills itself at some moment."""

    def run(out, stage, number, jobs=1):
        (tmp_path / "recipe.json").write_text(json.dumps(recipe.to_dict()))
        arguments = (out, tmp_path / "recipe.json", stage, number, jobs)
        return subprocess.run(
            [sys.executable, str(HERE / "killed_matrix.py"), *map(str, arguments)],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            },
            timeout=300,
        )

    return run
