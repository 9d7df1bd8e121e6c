"""Pieces of the work on a matrix of regions: sources of the same shape, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.policies import load_policy, save_policy
from sdmbtl.seeds import derived_seed
from sdmbtl.training import TrainingJob
from sdmbtl.transfer.storage import Shape
from sdmbtl_lab.computing import Heartbeat
from sdmbtl_lab.matrices.region_dataset import ancestors
from sdmbtl_lab.matrices.region_recipe import RegionRecipe
from sdmbtl_lab.matrices.units import Rows, Unit, train_and_evaluate


@dataclass(frozen=True)
class RegionUnit(Unit):
    """Some policies of one seed.

    Attributes:
        sources: Numbers of the sources, in the recipe.
        parents: Those among them that others start from: their policies are kept.
        generation: Number of policies that they start from, one after the other.
    """

    sources: tuple[int, ...]
    parents: tuple[int, ...] = ()
    generation: int = 0

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"{self.sources[0]:05}"

    @property
    def label(self) -> str:
        """Label in the progress display."""
        return f"seed {self.seed}, {len(self.sources)} sources from {self.sources[0]}"

    @property
    def n_policies(self) -> int:
        """Number of policies."""
        return len(self.sources)

    @property
    def stage(self) -> int:
        """Parents come before those that start from them."""
        return self.generation


@dataclass(frozen=True)
class RegionRows(Rows):
    """Result of a unit, for its c policies.

    Attributes:
        curves: (c, T, 2) steps and mean return on the training contexts, during training.
    """

    shapes: ClassVar[Mapping[str, Shape]] = {**Rows.shapes, "curves": ("policies", "times", 2)}

    curves: NDArray[np.float64]

    def fit(self, c: int, n: int) -> bool:
        """Return if they are of c policies on n targets."""
        shape = self.curves.shape
        return super().fit(c, n) and len(shape) == 3 and (shape[0], shape[2]) == (c, 2)


def policy_path(directory: Path, seed: int, number: int) -> Path:
    """File of a policy that others start from."""
    return directory / "policies" / f"seed-{seed}" / f"{number:05}.safetensors"


def region_units(recipe: RegionRecipe, seed: int) -> list[RegionUnit]:
    """The work of one seed. Which policies are trained side by side belongs to the recipe."""
    parents = {source.parent for source in recipe.sources}
    alike: dict[tuple[int, float, int | None], list[int]] = {}
    for number, source in enumerate(recipe.sources):
        generation = len(ancestors(recipe.sources, number))
        alike.setdefault((generation, source.width, source.steps), []).append(number)
    chunk = recipe.training.get("chunk", 1)
    return [
        RegionUnit(seed, some, tuple(n for n in some if n in parents), generation)
        for (generation, *_), numbers in alike.items()
        for first in range(0, len(numbers), chunk)
        for some in [tuple(numbers[first : first + chunk])]
    ]


def compute_region_unit(
    recipe: RegionRecipe,
    directory: Path,
    unit: RegionUnit,
    attempt: int,
    heartbeat: Heartbeat | None,
) -> RegionRows:
    """Train and evaluate once; the same arguments give the same rows.

    Policies that others start from are written to the directory.

    Raises:
        TrainingError: If it failed.
    """

    def job(number: int) -> TrainingJob:
        source = recipe.sources[number]
        parent = source.parent
        return TrainingJob(
            recipe.contexts(number, unit.seed),
            derived_seed(recipe.seed, "training", unit.seed, number, attempt),
            attempt,
            None if parent is None else load_policy(policy_path(directory, unit.seed, parent)),
            source.steps,
        )

    jobs = [job(number) for number in unit.sources]
    seeds = [derived_seed(recipe.seed, "evaluation", unit.seed, n) for n in unit.sources]
    runs, rows = train_and_evaluate(recipe, recipe.specification(), jobs, seeds, heartbeat)
    for number, run in zip(unit.sources, runs, strict=True):
        if number in unit.parents:
            path = policy_path(directory, unit.seed, number)
            path.parent.mkdir(parents=True, exist_ok=True)
            save_policy(path, run.policy)
    return RegionRows(**vars(rows), curves=np.array([run.curve for run in runs], dtype=np.float64))
