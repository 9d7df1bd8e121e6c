"""A matrix that is made by real training in a second: few contexts, short training."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sdmbtl.environments import make_family
from sdmbtl.training import make_trainer
from sdmbtl_lab.matrices.matrix_factory import MatrixFactory, MatrixRecipe
from sdmbtl_lab.matrices.region_factory import RegionFactory, RegionForm, RegionRecipe

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
FEW_FORMS = (
    RegionForm(0.0, False, 1.0),
    RegionForm(0.5, False, 1.0),
    RegionForm(0.5, True, 0.5),
)


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


@pytest.fixture(scope="session")
def region_recipe():
    """Make the recipe of 4 generalists, each continued once, and 12 specialists."""
    space = make_family("CartPole").space("wide", levels=2)
    family = make_family("CartPole", space=space)

    def make(**settings):
        usual = {"episodes": 2, "seed": 3, "centers": 4, "forms": FEW_FORMS, "runs": 4}
        counts = {"lengths": (1, 2), "parent_lengths": (2,)}
        contexts = {"region_contexts": 4, "whole_contexts": 4}
        # The settings of the other recipe: what is compiled already serves here too.
        trainer = make_trainer("ppo", family, space, **TRAINING)
        return RegionRecipe.of(trainer, **{**usual, **counts, **contexts, **settings})

    return make


@pytest.fixture(scope="session")
def regions(tmp_path_factory, region_recipe):
    """One seed, made without interruption; not to be changed."""
    path = tmp_path_factory.mktemp("regions") / "few"
    dataset = RegionFactory(path, region_recipe()).make(1)
    return SimpleNamespace(path=path, dataset=dataset, bytes=(path / "matrix.npz").read_bytes())
