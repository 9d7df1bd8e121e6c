"""Which contexts a policy is evaluated on, and its row made of what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors import Trial
from sdmbtl.transfer import mean_of


@dataclass(frozen=True)
class RowEvaluation:
    """The evaluation of one policy on the targets on which it was not evaluated.

    Attributes:
        contexts: (n, D) the targets, and after them the source if it is a point beside them.
        numbers: Which of the contexts are to be evaluated.
        known: (N, E) returns on the targets so far, NaN where there are none.
        own: The mean return on the source beside the targets, if it is known.
    """

    contexts: NDArray[np.float64]
    numbers: Sequence[int]
    known: NDArray[np.float64]
    own: float | None

    @classmethod
    def of(cls, trial: Trial, known: NDArray[np.float64], space: ContextSpace) -> RowEvaluation:
        """What is missing of a trial's row.

        Args:
            trial: The trial.
            known: (N, E) returns that are known.
            space: The context space.
        """
        numbers = np.flatnonzero(np.isnan(known).all(axis=1)).tolist()
        if not trial.source.is_point or trial.index is not None:
            return cls(space.targets, numbers, known, None)
        numbers += [len(space)] if trial.source_return is None else []
        contexts = np.vstack([space.targets, trial.source.vector])
        return cls(contexts, numbers, known, trial.source_return)

    @property
    def episodes(self) -> int:
        """Episodes on each context."""
        return int(self.known.shape[1])

    def complete(
        self, returns: NDArray[np.float64], errors: Mapping[int, str]
    ) -> tuple[NDArray[np.float64], float | None, dict[int, str]]:
        """The row: returns on the targets, the mean on the source beside them, and the errors.

        Args:
            returns: (n, E) returns on the contexts, NaN where they were not evaluated.
            errors: What went wrong, by the number of the context.
        """
        left, own, targets = dict(errors), self.own, len(self.known)
        if targets in self.numbers and left.pop(targets, None) is None:
            own = mean_of(returns[-1])
        return np.where(np.isnan(self.known), returns[:targets], self.known), own, left
