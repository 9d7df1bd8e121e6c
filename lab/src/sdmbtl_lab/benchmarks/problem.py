"""What selectors are compared on: transfer matrices of one kind, by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace


class Problem(ABC):
    """Transfer matrices of one kind: source n is target n.

    A problem of your own needs a name, a space and `matrix`. It is pickled when a benchmark runs
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
        """What to show while it is worked on."""
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
        """Whether it is known to have the Mountain structure."""
        return False

    @property
    def one_matrix(self) -> bool:
        """Whether all its matrices are the same one, which says nothing about others."""
        return False

    @property
    def return_range(self) -> tuple[float, float] | None:
        """The returns that become 0 and 1; None for the lowest and the highest of the matrices."""
        return None

    @property
    def settings(self) -> dict[str, Any]:
        """What the matrices depend on besides the code, as JSON data."""
        return {}

    def choice_margin(self) -> float | None:
        """What choosing well can gain on all that is known, None if that is not measured."""
        return None

    def multi_task(self, k: int) -> NDArray[np.floating] | None:
        """(W,) mean returns of policies trained on all targets with the steps of `k` others.

        None if there are none.
        """
        del k
        return None
