"""Make the transfer matrices that ship with the package, by real training.

Everything continues where it was when this is started again. One seed of every matrix is made
first, then the second of every one, and so on: whatever ends it, what is there can be used.

    python benchmarks/make_matrices.py                 # everything: hours on two cores
    python benchmarks/make_matrices.py cartpole-wide   # one of them
    python benchmarks/make_matrices.py --ship          # copy what is finished into the package
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from sdmbtl.matrices.factory import MatrixFactory
from sdmbtl.matrices.recipe import load_recipe
from sdmbtl.matrices.shipped import folder

ROOT = Path(__file__).parents[1]
SEEDS = 3

#: Half the passes over the samples, with larger steps: twice as fast as CartPole's usual training.
#: Policies do as well where they are trained, and differ more in what else they can do.
FAST = ("--set", "update_epochs=5", "--set", "learning_rate=0.001")

#: What `sdmbtl matrix` is given for each; in the order in which they are made.
ARGUMENTS = {
    "cartpole-wide": ["CartPole", "--space", "wide", *FAST],
    "cartpole-forces": ["CartPole", "--space", "forces", *FAST],
    "pendulum": ["Pendulum", "--levels", "6", "--steps", "100000", "--multi-task", "6,12"],
    "acrobot": ["Acrobot", "--levels", "6", "--steps", "60000", "--multi-task", "6,12"],
    "cartpole": ["CartPole", "--space", "paper", *FAST],
    "cartpole-carl": [
        *("CartPole", "--physics", "carl", *FAST),
        *("--space", str(ROOT / "benchmarks/spaces/cartpole-carl.toml")),
    ],
    "cartpole-5d": ["CartPole", "--space", "everything", *FAST],
    "mountain-car": ["MountainCar", "--levels", "6", "--steps", "120000", "--multi-task", "6,12"],
    # The paper trains 5,000,000 steps; updates after 2,048 steps instead of 65,536 use few better.
    "bipedal-walker": [
        *("BipedalWalker", "--levels", "3", "--trainer", "sb3", "--steps", "60000"),
        *("--episodes", "3", "--multi-task", ""),
        *("--set", "num_envs=8", "--set", "num_steps=256"),
        *("--set", "eval_every=20000", "--set", "eval_episodes=3"),
    ],
}


def make(name: str, seeds: int, out: Path, jobs: int) -> None:
    """Make one matrix up to a number of seeds."""
    command = [sys.executable, "-m", "sdmbtl", "matrix", *ARGUMENTS[name]]
    command += ["--seeds", str(seeds), "--out", str(out / name), "--jobs", str(jobs)]
    subprocess.run(command, check=True)  # noqa: S603 - this package itself


def ship(names: list[str], out: Path) -> None:
    """Put the finished seeds of the matrices into the package."""
    folder().mkdir(exist_ok=True)
    for name in names:
        if not (out / name / "matrix.npz").exists():
            print(f"{name}: not made yet")
            continue
        factory = MatrixFactory(out / name, load_recipe(out / name / "recipe.json"))
        dataset = factory.finished()
        path = folder() / f"{name}.npz"
        dataset.save(path)
        print(f"{name}: seeds {len(dataset.matrices)}, {path.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    """Make or ship what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*ARGUMENTS, []], help="all if left out")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=ROOT / "matrices")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ship", action="store_true", help="copy into the package instead")
    given = parser.parse_args()
    names = given.names or list(ARGUMENTS)
    if given.ship:
        ship(names, given.out)
        return
    for seeds in range(1, given.seeds + 1):
        for name in names:
            make(name, seeds, given.out, given.jobs)


if __name__ == "__main__":
    main()
