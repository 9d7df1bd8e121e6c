"""A transfer matrix as a data set: returns of several seeds, and how they came about."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.files import write_atomically
from sdmbtl.matrices.transfer_matrices import TransferMatrices
from sdmbtl.transfer.storage import load_arrays, save_arrays

KIND = "transfer data set"
#: Returns are kept as whole multiples of a step, from 0 to this.
LARGEST_CODE = 2**16 - 1
#: Numbers below this have digits enough for their neighbours to be distinct.
_EXACT_BELOW = 2.0**52

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
        expected = self.returns.shape[:2]
        arrays = {
            "source_returns": self.source_returns,
            "episode_variance": self.episode_variance,
            **{f"multi_task {k}": array for k, array in self.multi_task.items()},
        }
        for name, array in arrays.items():
            if array.shape != expected or not np.isfinite(array).all():
                raise MatrixError(
                    f"{name!r} must be finite numbers of shape (seeds, targets), here {expected}. "
                    f"Got {short_text(array.tolist())} instead."
                )

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
        path = Path(path)
        if path.suffix != ".npz":
            raise MatrixError(f"A data set is an .npz file. Got {str(path)!r} instead.")
        numbers = sorted(self.multi_task)
        multi_task = [np.asarray(self.multi_task[b]) for b in numbers]
        everything = np.concatenate([self.returns.ravel(), *[m.ravel() for m in multi_task]])
        code = _Code.of(everything, int(self.card.get("recipe", {}).get("episodes", 1)))
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
        save_arrays(path, kind=KIND, space=self.space, arrays=arrays)
        write_atomically(card_path(path), (json.dumps(dict(self.card), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` has written.

        Raises:
            MatrixError: If a file is not such a data set, or damaged.
            FileNotFoundError: If there is none.
        """
        path = Path(path)
        space, arrays = load_arrays(path, kind=KIND, arrays=_ARRAYS)
        card = _loaded_card(path)
        try:
            code = _Code(*arrays["code"].tolist())
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
        if card.get("seeds", len(dataset.matrices)) != len(dataset.matrices):
            raise MatrixError(
                f"{card_path(path)} is the card of {card['seeds']} seeds, but {path} has "
                f"{len(dataset.matrices)}: one of them is of an earlier time. Write both again."
            )
        return dataset


@dataclass(frozen=True)
class _Code:
    """Returns as whole numbers: low + step * number."""

    low: float
    step: float

    @classmethod
    def of(cls, returns: NDArray[np.floating], episodes: int) -> Self:
        low, high = float(returns.min()), float(returns.max())
        if not math.isfinite(high - low):
            raise MatrixError(f"Returns from {low} to {high} are too far apart to be kept.")
        if max(abs(low), abs(high)) * episodes < _EXACT_BELOW:
            exact = cls(round(low * episodes) / episodes, 1 / episodes)
            if np.array_equal(exact.decoded(exact.encoded(returns)), returns):
                return exact
        return cls(low, (high - low) / LARGEST_CODE or 1.0)

    def encoded(self, returns: NDArray[np.floating]) -> NDArray[np.uint16]:
        numbers = np.rint((returns - self.low) / self.step)
        codes: NDArray[np.uint16] = np.clip(numbers, 0, LARGEST_CODE).astype(np.uint16)
        return codes

    def decoded(self, numbers: NDArray[np.uint16]) -> NDArray[np.float64]:
        values = self.low + self.step * numbers.astype(np.float64)
        # Multiples of one over a whole number, such as means of whole returns: the quotient of
        # whole numbers is the mean itself, to the last digit.
        parts = round(1 / self.step) if self.step > 1 / LARGEST_CODE else 0
        if parts and self.step == 1 / parts and self.low == round(self.low * parts) / parts:
            values = np.rint(values * parts) / parts
        return values


def card_path(path: Path) -> Path:
    """Where the card of a data set is."""
    return path.with_suffix(".json")


def _loaded_card(path: Path) -> dict[str, Any]:
    card = card_path(path)
    try:
        return dict(json.loads(card.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise MatrixError(
            f"The card of {path} is missing: {card.name}, which says how the data were made, "
            "belongs beside it. Copy both."
        ) from None
    except (TypeError, ValueError) as error:
        raise MatrixError(f"{card} is damaged ({error}).") from None
