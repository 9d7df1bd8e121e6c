"""Units of work on a matrix: a few policies, trained and evaluated on every target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError, TrainingError
from sdmbtl.training import (
    Failure,
    TrainerSpec,
    Training,
    TrainingJob,
    evaluate,
    train,
)
from sdmbtl.transfer.storage import Shape, load_arrays, save_arrays
from sdmbtl_lab.computing import Heartbeat
from sdmbtl_lab.matrices.recipe import Recipe

KIND = "rows of a transfer matrix"
#: Attempts at a unit that fails, each with other training seeds.
ATTEMPTS = 3


@dataclass(frozen=True)
class Unit(ABC):
    """Some policies of one seed."""

    seed: int

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of its file."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Description for progress messages."""

    @property
    @abstractmethod
    def n_policies(self) -> int:
        """Number of policies."""

    @property
    def path(self) -> Path:
        """Its file, in the directory of the matrix."""
        return Path("rows") / f"seed-{self.seed}" / f"{self.name}.npz"

    @property
    def weight(self) -> int:
        """Amount of training, in source policies."""
        return self.n_policies

    @property
    def stage(self) -> int:
        """Stage: units of earlier stages are done first, for their policies may be starts."""
        return 0


@dataclass(frozen=True)
class Rows:
    """Results of a unit, for its c policies.

    Attributes:
        returns: (c, N) mean returns on the targets.
        source_returns: (c,) as training found them.
        episode_variance: (c,) variance between episodes, mean over the targets; 0 if there is
            only one episode.
        cost: (4,) CPU seconds of training, of evaluation; steps of the last training; attempts.
    """

    shapes: ClassVar[Mapping[str, Shape]] = {
        "returns": ("policies", "targets"),
        "source_returns": ("policies",),
        "episode_variance": ("policies",),
        "cost": (4,),
    }

    returns: NDArray[np.float64]
    source_returns: NDArray[np.float64]
    episode_variance: NDArray[np.float64]
    cost: NDArray[np.float64]

    def save(self, path: Path, space: ContextSpace) -> None:
        """Write the rows; they are on disk when the call returns."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, kind=KIND, space=space, arrays=vars(self))

    @classmethod
    def load(cls, path: Path, space: ContextSpace, n_policies: int) -> Self | None:
        """Read rows back; None if there are none, or they are damaged or of other contexts."""
        try:
            found, arrays = load_arrays(path, kind=KIND, arrays=cls.shapes)
        except (FileNotFoundError, MatrixError):
            return None
        rows = cls(**arrays)
        return rows if found == space and rows.fit(n_policies, len(space)) else None

    def fit(self, c: int, n: int) -> bool:
        """Return whether they are finite, of c policies on n targets."""
        shapes = {"returns": (c, n), "source_returns": (c,), "episode_variance": (c,), "cost": (4,)}
        arrays = vars(self)
        return all(
            arrays[name].shape == shape
            and arrays[name].dtype == np.float64
            and bool(np.isfinite(arrays[name]).all())
            for name, shape in shapes.items()
        )


AnyUnit = TypeVar("AnyUnit", bound=Unit)
AnyRows = TypeVar("AnyRows", bound=Rows)
#: Trains and evaluates the policies of a unit once; called with the number of the attempt and,
#: where the work is done in the process that asks for it, with its heartbeat.
Computation = Callable[[AnyUnit, int, Heartbeat | None], AnyRows]


def compute_with_retries(
    compute: Computation[AnyUnit, AnyRows], heartbeat: Heartbeat | None, unit: AnyUnit
) -> AnyRows:
    """Train and evaluate, with other seeds if that fails."""
    wasted = 0.0
    for attempt in range(ATTEMPTS):
        began = process_time()
        try:
            rows = compute(unit, attempt, heartbeat)
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


def train_and_evaluate(
    recipe: Recipe,
    spec: TrainerSpec,
    jobs: Sequence[TrainingJob],
    seeds: Sequence[int],
    heartbeat: Heartbeat | None,
) -> tuple[list[Training], Rows]:
    """Train policies together, and evaluate each on all targets with its own seed."""
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
    targets, episodes = recipe.space.targets, recipe.episodes
    played = np.stack(
        [
            evaluate(
                spec, run.policy, targets, episodes=episodes, seed=seed, progress=progress
            ).complete()
            for run, seed in zip(runs, seeds, strict=True)
        ]
    )
    evaluated = process_time()
    variance = played.var(axis=2, ddof=1) if episodes > 1 else np.zeros(played.shape[:2])
    steps = sum(training.steps for training in runs)
    return runs, Rows(
        returns=played.mean(axis=2),
        source_returns=np.array([training.source_return for training in runs]),
        episode_variance=variance.mean(axis=1),
        cost=np.array([trained - began, evaluated - trained, steps, 1], dtype=np.float64),
    )
