"""The matrix factory: every policy on every target, for several seeds."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import whole_number
from sdmbtl.errors import MatrixError
from sdmbtl.matrices.recipe import Recipe, keep_recipe
from sdmbtl.matrices.units import Rows, Unit, compute, units
from sdmbtl.parallel import computed
from sdmbtl.transfer.dataset import TransferDataset
from sdmbtl.transfer.matrix import TransferMatrices

#: Called with the work done and the work in all, in policies, and what was finished.
Progress = Callable[[int, int, str], None]

_PACKAGES = ("sdmbtl", "numpy", "gymnasium", "jax", "jaxlib", "stable-baselines3", "torch")


class MatrixFactory:
    """Makes the matrix of a recipe in a directory, piece by piece.

    Every piece is written when it is done, so that work goes on where it was, whatever ended it.

    Args:
        out: The directory; made if missing.
        recipe: What to make.
        name: Name of the data set; that of the directory if left out.

    Raises:
        MatrixError: If another recipe was begun in that directory.
    """

    def __init__(self, out: Path, recipe: Recipe, name: str | None = None) -> None:
        self.out, self.recipe = out, recipe
        self.name = out.resolve().name if name is None else name
        try:
            out.mkdir(parents=True, exist_ok=True)
            keep_recipe(out / "recipe.json", recipe)
        except OSError as error:
            raise MatrixError(
                f"Cannot write to {str(out)!r}: {error.strerror}. Choose another directory."
            ) from None

    @property
    def path(self) -> Path:
        """Where the finished matrix is."""
        return self.out / "matrix.npz"

    def make(
        self, seeds: int, *, jobs: int = 1, progress: Progress | None = None
    ) -> TransferDataset:
        """Do all work that is not done yet, and write the matrix.

        Args:
            seeds: Number of seeds; more than before adds to what is there.
            jobs: Number of processes.
            progress: Called after each piece of work.
        """
        whole_number("seeds", seeds, low=1, error=MatrixError)
        for trial in range(seeds):
            self._make_seed(trial, seeds, jobs, progress)
        dataset = self.assembled(seeds)
        dataset.save(self.path)
        return dataset

    def _make_seed(self, trial: int, seeds: int, jobs: int, progress: Progress | None) -> None:
        every = units(self.recipe, trial)
        todo = [unit for unit in every if self._rows(unit) is None]
        each = sum(unit.weight for unit in every)
        done = (trial + 1) * each - sum(unit.weight for unit in todo)
        if progress:
            progress(done, seeds * each, "")
        # The longest first: then no process waits long for the others at the end.
        todo.sort(key=lambda unit: -unit.weight)
        work = partial(compute, json.dumps(self.recipe.to_dict()))
        for unit, rows in computed(work, todo, jobs):
            rows.save(self.out / unit.path, self.recipe.space)
            done += unit.weight
            if progress:
                progress(done, seeds * each, unit.label)

    def assembled(self, seeds: int) -> TransferDataset:
        """The finished seeds as a data set.

        Raises:
            MatrixError: If one of them is not finished.
        """
        each = [self._seed(trial) for trial in range(seeds)]
        single = [[rows for unit, rows in seed if unit.multi_task is None] for seed in each]

        def stacked(attribute: str) -> NDArray[np.float64]:
            return np.stack([np.concatenate([getattr(r, attribute) for r in s]) for s in single])

        return TransferDataset(
            TransferMatrices(self.recipe.space, stacked("returns")),
            stacked("source_returns"),
            stacked("episode_variance"),
            {
                budget: np.concatenate(
                    [rows.returns for seed in each for u, rows in seed if u.multi_task == budget]
                )
                for budget in self.recipe.multi_task
            },
            self._card(seeds, [rows.cost for seed in each for _, rows in seed]),
        )

    def finished(self) -> TransferDataset:
        """All seeds that are finished, as a data set."""
        seeds = 0
        while all(self._rows(unit) is not None for unit in units(self.recipe, seeds)):
            seeds += 1
        return self.assembled(seeds)

    def _seed(self, trial: int) -> list[tuple[Unit, Rows]]:
        found = []
        for unit in units(self.recipe, trial):
            rows = self._rows(unit)
            if rows is None:
                raise MatrixError(f"The matrix in {str(self.out)!r} lacks {unit.label}.")
            found.append((unit, rows))
        return found

    def _rows(self, unit: Unit) -> Rows | None:
        rows = Rows.load(self.out / unit.path)
        expected = (len(unit.sources) or 1, len(self.recipe.space))
        return rows if rows is not None and rows.returns.shape == expected else None

    def _card(self, seeds: int, costs: list[NDArray[np.float64]]) -> dict[str, Any]:
        training, evaluation, steps, _ = np.sum(costs, axis=0).tolist()
        return {
            "name": self.name,
            "seeds": seeds,
            "recipe": self.recipe.to_dict(),
            "cost": {
                "training_cpu_seconds": round(training, 1),
                "evaluation_cpu_seconds": round(evaluation, 1),
                "training_steps": int(steps),
                "trained_again": int(sum(cost[3] > 1 for cost in costs)),
            },
            "versions": {name: _version(name) for name in _PACKAGES},
            "python": platform.python_version(),
            "machine": platform.machine(),
        }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
