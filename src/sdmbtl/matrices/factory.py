"""The matrix factory: every policy on every target, for several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import whole_number
from sdmbtl.errors import MatrixError, TrainingError
from sdmbtl.lock import exclusive
from sdmbtl.matrices.dataset import TransferDataset
from sdmbtl.matrices.recipe import Recipe, keep_recipe
from sdmbtl.matrices.software import keep_software, software_of
from sdmbtl.matrices.transfer_matrices import TransferMatrices
from sdmbtl.matrices.units import Rows, Unit, compute_with_retries, units
from sdmbtl.parallel import compute_all

#: Called with the work done and the work in all, in policies, and what was finished.
Progress = Callable[[int, int, str], None]


class MatrixFactory:
    """Makes the matrix of a recipe in a directory, piece by piece.

    Every piece is written when it is done, so that work continues where it was, whatever ended it.

    Args:
        out: The directory; made if missing.
        recipe: What to make.
        name: Name of the data set; that of the directory if left out.

    Raises:
        MatrixError: If another recipe was begun in that directory, or it cannot be written.
    """

    def __init__(self, out: str | Path, recipe: Recipe, name: str | None = None) -> None:
        self.out = out = Path(out)
        self.recipe = recipe
        self.name = out.resolve().name if name is None else name
        kept = out / "recipe.json"
        try:
            out.mkdir(parents=True, exist_ok=True)
            # Whoever only looks needs no lock, and no right to write.
            with nullcontext() if kept.exists() else self._alone():
                keep_recipe(kept, recipe)
        except OSError as error:
            raise MatrixError(
                f"Cannot write to {str(out)!r}: {error.strerror}. Choose another directory."
            ) from None

    @property
    def path(self) -> Path:
        """Where the finished matrix is."""
        return self.out / "matrix.npz"

    @property
    def begun_seeds(self) -> int:
        """Number of seeds of which the directory has rows, finished or not."""
        return len(list(self.out.glob("rows/seed-*/")))

    def damaged(self, seeds: int) -> list[Path]:
        """Files of these seeds that cannot be used: `make` makes them again."""
        paths = (self.out / unit.path for unit in self._missing(seeds))
        return [path for path in paths if path.exists()]

    def make(
        self, seeds: int, *, jobs: int = 1, progress: Progress | None = None
    ) -> TransferDataset:
        """Do all work that is not done yet, or whose file is damaged, and write the matrix.

        Args:
            seeds: Number of seeds. More than before adds to what is there. The matrix holds
                exactly these, so that the same call always gives the same; with fewer than
                before, the rows of the others are kept.
            jobs: Number of processes.
            progress: Called at the beginning and after each piece of work.

        Raises:
            MatrixError: If another process works in the directory, or it cannot be written.
            TrainingError: If a training run failed each time, or a process died.
        """
        whole_number("seeds", seeds, low=1, error=MatrixError)
        whole_number("jobs", jobs, low=1, error=MatrixError)
        with self._alone():
            with self._writing():
                self._delete_leftovers()
            self._do_what_is_missing(seeds, jobs, progress)
            dataset = self.assembled(seeds)
            with self._writing():
                dataset.save(self.path)
        return dataset

    def assembled(self, seeds: int) -> TransferDataset:
        """The first seeds as a data set.

        Raises:
            MatrixError: If one of them is not finished.
        """
        whole_number("seeds", seeds, low=1, error=MatrixError)
        each = [self._seed(seed) for seed in range(seeds)]
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
            self._card(seeds, [rows.cost for seed in each for _, rows in seed]),
        )

    def finished(self) -> TransferDataset:
        """All seeds that are finished, up to the first that is not, as a data set.

        Raises:
            MatrixError: If none is.
        """
        seeds = 0
        while all(self._rows(unit) is not None for unit in units(self.recipe, seeds)):
            seeds += 1
        if not seeds:
            raise MatrixError(
                f"No seed of the matrix in {str(self.out)!r} is finished yet. Finish making it "
                "first."
            )
        return self.assembled(seeds)

    # -- the work ------------------------------------------------------------------------------

    def _do_what_is_missing(self, seeds: int, jobs: int, progress: Progress | None) -> None:
        todo = self._missing(seeds)
        total = seeds * sum(unit.weight for unit in units(self.recipe, 0))
        done = total - sum(unit.weight for unit in todo)
        if progress:
            progress(done, total, "")
        if not todo:
            return
        with self._writing():
            keep_software(self._software_path)
        # Seed by seed, and the longest first: then no process waits long for the others.
        todo.sort(key=lambda unit: (unit.seed, -unit.weight))
        for unit, rows in self._results(todo, min(jobs, len(todo))):
            with self._writing():
                rows.save(self.out / unit.path, self.recipe.space)
            done += unit.weight
            if progress:
                progress(done, total, unit.label)

    def _results(self, todo: list[Unit], jobs: int) -> Iterator[tuple[Unit, Rows]]:
        """The rows of the units as they are finished."""
        try:
            yield from compute_all(partial(compute_with_retries, self.recipe), todo, jobs)
        except BrokenProcessPool as error:
            raise TrainingError(
                f"A worker process died, perhaps for lack of memory. {self._kept} "
                f"Continue with fewer jobs than {jobs}."
            ) from error
        except TrainingError as error:
            raise TrainingError(
                f"{error} {self._kept} To try again gives the same unless the cause is gone; "
                "other settings of the training, as a smaller learning rate, need another "
                "directory."
            ) from error

    def _delete_leftovers(self) -> None:
        """Delete what a process that was killed left half written."""
        for pattern in (".*.tmp", "rows/seed-*/.*.tmp"):
            for leftover in self.out.glob(pattern):
                leftover.unlink()

    def _alone(self) -> AbstractContextManager[None]:
        return exclusive(self.out / "matrix.lock", doing="making the matrix", error=MatrixError)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say what a failed write means."""
        try:
            yield
        except OSError as error:
            raise MatrixError(
                f"Cannot write to {str(self.out)!r}: {error.strerror}. {self._kept} "
                "Make room, or give access, then continue."
            ) from None

    @property
    def _kept(self) -> str:
        return f"Everything finished so far is kept in {str(self.out)!r}."

    # -- what is there -------------------------------------------------------------------------

    def _missing(self, seeds: int) -> list[Unit]:
        every = (unit for seed in range(seeds) for unit in units(self.recipe, seed))
        return [unit for unit in every if self._rows(unit) is None]

    @property
    def _software_path(self) -> Path:
        return self.out / "software.json"

    def _seed(self, seed: int) -> list[tuple[Unit, Rows]]:
        found = []
        for unit in units(self.recipe, seed):
            rows = self._rows(unit)
            if rows is None:
                raise MatrixError(
                    f"The matrix in {str(self.out)!r} lacks {unit.label}. Finish making it first."
                )
            found.append((unit, rows))
        return found

    def _rows(self, unit: Unit) -> Rows | None:
        return Rows.load(self.out / unit.path, self.recipe.space, unit.n_policies)

    def _card(self, seeds: int, costs: list[NDArray[np.float64]]) -> dict[str, Any]:
        training, evaluation, steps, _ = np.sum(costs, axis=0).tolist()
        return {
            "name": self.name,
            "seeds": seeds,
            "recipe": self.recipe.to_dict(),
            "cost": {
                "training_cpu_seconds": round(training, 3),
                "evaluation_cpu_seconds": round(evaluation, 3),
                "training_steps": int(steps),
                "trained_again": int(sum(cost[3] > 1 for cost in costs)),
            },
            **software_of(self._software_path),
        }
