"""Transfer matrices of points: a policy for every target, on every target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int, short_text
from sdmbtl.errors import MatrixError
from sdmbtl.seeds import derived_seed
from sdmbtl.training import TrainerSpec, TrainingJob
from sdmbtl_lab.matrices.dataset import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.factory import Factory, Rows, Unit
from sdmbtl_lab.matrices.recipe import Recipe

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


class MatrixFactory(Factory[MatrixRecipe, TransferDataset]):
    """Makes transfer matrices whose sources are the targets; see `Factory`."""

    def units(self, seed: int) -> list[Unit]:
        """The work of one seed. Which policies are trained side by side belongs to the recipe."""
        n, chunk = len(self.recipe.space), self.recipe.training.get("chunk", 1)
        rows = [Unit(seed, tuple(range(i, min(i + chunk, n)))) for i in range(0, n, chunk)]
        return [*rows, *[Unit(seed, multi_task=k) for k in self.recipe.multi_task]]

    def jobs(self, unit: Unit, attempt: int) -> tuple[TrainerSpec, list[TrainingJob], list[int]]:
        """The training of a unit; a multi-task policy sees its context."""
        recipe, targets, number = self.recipe, self.recipe.space.targets, unit.multi_task

        def seed(use: str, *keys: int) -> int:
            return derived_seed(recipe.seed, use, unit.seed, *keys)

        if number is not None:
            training_seed = seed(f"multi-task {number} training", attempt)
            return (
                recipe.specification(total_timesteps=recipe.training["total_timesteps"] * number),
                [TrainingJob(targets, training_seed, attempt, sees_context=True)],
                [seed(f"multi-task {number} evaluation")],
            )
        return (
            recipe.specification(),
            [
                TrainingJob(targets[[n]], seed("training", n, attempt), attempt)
                for n in unit.sources
            ],
            [seed("evaluation", n) for n in unit.sources],
        )

    def assemble(self, each: Sequence[Sequence[tuple[Unit, Rows]]]) -> TransferDataset:
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
