"""Factory of matrices: policies on every target, for several seeds, resumable."""

from __future__ import annotations

import fcntl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path
from platform import machine
from typing import Any, Generic, TypeVar

import numpy as np

from sdmbtl.checks import check_int
from sdmbtl.errors import MatrixError, TrainingError, WorkerLostError
from sdmbtl.software import TRAINING, versions
from sdmbtl_lab.computing import Heartbeat, compute_all
from sdmbtl_lab.fingerprint import code_fingerprint
from sdmbtl_lab.matrices.recipe import Recipe, keep_recipe
from sdmbtl_lab.matrices.storage import Dataset
from sdmbtl_lab.matrices.units import (
    AnyRows,
    AnyUnit,
    Computation,
    compute_with_retries,
)

#: Called with the work done and the total work, in policies, and what was finished.
Progress = Callable[[int, int, str], None]
#: Code of the product that makes policies and returns.
_TRAINING = ("sdmbtl.contexts", "sdmbtl.environments", "sdmbtl.policies", "sdmbtl.training")

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)
AnyDataset = TypeVar("AnyDataset", bound=Dataset)


class Factory(ABC, Generic[AnyRecipe, AnyUnit, AnyRows, AnyDataset]):
    """Makes the matrix of a recipe in a directory, piece by piece.

    Every piece is written when it is done, so interrupted work continues.

    Args:
        out: The directory; made if missing.
        recipe: Settings that decide the numbers.
        name: Name of the data set; that of the directory if left out.
    """

    #: Type of the results of a piece of work.
    rows_type: type[AnyRows]

    def __init__(self, out: str | Path, recipe: AnyRecipe, name: str | None = None) -> None:
        self.out = out = Path(out)
        self.recipe = recipe
        self.name = out.resolve().name if name is None else name
        kept = out / "recipe.json"
        try:
            out.mkdir(parents=True, exist_ok=True)
            # Reading needs no lock, and no right to write.
            with nullcontext() if kept.exists() else self._alone():
                keep_recipe(kept, recipe)
        except OSError as error:
            raise MatrixError(
                f"Cannot write to {str(out)!r}: {error.strerror}. Choose another directory."
            ) from None

    @abstractmethod
    def units(self, seed: int) -> list[AnyUnit]:
        """Return the work of one seed; the same each time."""

    @property
    @abstractmethod
    def computation(self) -> Computation[AnyUnit, AnyRows]:
        """Function that does a piece of work; it is sent to other processes."""

    @abstractmethod
    def assemble(self, each: Sequence[Sequence[tuple[AnyUnit, AnyRows]]]) -> AnyDataset:
        """Make a data set of the results of each seed."""

    @property
    def path(self) -> Path:
        """File of the finished matrix."""
        return self.out / "matrix.npz"

    @property
    def begun_seeds(self) -> int:
        """Number of seeds with rows in the directory, finished or not."""
        return len(list(self.out.glob("rows/seed-*/")))

    def damaged(self, seeds: int) -> list[Path]:
        """Return files of these seeds that cannot be used: `make` makes them again."""
        paths = (self.out / unit.path for unit in self._missing(seeds))
        return [path for path in paths if path.exists()]

    def make(
        self,
        seeds: int,
        *,
        jobs: int = 1,
        progress: Progress | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> AnyDataset:
        """Do all missing work, and work whose file is damaged, and write the matrix.

        Args:
            seeds: Number of seeds in the matrix. More than before adds to what is there; with
                fewer, the rows of the others are kept.
            jobs: Number of processes.
            progress: Called at the beginning and after each piece of work.
            heartbeat: Called regularly during work; an exception that it raises ends the work.
        """
        check_int("seeds", seeds, low=1, error=MatrixError)
        check_int("jobs", jobs, low=1, error=MatrixError)
        with self._alone():
            self._do_what_is_missing(seeds, jobs, progress, heartbeat)
            dataset = self.assembled(seeds)
            with self._writing():
                dataset.save(self.path)
        return dataset

    def assembled(self, seeds: int) -> AnyDataset:
        """Return the first seeds as a data set."""
        check_int("seeds", seeds, low=1, error=MatrixError)
        return self.assemble([self._seed(seed) for seed in range(seeds)])

    def finished(self) -> AnyDataset:
        """Return the finished seeds, up to the first unfinished one, as a data set."""
        seeds = 0
        while all(self._rows(unit) is not None for unit in self.units(seeds)):
            seeds += 1
        if not seeds:
            raise MatrixError(
                f"No seed of the matrix in {str(self.out)!r} is finished. Finish making it first."
            )
        return self.assembled(seeds)

    def _do_what_is_missing(
        self, seeds: int, jobs: int, progress: Progress | None, heartbeat: Heartbeat | None
    ) -> None:
        todo = self._missing(seeds)
        total = seeds * sum(unit.weight for unit in self.units(0))
        done = total - sum(unit.weight for unit in todo)
        if progress:
            progress(done, total, "")
        if not todo:
            return
        for unit, rows in self._results(todo, jobs, heartbeat):
            with self._writing():
                rows.save(self.out / unit.path, self.recipe.space)
            done += unit.weight
            if progress:
                progress(done, total, unit.label)

    def _results(
        self, todo: list[AnyUnit], jobs: int, heartbeat: Heartbeat | None
    ) -> Iterator[tuple[AnyUnit, AnyRows]]:
        """Yield the rows of the units as they finish, one stage after the other."""
        # Seed by seed, and the longest first: then no process waits long for the others.
        ordered = sorted(todo, key=lambda unit: (unit.stage, unit.seed, -unit.weight))
        try:
            for _, stage in groupby(ordered, key=lambda unit: unit.stage):
                units = list(stage)
                processes = min(jobs, len(units))
                here = heartbeat if processes == 1 else None
                compute = partial(compute_with_retries, self.computation, here)
                yield from compute_all(compute, units, processes, heartbeat)
        except WorkerLostError as error:
            raise TrainingError(
                f"A worker process died, perhaps for lack of memory. {self._kept} "
                f"Continue with fewer jobs than {jobs}."
            ) from error
        except TrainingError as error:
            raise TrainingError(
                f"{error} {self._kept} Retrying gives the same unless the cause is gone; other "
                "training settings, such as a smaller learning rate, need another directory."
            ) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the directory; the system releases it when the process ends."""
        with self._writing():
            lock = (self.out / "matrix.lock").open("a")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise MatrixError(
                    f"Another process is making the matrix in {str(self.out)!r}. Wait until it "
                    "ends, or stop it."
                ) from None
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn a failed write into an error that names the directory."""
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

    def is_done(self, unit: AnyUnit) -> bool:
        """Return whether all results of a piece of work are there."""
        return self._rows(unit) is not None

    def _missing(self, seeds: int) -> list[AnyUnit]:
        every = (unit for seed in range(seeds) for unit in self.units(seed))
        return [unit for unit in every if not self.is_done(unit)]

    def _seed(self, seed: int) -> list[tuple[AnyUnit, AnyRows]]:
        found = []
        for unit in self.units(seed):
            rows = self._rows(unit)
            if rows is None:
                raise MatrixError(
                    f"The matrix in {str(self.out)!r} lacks {unit.label}. Finish making it first."
                )
            found.append((unit, rows))
        return found

    def _rows(self, unit: AnyUnit) -> AnyRows | None:
        return self.rows_type.load(self.out / unit.path, self.recipe.space, unit.n_policies)

    def card(self, each: Sequence[Sequence[tuple[AnyUnit, AnyRows]]]) -> dict[str, Any]:
        """Return the provenance of the rows of some seeds, as JSON data."""
        costs = [rows.cost for seed in each for _, rows in seed]
        training, evaluation, steps, _ = np.sum(costs, axis=0).tolist()
        return {
            "name": self.name,
            "seeds": len(each),
            "recipe": self.recipe.to_dict(),
            "cost": {
                "training_cpu_seconds": round(training, 3),
                "evaluation_cpu_seconds": round(evaluation, 3),
                "training_steps": round(steps),
                "trained_again": int(sum(cost[3] > 1 for cost in costs)),
            },
            "versions": versions(("sdmbtl", "numpy", *TRAINING), python=False),
            "python": versions(())["python"],
            "machine": machine(),
            "code": code_fingerprint("sdmbtl_lab.matrices", *_TRAINING),
        }
