"""Factory of matrices: policies on every target, for several seeds, resumable."""

from __future__ import annotations

import fcntl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from platform import machine
from time import process_time
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError, TrainingError, WorkerLostError
from sdmbtl.machine import TRAINING, versions
from sdmbtl.training import Failure, TrainerSpec, Training, TrainingJob, evaluate, train
from sdmbtl.transfer.storage import Shape, load_arrays, save_arrays
from sdmbtl_lab.computing import Heartbeat, compute_all
from sdmbtl_lab.fingerprint import code_fingerprint
from sdmbtl_lab.matrices.recipe import Recipe, keep_recipe
from sdmbtl_lab.matrices.storage import Dataset

#: Called with the work done and the total work, in policies, and what was finished.
Progress = Callable[[int, int, str], None]
#: Code of the product that makes policies and returns.
_TRAINING = ("sdmbtl.contexts", "sdmbtl.environments", "sdmbtl.policies", "sdmbtl.training")
KIND = "rows of a transfer matrix"
#: Attempts at a unit that fails, each with other training seeds.
ATTEMPTS = 3

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)
AnyDataset = TypeVar("AnyDataset", bound=Dataset)


@dataclass(frozen=True)
class Unit:
    """Piece of work: some policies of one seed, trained side by side.

    Attributes:
        seed: Number of the seed.
        sources: Numbers of the sources; none for a multi-task policy.
        multi_task: Steps of a multi-task policy, in source policies.
        parents: Sources among them that others start from: their policies are kept.
        stage: Number of policies that each starts from, one after the other. Earlier stages are
            done first.
    """

    seed: int
    sources: tuple[int, ...] = ()
    multi_task: int | None = None
    parents: tuple[int, ...] = ()
    stage: int = 0

    @property
    def label(self) -> str:
        """Label in the progress display."""
        if self.multi_task is not None:
            return f"seed {self.seed}, multi-task with the steps of {self.multi_task}"
        return f"seed {self.seed}, {len(self.sources)} sources from {self.sources[0]}"

    @property
    def path(self) -> Path:
        """Its file, in the directory of the matrix."""
        many = self.multi_task is not None
        name = f"multi-task-{self.multi_task}" if many else f"{self.sources[0]:05}"
        return Path("rows") / f"seed-{self.seed}" / f"{name}.npz"

    @property
    def weight(self) -> int:
        """Amount of training, in source policies."""
        return self.multi_task or len(self.sources)


@dataclass(frozen=True)
class Rows:
    """Results of a unit, for its c policies.

    Attributes:
        returns: (c, N) mean returns on the targets.
        source_returns: (c,) as training found them.
        episode_variance: (c,) variance between episodes, mean over the targets; 0 if there is
            only one episode.
        cost: (4,) CPU seconds of training, of evaluation; steps of the last training; attempts.
        curves: (c, T, 2) steps and mean returns on the training contexts during training.
    """

    shapes: ClassVar[Mapping[str, Shape]] = {
        "returns": ("policies", "targets"),
        "source_returns": ("policies",),
        "episode_variance": ("policies",),
        "cost": (4,),
        "curves": ("policies", "times", 2),
    }

    returns: NDArray[np.float64]
    source_returns: NDArray[np.float64]
    episode_variance: NDArray[np.float64]
    cost: NDArray[np.float64]
    curves: NDArray[np.float64]

    @classmethod
    def load(cls, path: Path, space: ContextSpace, policies: int) -> Self | None:
        """Read rows back; None if there are none, or they are damaged or of other contexts."""
        try:
            found, arrays = load_arrays(path, kind=KIND, arrays=cls.shapes)
        except (FileNotFoundError, MatrixError):
            return None
        fits = found == space and len(arrays["returns"]) == policies
        return (
            cls(**arrays) if fits and all(np.isfinite(a).all() for a in arrays.values()) else None
        )


class Factory(ABC, Generic[AnyRecipe, AnyDataset]):
    """Makes the matrix of a recipe in a directory, piece by piece.

    Every piece is written when it is done, so interrupted work continues. A factory is pickled
    when its work is done in several processes.

    Args:
        out: The directory; made if missing.
        recipe: Settings that decide the numbers.
        name: Name of the data set; that of the directory if left out.
    """

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
    def units(self, seed: int) -> list[Unit]:
        """Return the work of one seed; the same each time."""

    @abstractmethod
    def jobs(self, unit: Unit, attempt: int) -> tuple[TrainerSpec, list[TrainingJob], list[int]]:
        """Return the training of a unit: specification, jobs, seeds of the evaluations."""

    @abstractmethod
    def assemble(self, each: Sequence[Sequence[tuple[Unit, Rows]]]) -> AnyDataset:
        """Make a data set of the results of each seed."""

    def keep(self, unit: Unit, runs: Sequence[Training]) -> None:
        """Write whatever later units need of these training runs."""

    @property
    def path(self) -> Path:
        """File of the finished matrix."""
        return self.out / "matrix.npz"

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
        with self._alone():
            todo = [u for s in range(seeds) for u in self.units(s) if not self.is_done(u)]
            total = seeds * sum(unit.weight for unit in self.units(0))
            done = total - sum(unit.weight for unit in todo)
            if progress:
                progress(done, total, "")
            for unit, rows in self._results(todo, jobs, heartbeat):
                with self._writing():
                    path = self.out / unit.path
                    path.parent.mkdir(parents=True, exist_ok=True)
                    save_arrays(path, kind=KIND, space=self.recipe.space, arrays=vars(rows))
                done += unit.weight
                if progress:
                    progress(done, total, unit.label)
            dataset = self._assembled(seeds)
            with self._writing():
                dataset.save(self.path)
        return dataset

    def finished(self) -> AnyDataset:
        """Return the finished seeds, up to the first unfinished one, as a data set."""
        seeds = 0
        while all(self._rows(unit) is not None for unit in self.units(seeds)):
            seeds += 1
        if not seeds:
            raise MatrixError(
                f"No seed of the matrix in {str(self.out)!r} is finished. Finish making it first."
            )
        return self._assembled(seeds)

    def is_done(self, unit: Unit) -> bool:
        """Return whether all results of a piece of work are there."""
        return self._rows(unit) is not None

    def compute(self, heartbeat: Heartbeat | None, unit: Unit) -> Rows:
        """Train and evaluate, with other training seeds if that fails."""
        wasted = 0.0
        for attempt in range(ATTEMPTS):
            began = process_time()
            try:
                rows = self._train_and_evaluate(unit, attempt, heartbeat)
            except TrainingError as error:
                wasted += process_time() - began
                cause = error
            else:
                return replace(rows, cost=rows.cost + np.array([wasted, 0, 0, attempt]))
        raise TrainingError(
            f"The training run for {unit.label} failed {ATTEMPTS} times, each time with other "
            f"seeds. The last time: {cause}"
        )

    def _train_and_evaluate(self, unit: Unit, attempt: int, heartbeat: Heartbeat | None) -> Rows:
        """Train policies together, and evaluate each on all targets with its own seed."""
        spec, jobs, seeds = self.jobs(unit, attempt)
        targets, episodes = self.recipe.space.targets, self.recipe.episodes
        began = process_time()

        def progress(*_: object) -> None:
            if heartbeat is not None:
                heartbeat()

        runs = []
        for result in train(spec, jobs, progress):
            if isinstance(result, Failure):
                raise TrainingError(result.error)
            runs.append(result)
        trained = process_time()
        played = np.stack(
            [
                evaluate(
                    spec, run.policy, targets, episodes=episodes, seed=seed, progress=progress
                ).complete()
                for run, seed in zip(runs, seeds, strict=True)
            ]
        )
        evaluated = process_time()
        self.keep(unit, runs)
        variance = played.var(axis=2, ddof=1) if episodes > 1 else np.zeros(played.shape[:2])
        steps = sum(training.steps for training in runs)
        curves = np.array([run.curve for run in runs], dtype=np.float64)
        return Rows(
            returns=played.mean(axis=2),
            source_returns=np.array([training.source_return for training in runs]),
            episode_variance=variance.mean(axis=1),
            cost=np.array([trained - began, evaluated - trained, steps, 1], dtype=np.float64),
            curves=curves.reshape(len(runs), -1, 2),
        )

    def _results(
        self, todo: list[Unit], jobs: int, heartbeat: Heartbeat | None
    ) -> Iterator[tuple[Unit, Rows]]:
        """Yield the rows of the units as they finish, one stage after the other."""
        # Seed by seed, and the longest first: then no process waits long for the others.
        ordered = sorted(todo, key=lambda unit: (unit.stage, unit.seed, -unit.weight))
        try:
            for _, stage in groupby(ordered, key=lambda unit: unit.stage):
                units = list(stage)
                processes = min(jobs, len(units))
                here = heartbeat if processes == 1 else None
                yield from compute_all(partial(self.compute, here), units, processes, heartbeat)
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

    def _rows(self, unit: Unit) -> Rows | None:
        return Rows.load(self.out / unit.path, self.recipe.space, len(unit.sources) or 1)

    def _assembled(self, seeds: int) -> AnyDataset:
        """Return the first seeds, which are finished, as a data set."""
        each = []
        for seed in range(seeds):
            found = [(unit, self._rows(unit)) for unit in self.units(seed)]
            each.append([(unit, rows) for unit, rows in found if rows is not None])
        return self.assemble(each)

    def card(self, each: Sequence[Sequence[tuple[Unit, Rows]]]) -> dict[str, Any]:
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
