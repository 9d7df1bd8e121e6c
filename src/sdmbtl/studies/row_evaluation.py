"""The row of a policy: the contexts to evaluate it on, and the means of its returns."""

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
        contexts: (n, D) the targets, then the source if it is a point that is not a target.
        numbers: Those of the contexts that are to be evaluated.
        known: (N, E) returns on the targets so far, NaN where there are none.
        own: The mean return on a source that is not a target, if it is known.
    """

    contexts: NDArray[np.float64]
    numbers: Sequence[int]
    known: NDArray[np.float64]
    own: float | None

    @classmethod
    def of(cls, trial: Trial, known: NDArray[np.float64], space: ContextSpace) -> RowEvaluation:
        """Find what is missing of a trial's row.

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
        """Return the row, the mean on a source that is not a target, and the errors.

        Args:
            returns: (n, E) returns on the contexts, NaN where they were not evaluated.
            errors: Errors by the number of the context.
        """
        left, own, targets = dict(errors), self.own, len(self.known)
        if targets in self.numbers and left.pop(targets, None) is None:
            own = mean_of(returns[-1])
        return np.where(np.isnan(self.known), returns[:targets], self.known), own, left


def mean_over_episodes(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) means of (N, E) returns over the episodes that were played; NaN if none was."""
    played = ~np.isnan(returns)
    number = np.where(played.any(axis=1), played.sum(axis=1), np.nan)
    return np.asarray(np.where(played, returns, 0.0).sum(axis=1) / number)
