"""Make the transfer matrices that ship with the package, of points and of regions.

Interrupted work continues when this is started again. The first seed of every matrix is made first,
then the second of every one, so a partial result is useful at any time.

    python lab/experiments/make_matrices.py                     # everything: hours on two cores
    python lab/experiments/make_matrices.py cartpole-wide       # one of them
    python lab/experiments/make_matrices.py regions-pendulum    # one whose sources are regions
    python lab/experiments/make_matrices.py --ship              # copy finished seeds into the lab
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from experiment import ROOT
from generalists.data_sets import MOST_TARGETS
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.training import make_trainer
from sdmbtl_lab.matrices.matrix_factory import MatrixFactory, MatrixRecipe
from sdmbtl_lab.matrices.region_factory import RegionFactory, RegionForm, RegionRecipe
from sdmbtl_lab.matrices.shipped import folder

#: Half the passes over the samples, with larger steps: twice as fast as CartPole's usual training.
#: Policies do as well where they are trained, and differ more in what else they can do.
FAST_SETTINGS = {"update_epochs": 5, "learning_rate": 0.001}
FAST = [word for setting in FAST_SETTINGS.items() for word in ("--set", "{}={}".format(*setting))]

#: Arguments of `sdmbtl lab matrix` for each, in the order in which they are made.
ARGUMENTS = {
    "cartpole-wide": ["CartPole", "--space", "wide", *FAST],
    "cartpole-forces": ["CartPole", "--space", "forces", *FAST],
    "pendulum": ["Pendulum", "--levels", "6", "--steps", "100000", "--multi-task", "6,12"],
    "acrobot": ["Acrobot", "--levels", "6", "--steps", "60000", "--multi-task", "6,12"],
    "cartpole": ["CartPole", "--space", "paper", *FAST],
    "cartpole-carl": [
        *("CartPole", "--option", "physics=carl", *FAST),
        *("--space", str(ROOT / "lab/experiments/spaces/cartpole-carl.toml")),
    ],
    "cartpole-5d": ["CartPole", "--space", "everything", *FAST],
    "mountain-car": ["MountainCar", "--levels", "6", "--steps", "120000", "--multi-task", "6,12"],
    "traffic": ["Traffic", "--levels", "4", "--multi-task", "1"],
    # The paper trains 5,000,000 steps: days of two cores. This takes 75 minutes of one core a seed.
    "bipedal-walker": ["BipedalWalker", "--steps", "1000000", "--multi-task", "1"],
    "crop": ["Crop", "--multi-task", "6,12"],
    # Nothing in it is random, so one episode is enough.
    "crop-planning": [
        *("CropPlanning", "--levels", "4", "--episodes", "1", "--multi-task", "6,12"),
    ],
}


@dataclass(frozen=True)
class Regions:
    """Return the recipe of a matrix of regions: environments and settings of the one of points.

    Attributes:
        environment: Name of the family.
        space: Name of its space.
        levels: Values of each dimension; the usual ones if left out.
        settings: Of the trainer.
        sources: Which generalists and specialists there are; the usual ones if left out.
    """

    environment: str
    space: str = "wide"
    levels: int | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)

    def recipe(self) -> RegionRecipe:
        """The recipe; of a space with very many targets a sample is covered."""
        family = make_family(self.environment)
        space = family.space(self.space, levels=self.levels)
        if len(space) > MOST_TARGETS:
            space = ContextSpace.sample(MOST_TARGETS, seed=0, **space.dimensions)
        family = make_family(self.environment, space=space)
        trainer = make_trainer("ppo", family, space, **self.settings)
        return RegionRecipe.of(trainer, **self.sources)


#: In the order in which they are made.
REGIONS = {
    "regions-cartpole-wide": Regions("CartPole", settings=FAST_SETTINGS),
    "regions-cartpole-forces": Regions("CartPole", "forces", settings=FAST_SETTINGS),
    "regions-pendulum": Regions("Pendulum", levels=6, settings={"total_timesteps": 100_000}),
    "regions-acrobot": Regions("Acrobot", levels=6, settings={"total_timesteps": 60_000}),
    "regions-cartpole-everything": Regions("CartPole", "everything", settings=FAST_SETTINGS),
    "regions-mountain-car": Regions("MountainCar", levels=6, settings={"total_timesteps": 120_000}),
    # A policy takes minutes: one generalist, and around every target one specialist that starts
    # from it, with a quarter of its steps.
    "regions-bipedal-walker": Regions(
        "BipedalWalker",
        "moderate",
        settings={"total_timesteps": 1_000_000},
        sources={
            "centers": 27,
            "forms": (RegionForm(0.25, from_generalist=True, length=0.25),),
            "runs": 1,
            "lengths": (1,),
            "parent_lengths": (1,),
        },
    ),
}


#: Most seeds that ship.
SEEDS = {**dict.fromkeys(ARGUMENTS, 3), **dict.fromkeys(REGIONS, 2)}
SEEDS |= {"traffic": 2, "bipedal-walker": 2, "regions-bipedal-walker": 1}
MOST_SEEDS = max(SEEDS.values())


def make(name: str, seeds: int, out: Path, jobs: int) -> None:
    """Make one matrix up to a number of seeds."""
    if name in REGIONS:
        factory = RegionFactory(out / name, REGIONS[name].recipe())
        factory.make(seeds, jobs=jobs, progress=partial(show, name))
        return
    command = [sys.executable, "-m", "sdmbtl", "lab", "matrix", *ARGUMENTS[name]]
    command += ["--seeds", str(seeds), "--out", str(out / name), "--jobs", str(jobs)]
    subprocess.run(command, check=True)  # noqa: S603 - this package itself


def show(name: str, done: int, total: int, label: str) -> None:
    """Print how far the work is."""
    print(f"{time.strftime('%H:%M:%S')} {name}: {done} of {total} policies, {label}", flush=True)


def ship(names: list[str], out: Path) -> None:
    """Put the finished seeds of the matrices into the package."""
    folder().mkdir(exist_ok=True)
    for name in names:
        if not (out / name / "matrix.npz").exists():
            print(f"{name}: not made yet")
            continue
        recipe = out / name / "recipe.json"
        dataset = (
            RegionFactory(out / name, RegionRecipe.load(recipe)).finished()
            if name in REGIONS
            else MatrixFactory(out / name, MatrixRecipe.load(recipe)).finished()
        )
        path = folder() / f"{name}.npz"
        dataset.save(path)
        print(f"{name}: seeds {dataset.card['seeds']}, {path.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    """Make or ship what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*SEEDS, []], help="all if left out")
    parser.add_argument("--seeds", type=int, default=MOST_SEEDS)
    parser.add_argument("--out", type=Path, default=ROOT / "matrices")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ship", action="store_true", help="copy into the package instead")
    given = parser.parse_args()
    names = given.names or list(SEEDS)
    if given.ship:
        ship(names, given.out)
        return
    for seeds in range(1, given.seeds + 1):
        for name in names:
            if seeds <= SEEDS[name]:
                make(name, seeds, given.out, given.jobs)


if __name__ == "__main__":
    main()
