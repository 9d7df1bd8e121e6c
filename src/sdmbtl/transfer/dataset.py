"""A transfer matrix as a data set: returns of several seeds, and how they came about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.files import write_atomically
from sdmbtl.transfer.matrix import TransferMatrices
from sdmbtl.transfer.storage import load_arrays, save_arrays

KIND = "transfer data set"
#: Returns are kept as whole multiples of a step, from 0 to this.
LARGEST_CODE = 2**16 - 1

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
    """

    matrices: TransferMatrices
    source_returns: NDArray[np.float64]
    episode_variance: NDArray[np.float64]
    multi_task: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)

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

    def save(self, path: Path) -> None:
        """Write `path` (npz) and beside it the card (json).

        The same returns give the same bytes of the npz file. Returns that are multiples of one
        over the number of episodes, as of environments with whole rewards, are kept exactly;
        others are rounded to 65536 steps between the lowest and the highest.
        """
        if path.suffix != ".npz":
            raise MatrixError(f"A data set is an .npz file. Got {str(path)!r} instead.")
        budgets = sorted(self.multi_task)
        multi_task = [np.asarray(self.multi_task[b]) for b in budgets]
        everything = np.concatenate([self.returns.ravel(), *[m.ravel() for m in multi_task]])
        code = _Code.of(everything, int(self.card.get("recipe", {}).get("episodes", 1)))
        arrays: dict[str, NDArray[Any]] = {
            "returns": code.encoded(np.asarray(self.returns)),
            "code": np.array([code.low, code.step]),
            "source_returns": self.source_returns.astype(np.float32),
            "episode_variance": self.episode_variance.astype(np.float32),
            "multi_task_budgets": np.array(budgets, dtype=np.int64),
            "multi_task": code.encoded(
                np.stack(multi_task) if budgets else np.empty((0, *self.source_returns.shape))
            ),
        }
        save_arrays(path, kind=KIND, space=self.space, arrays=arrays)
        write_atomically(card_path(path), (json.dumps(dict(self.card), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` has written.

        Raises:
            MatrixError: If a file is no such data set, or damaged.
            FileNotFoundError: If there is none.
        """
        space, arrays = load_arrays(path, kind=KIND, arrays=_ARRAYS)
        code = _Code(*arrays["code"].tolist())
        multi_task = code.decoded(arrays["multi_task"])
        try:
            card = json.loads(card_path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise MatrixError(f"{card_path(path)} is damaged ({error}).") from None
        return cls(
            TransferMatrices(space, code.decoded(arrays["returns"])),
            arrays["source_returns"].astype(np.float64),
            arrays["episode_variance"].astype(np.float64),
            dict(zip(arrays["multi_task_budgets"].tolist(), multi_task, strict=True)),
            card,
        )


@dataclass(frozen=True)
class _Code:
    """Returns as whole numbers: low + step * number."""

    low: float
    step: float

    @classmethod
    def of(cls, returns: NDArray[np.floating], episodes: int) -> Self:
        low, high = float(returns.min()), float(returns.max())
        exact = cls(round(low * episodes) / episodes, 1 / episodes)
        fits = (high - low) / exact.step <= LARGEST_CODE
        if fits and np.allclose(exact.decoded(exact.encoded(returns)), returns, rtol=0, atol=1e-6):
            return exact
        return cls(low, (high - low) / LARGEST_CODE or 1.0)

    def encoded(self, returns: NDArray[np.floating]) -> NDArray[np.uint16]:
        numbers = np.rint((returns - self.low) / self.step)
        codes: NDArray[np.uint16] = np.clip(numbers, 0, LARGEST_CODE).astype(np.uint16)
        return codes

    def decoded(self, numbers: NDArray[np.uint16]) -> NDArray[np.float64]:
        return self.low + self.step * numbers.astype(np.float64)


def card_path(path: Path) -> Path:
    """Where the card of a data set is."""
    return path.with_suffix(".json")
