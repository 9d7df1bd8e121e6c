"""Pieces of the work on a matrix of points: some sources, or a multi-task policy."""

from __future__ import annotations

from dataclasses import dataclass

from sdmbtl.seeds import derived_seed
from sdmbtl.training import TrainingJob
from sdmbtl_lab.computing import Heartbeat
from sdmbtl_lab.matrices.matrix_recipe import MatrixRecipe
from sdmbtl_lab.matrices.units import Rows, Unit, train_and_evaluate


@dataclass(frozen=True)
class MatrixUnit(Unit):
    """Some policies of one seed.

    Attributes:
        sources: The targets that they are trained on, one each; none for a multi-task policy.
        multi_task: For a multi-task policy, its steps counted in source policies.
    """

    sources: tuple[int, ...] = ()
    multi_task: int | None = None

    @property
    def name(self) -> str:
        """Name of its file."""
        if self.multi_task is not None:
            return f"multi-task-{self.multi_task}"
        return f"{self.sources[0]:05}"

    @property
    def label(self) -> str:
        """Label in the progress display."""
        if self.multi_task is not None:
            return f"seed {self.seed}, multi-task with the steps of {self.multi_task}"
        return f"seed {self.seed}, sources {self.sources[0]} to {self.sources[-1]}"

    @property
    def n_policies(self) -> int:
        """Number of policies."""
        return len(self.sources) or 1

    @property
    def weight(self) -> int:
        """Amount of training, in source policies."""
        return self.multi_task or len(self.sources)


def matrix_units(recipe: MatrixRecipe, seed: int) -> list[MatrixUnit]:
    """The work of one seed. Which policies are trained side by side belongs to the recipe."""
    n, chunk = len(recipe.space), recipe.training.get("chunk", 1)
    rows = [MatrixUnit(seed, tuple(range(i, min(i + chunk, n)))) for i in range(0, n, chunk)]
    return [*rows, *[MatrixUnit(seed, multi_task=k) for k in recipe.multi_task]]


def compute_matrix_unit(
    recipe: MatrixRecipe, unit: MatrixUnit, attempt: int, heartbeat: Heartbeat | None
) -> Rows:
    """Train and evaluate once; the same arguments give the same rows.

    Raises:
        TrainingError: If it failed.
    """
    targets, number = recipe.space.targets, unit.multi_task
    if number is not None:
        spec = recipe.multi_task_specification(number)
        key = f"multi-task {number}"
        training_seed = derived_seed(recipe.seed, f"{key} training", unit.seed, attempt)
        jobs = [TrainingJob(targets, training_seed, attempt, sees_context=True)]
        seeds = [derived_seed(recipe.seed, f"{key} evaluation", unit.seed)]
        return train_and_evaluate(recipe, spec, jobs, seeds, heartbeat)[1]
    jobs = [
        TrainingJob(
            targets[[source]],
            derived_seed(recipe.seed, "training", unit.seed, source, attempt),
            attempt,
        )
        for source in unit.sources
    ]
    seeds = [derived_seed(recipe.seed, "evaluation", unit.seed, n) for n in unit.sources]
    return train_and_evaluate(recipe, recipe.specification(), jobs, seeds, heartbeat)[1]
