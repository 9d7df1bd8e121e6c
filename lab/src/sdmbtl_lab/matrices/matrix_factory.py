"""Transfer matrices of points: a policy for every target, on every target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int, short_text
from sdmbtl.errors import MatrixError
from sdmbtl.seeds import derived_seed
from sdmbtl.training import TrainerSpec, TrainingJob
from sdmbtl_lab.computing import Heartbeat
from sdmbtl_lab.matrices.dataset import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.factory import Factory
from sdmbtl_lab.matrices.recipe import Recipe
from sdmbtl_lab.matrices.units import Computation, Rows, Unit, train_and_evaluate

#: Number of source policies whose steps together the multi-task policies are trained with.
MULTI_TASK_POLICIES = (6, 12, 50)


@dataclass(frozen=True)
class MatrixRecipe(Recipe):
    """A policy for every target, and some for all of them."""

    multi_task: tuple[int, ...] = MULTI_TASK_POLICIES

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = {check_int("multi_task", b, low=1, error=MatrixError) for b in self.multi_task}
        if numbers and "total_timesteps" not in self.training:
            raise MatrixError(
                "The steps of multi-task policies are counted in those of the others, but "
                f"'training' has no 'total_timesteps': {short_text(self.training)}. "
                "Use multi_task=()."
            )
        self.put(multi_task=tuple(sorted(numbers)))

    def multi_task_specification(self, policies: int) -> TrainerSpec:
        """Return the training of one policy for all contexts, with the steps of several."""
        steps = self.training["total_timesteps"] * policies
        return self.specification(total_timesteps=steps)


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
    """Train and evaluate once; the same arguments give the same rows."""
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


class MatrixFactory(Factory[MatrixRecipe, MatrixUnit, Rows, TransferDataset]):
    """Makes transfer matrices whose sources are the targets; see `Factory`."""

    rows_type = Rows

    def units(self, seed: int) -> list[MatrixUnit]:
        """The work of one seed."""
        return matrix_units(self.recipe, seed)

    @property
    def computation(self) -> Computation[MatrixUnit, Rows]:
        """Function that does a piece of work."""
        return partial(compute_matrix_unit, self.recipe)

    def assemble(self, each: Sequence[Sequence[tuple[MatrixUnit, Rows]]]) -> TransferDataset:
        """A data set of what was computed for each seed."""
        single = [[rows for unit, rows in seed if unit.multi_task is None] for seed in each]

        def stacked(attribute: str) -> NDArray[np.float64]:
            return np.stack([np.concatenate([getattr(r, attribute) for r in s]) for s in single])

        return TransferDataset(
            TransferMatrices(self.recipe.space, stacked("returns")),
            stacked("source_returns"),
            stacked("episode_variance"),
            {
                k: np.concatenate(
                    [rows.returns for seed in each for u, rows in seed if u.multi_task == k]
                )
                for k in self.recipe.multi_task
            },
            self.card(each),
        )
