"""Problems on which selectors are compared: transfer matrices of one kind, by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace


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
        """(W,) mean returns of policies trained on all targets with the steps of `k` others.

        None if there are none.
        """
        del k
        return None
