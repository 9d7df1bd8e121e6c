"""A transfer matrix as a data set: returns of several seeds, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.matrices.storage import (
    ReturnCode,
    check_by_policy,
    check_seeds,
    load_with_card,
    save_with_card,
)
from sdmbtl.matrices.transfer_matrices import TransferMatrices

KIND = "transfer data set"
_ARRAYS = (
    *("returns", "code", "source_returns", "episode_variance"),
    *("multi_task_budgets", "multi_task"),
)


@dataclass(frozen=True)
class TransferDataset:
    """W seeds of N policies on N targets.

    Attributes:
        matrices: The mean returns: seed, source, target.
        source_returns: (W, N) mean return of each policy where it was trained, in the evaluation
            by which training found it the best.
        episode_variance: (W, N) variance between the episodes of one policy on one target, mean
            over the targets: divided by the number of episodes it is the evaluation's noise.
        multi_task: Steps, in policies -> (W, N) returns of the policy trained on all targets.
        card: How the data were made, as JSON data.

    Raises:
        MatrixError: If an array has another shape, or is not finite.
    """

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

    @property
    def name(self) -> str:
        """Name of the data set."""
        return str(self.card.get("name", "matrix"))

    def save(self, path: str | Path) -> None:
        """Write `path` (npz) and beside it the card (json).

        The same returns give the same bytes of the npz file. Returns that are multiples of one
        over the number of episodes, as of environments with whole rewards, are kept exactly;
        others are rounded to the nearest of 65536 values from the lowest to the highest, so that
        they are off by less than 1/100000 of that range. Source returns and variances are kept
        with 32 bits.

        Raises:
            MatrixError: If the name is not a .npz file's, or the range of returns is infinite.
        """
        numbers = sorted(self.multi_task)
        multi_task = [np.asarray(self.multi_task[b]) for b in numbers]
        everything = np.concatenate([self.returns.ravel(), *[m.ravel() for m in multi_task]])
        code = ReturnCode.of(everything, self.card)
        arrays: dict[str, NDArray[Any]] = {
            "returns": code.encoded(np.asarray(self.returns)),
            "code": np.array([code.low, code.step]),
            "source_returns": self.source_returns.astype(np.float32),
            "episode_variance": self.episode_variance.astype(np.float32),
            "multi_task_budgets": np.array(numbers, dtype=np.int64),
            "multi_task": code.encoded(
                np.stack(multi_task) if numbers else np.empty((0, *self.source_returns.shape))
            ),
        }
        save_with_card(Path(path), kind=KIND, space=self.space, arrays=arrays, card=self.card)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` has written.

        Raises:
            MatrixError: If a file is not such a data set, or damaged.
            FileNotFoundError: If there is none.
        """
        space, arrays, card = load_with_card(Path(path), kind=KIND, arrays=_ARRAYS)
        try:
            code = ReturnCode(*arrays["code"].tolist())
            multi_task = code.decoded(arrays["multi_task"])
            dataset = cls(
                TransferMatrices(space, code.decoded(arrays["returns"])),
                arrays["source_returns"].astype(np.float64),
                arrays["episode_variance"].astype(np.float64),
                dict(zip(arrays["multi_task_budgets"].tolist(), multi_task, strict=True)),
                card,
            )
        except (TypeError, ValueError, ArithmeticError) as error:
            raise MatrixError(f"{path} is damaged ({error}).") from None
        check_seeds(Path(path), card, len(dataset.matrices))
        return dataset
