"""Pieces of the work on a matrix: a few policies, trained and evaluated on every target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError, TrainingError
from sdmbtl.matrices.recipe import Recipe
from sdmbtl.seeds import derived_seed
from sdmbtl.trainers import Failure, TrainerSpec, Training, TrainingJob, evaluate, train
from sdmbtl.transfer.storage import load_arrays, save_arrays

KIND = "rows of a transfer matrix"
#: A unit that goes wrong is tried so often in all, each time with other seeds of training.
ATTEMPTS = 3


@dataclass(frozen=True)
class Unit:
    """Some policies of one seed.

    Attributes:
        seed: Number of the seed.
        sources: The targets that they are trained on, one each; none for a multi-task policy.
        multi_task: For a multi-task policy, its steps counted in source policies.
    """

    seed: int
    sources: tuple[int, ...] = ()
    multi_task: int | None = None

    @property
    def path(self) -> Path:
        """Its file, in the directory of the matrix."""
        folder = Path("rows") / f"seed-{self.seed}"
        if self.multi_task is not None:
            return folder / f"multi-task-{self.multi_task}.npz"
        return folder / f"{self.sources[0]:05}.npz"

    @property
    def label(self) -> str:
        """What to show for it."""
        if self.multi_task is not None:
            return f"seed {self.seed}, multi-task with the steps of {self.multi_task}"
        return f"seed {self.seed}, sources {self.sources[0]} to {self.sources[-1]}"

    @property
    def n_policies(self) -> int:
        """How many policies it is."""
        return len(self.sources) or 1

    @property
    def weight(self) -> int:
        """How much training it is, in source policies."""
        return self.multi_task or len(self.sources)


@dataclass(frozen=True)
class Rows:
    """What a unit gives, for its c policies.

    Attributes:
        returns: (c, N) mean returns on the targets.
        source_returns: (c,) as training found them.
        episode_variance: (c,) variance between episodes, mean over the targets; 0 if there is
            only one episode.
        cost: (4,) CPU seconds of training, of evaluation; steps of the last training; attempts.
    """

    returns: NDArray[np.float64]
    source_returns: NDArray[np.float64]
    episode_variance: NDArray[np.float64]
    cost: NDArray[np.float64]

    def save(self, path: Path, space: ContextSpace) -> None:
        """Write the rows; they are on disk when the call returns."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, kind=KIND, space=space, arrays=vars(self))

    @classmethod
    def load(cls, path: Path, space: ContextSpace, n_policies: int) -> Rows | None:
        """Read rows back; None if there are none, or they are damaged or of other contexts."""
        try:
            found, arrays = load_arrays(path, kind=KIND, arrays=cls.__annotations__)
        except (FileNotFoundError, MatrixError):
            return None
        rows = cls(**arrays)
        return rows if found == space and rows._fit(n_policies, len(space)) else None

    def _fit(self, c: int, n: int) -> bool:
        shapes = ((c, n), (c,), (c,), (4,))  # in the order of the attributes
        return all(
            array.shape == shape and array.dtype == np.float64 and bool(np.isfinite(array).all())
            for array, shape in zip(vars(self).values(), shapes, strict=True)
        )


def units(recipe: Recipe, seed: int) -> list[Unit]:
    """The work of one seed. Which policies are trained side by side belongs to the recipe."""
    n, chunk = len(recipe.space), recipe.training.get("chunk", 1)
    rows = [Unit(seed, tuple(range(i, min(i + chunk, n)))) for i in range(0, n, chunk)]
    return [*rows, *[Unit(seed, multi_task=k) for k in recipe.multi_task]]


def compute_with_retries(recipe: Recipe, unit: Unit) -> Rows:
    """Train and evaluate; the same recipe and unit give the same rows.

    Raises:
        TrainingError: If it failed with each of several seeds.
    """
    wasted = 0.0
    for attempt in range(ATTEMPTS):
        began = process_time()
        try:
            rows = compute(recipe, unit, attempt)
            break
        except TrainingError as error:
            wasted += process_time() - began
            cause = error
    else:
        raise TrainingError(
            f"The training run for {unit.label} failed {ATTEMPTS} times, each time with other "
            f"seeds. The last time: {cause}"
        )
    return replace(rows, cost=rows.cost + np.array([wasted, 0, 0, attempt]))


def compute(recipe: Recipe, unit: Unit, attempt: int) -> Rows:
    """Train and evaluate once.

    Raises:
        TrainingError: If it failed.
    """
    spec = recipe.specification(unit.multi_task)
    began = process_time()
    runs = _trained(spec, _jobs(recipe, unit, attempt))
    trained = process_time()
    key = "evaluation" if unit.multi_task is None else f"multi-task {unit.multi_task} evaluation"
    played = np.stack(
        [
            evaluate(
                spec,
                training.policy,
                recipe.space.targets,
                episodes=recipe.episodes,
                seed=derived_seed(recipe.seed, key, unit.seed, *unit.sources[i : i + 1]),
            ).complete()
            for i, training in enumerate(runs)
        ]
    )
    evaluated = process_time()
    variance = played.var(axis=2, ddof=1) if recipe.episodes > 1 else np.zeros(played.shape[:2])
    steps = sum(training.steps for training in runs)
    return Rows(
        returns=played.mean(axis=2),
        source_returns=np.array([training.source_return for training in runs]),
        episode_variance=variance.mean(axis=1),
        cost=np.array([trained - began, evaluated - trained, steps, 1], dtype=np.float64),
    )


def _jobs(recipe: Recipe, unit: Unit, attempt: int) -> list[TrainingJob]:
    targets = recipe.space.targets
    if unit.multi_task is not None:
        key = f"multi-task {unit.multi_task} training"
        seed = derived_seed(recipe.seed, key, unit.seed, attempt)
        return [TrainingJob(targets, seed, attempt)]
    seeds = [derived_seed(recipe.seed, "training", unit.seed, n, attempt) for n in unit.sources]
    return [
        TrainingJob(targets[[source]], seed, attempt)
        for source, seed in zip(unit.sources, seeds, strict=True)
    ]


def _trained(spec: TrainerSpec, jobs: list[TrainingJob]) -> list[Training]:
    """All of them: which policies are trained together belongs to the recipe."""
    runs = []
    for result in train(spec, jobs):
        if isinstance(result, Failure):
            raise TrainingError(result.error)
        runs.append(result)
    return runs
