"""A transfer matrix as a data set: returns of several seeds, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.transfer.storage import Shape
from sdmbtl_lab.matrices.storage import Dataset, ReturnCode, check_by_policy


class TransferMatrices:
    """W full transfer matrices of one space: source n is target n.

    Args:
        space: The context space with its N targets.
        returns: (W, N, N) or (N, N) returns: matrix, source, target. float32 is kept as it is.
    """

    def __init__(self, space: ContextSpace, returns: ArrayLike) -> None:
        try:
            array = np.asarray(returns)
            if not np.issubdtype(array.dtype, np.floating):
                array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise MatrixError(f"Transfer matrices must be arrays of numbers ({error}).") from None
        if array.ndim == 2:
            array = array[None]
        n = len(space)
        if array.ndim != 3 or array.shape[1:] != (n, n) or not len(array):
            raise MatrixError(
                f"Transfer matrices must have shape (matrices, {n}, {n}) for {n} targets. "
                f"Got shape {np.shape(returns)} instead."
            )
        if not all(np.isfinite(matrix).all() for matrix in array):
            number, source, target = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise MatrixError(
                f"Transfer matrices must be finite. Got {array[number, source, target]} in matrix "
                f"{number}, source {source}, target {target}. Use ObservedRows for partial data."
            )
        self.space = space
        self.returns: NDArray[np.floating] = array

    def __len__(self) -> int:
        return len(self.returns)

    def __getitem__(self, number: int) -> NDArray[np.floating]:
        """One (N, N) matrix."""
        return np.asarray(self.returns[number])

    def mean(self) -> NDArray[np.float64]:
        """(N, N) mean over the matrices."""
        return np.asarray(self.returns.mean(axis=0, dtype=np.float64))

    def normalised(self) -> TransferMatrices:
        """Scale all matrices together to 0..1; a constant matrix becomes zeros."""
        low, high = float(self.returns.min()), float(self.returns.max())
        return TransferMatrices(self.space, min_max(self.returns, low, high))

    def resampled(self, seed: int) -> NDArray[np.floating]:
        """Return an (N, N) matrix whose rows are each drawn from one of the matrices.

        Each row is one training run, so the rows of the matrices are exchangeable.
        """
        size = len(self.space)
        chosen = np.random.default_rng(seed).integers(len(self), size=size)
        return np.asarray(self.returns[chosen, np.arange(size)])


def min_max(values: NDArray[np.floating], low: float, high: float) -> NDArray[np.floating]:
    """Scale values so that `low` becomes 0 and `high` becomes 1; all 0 if they are equal."""
    width = high - low
    return (values - low) / (width if width > 0 else 1.0)


KIND = "transfer data set"
_ARRAYS: dict[str, Shape] = {
    "returns": ("seeds", "targets", "targets"),
    "code": (2,),
    "source_returns": ("seeds", "targets"),
    "episode_variance": ("seeds", "targets"),
    "multi_task_budgets": ("budgets",),
    "multi_task": ("budgets", "seeds", "targets"),
}


@dataclass(frozen=True)
class TransferDataset(Dataset):
    """W seeds of N policies on N targets.

    Attributes:
        matrices: The mean returns: seed, source, target.
        source_returns: (W, N) mean return of each policy where it was trained, in the evaluation
            by which training found it the best.
        episode_variance: (W, N) variance between the episodes of one policy on one target, mean
            over the targets: divided by the number of episodes it is the evaluation's noise.
        multi_task: Steps, in policies -> (W, N) returns of the policy trained on all targets.
    """

    kind: ClassVar[str] = KIND
    shapes: ClassVar[Mapping[str, Shape]] = _ARRAYS

    matrices: TransferMatrices
    source_returns: NDArray[np.float64]
    episode_variance: NDArray[np.float64]
    multi_task: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arrays = {
            "source_returns": self.source_returns,
            "episode_variance": self.episode_variance,
            **{f"multi_task {k}": array for k, array in self.multi_task.items()},
        }
        check_by_policy(arrays, self.returns.shape[:2])

    @property
    def space(self) -> ContextSpace:
        """The contexts: source n is target n."""
        return self.matrices.space

    @property
    def returns(self) -> NDArray[np.floating]:
        """(W, N, N) mean returns: seed, source, target."""
        return self.matrices.returns

    def content(self) -> tuple[ContextSpace, dict[str, NDArray[Any]]]:
        """The space and the arrays to be written."""
        numbers = sorted(self.multi_task)
        multi_task = [np.asarray(self.multi_task[b]) for b in numbers]
        everything = np.concatenate([self.returns.ravel(), *[m.ravel() for m in multi_task]])
        code = ReturnCode.of(everything, self.card)
        return self.space, {
            "returns": code.encoded(np.asarray(self.returns)),
            "code": np.array([code.low, code.step]),
            "source_returns": self.source_returns.astype(np.float32),
            "episode_variance": self.episode_variance.astype(np.float32),
            "multi_task_budgets": np.array(numbers, dtype=np.int64),
            "multi_task": code.encoded(
                np.stack(multi_task) if numbers else np.empty((0, *self.source_returns.shape))
            ),
        }

    @classmethod
    def from_content(
        cls, space: ContextSpace, arrays: Mapping[str, NDArray[Any]], card: Mapping[str, Any]
    ) -> Self:
        """Make it again from what `content` gave."""
        code = ReturnCode(*arrays["code"].tolist())
        multi_task = code.decoded(arrays["multi_task"])
        return cls(
            TransferMatrices(space, code.decoded(arrays["returns"])),
            arrays["source_returns"].astype(np.float64),
            arrays["episode_variance"].astype(np.float64),
            dict(zip(arrays["multi_task_budgets"].tolist(), multi_task, strict=True)),
            card,
        )
