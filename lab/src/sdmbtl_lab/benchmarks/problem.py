"""Problems on which selectors are compared: transfer matrices of one kind, by number."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.seeds import derived_seed
from sdmbtl_lab.matrices.dataset import TransferDataset
from sdmbtl_lab.matrices.margins import choice_margin
from sdmbtl_lab.matrices.shipped import load_matrix


class Problem(ABC):
    """Transfer matrices of one kind: source n is target n.

    Your problem needs a name, a space and `matrix`. It is pickled when a benchmark runs
    in several processes.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name, unique in its benchmark."""

    @property
    @abstractmethod
    def space(self) -> ContextSpace:
        """The contexts."""

    @abstractmethod
    def matrix(self, number: int) -> NDArray[np.floating]:
        """(N, N) returns of one of its matrices; the same again for the same number."""

    @property
    def label(self) -> str:
        """Label in the progress display."""
        return self.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Header -> text of its row in a table."""
        return {"problem": self.name}

    @property
    def rounds(self) -> int:
        """The most policies that are trained."""
        return len(self.space)

    @property
    def is_mountain(self) -> bool:
        """True if it is known to have the Mountain structure."""
        return False

    @property
    def one_matrix(self) -> bool:
        """True if all its matrices are the same one, so that nothing follows for others."""
        return False

    @property
    def return_range(self) -> tuple[float, float] | None:
        """The returns that become 0 and 1; None for the lowest and the highest of the matrices."""
        return None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the code that the matrices depend on, as JSON data."""
        return {}

    def choice_margin(self) -> float | None:
        """Largest gain of choosing well on all that is known; None if it is not measured."""
        return None

    def multi_task(self, k: int) -> NDArray[np.floating] | None:
        """(W,) mean returns of policies trained on all targets with the steps of `k` others."""
        del k
        return None


@dataclass(frozen=True)
class MatrixProblem(Problem):
    """Matrices drawn from the seeds of a data set, by its name or path: rows are training runs."""

    place: str

    @property
    def dataset(self) -> TransferDataset:
        """The data set, kept in memory while others are not asked for."""
        return _loaded(self.place)

    @property
    def name(self) -> str:
        """Name of the data set."""
        return self.dataset.name

    @property
    def space(self) -> ContextSpace:
        """The contexts."""
        return self.dataset.space

    @property
    def labels(self) -> Mapping[str, str]:
        """Header -> text of its row in a table."""
        seeds = len(self.dataset.matrices)
        return {"data": self.name, "N": str(len(self.space)), "seeds": str(seeds)}

    @property
    def one_matrix(self) -> bool:
        """True if there is one seed only."""
        return len(self.dataset.matrices) == 1

    @property
    def return_range(self) -> tuple[float, float]:
        """The lowest and the highest return of the data set."""
        returns = self.dataset.returns
        return float(returns.min()), float(returns.max())

    @property
    def settings(self) -> dict[str, Any]:
        """A hash of the returns."""
        return {"returns": hashlib.sha256(self.dataset.returns.tobytes()).hexdigest()[:16]}

    def matrix(self, number: int) -> NDArray[np.floating]:
        """(N, N) returns, drawn again for each number."""
        return self.dataset.matrices.resampled(derived_seed(0, f"rows of {self.name}", number))

    def choice_margin(self) -> float:
        """Myopic Oracle minus random choice on the seeds as they are."""
        return choice_margin(self.dataset.matrices.normalised().returns)

    def multi_task(self, k: int) -> NDArray[np.floating] | None:
        """(W,) mean returns of the policies trained on all targets, one for each seed."""
        returns = self.dataset.multi_task.get(k)
        return None if returns is None else returns.mean(axis=1)


_loaded = lru_cache(maxsize=2)(load_matrix)
