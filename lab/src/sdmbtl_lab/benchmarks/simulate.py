"""Running a selector on a known transfer matrix instead of training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.base import Selector


@dataclass(frozen=True)
class Run:
    """Choices of a selector on one matrix."""

    indices: list[int]
    curve: list[float]
    strategies: list[str]
    structures: list[str | None]


def simulate(selector: Selector, returns: NDArray[np.floating], rounds: int) -> Run:
    """Run a selector for some rounds; a source that is not a target trains at the nearest one.

    Args:
        selector: A selector that was not asked before.
        returns: (N, N) the transfer matrix.
        rounds: K, at most the number of targets.
    """
    indices, curve, trials = [], [], []
    for _ in range(rounds):
        trial = selector.ask()
        index = trial.index
        if index is None:
            index = selector.space.nearest(trial.context)
        selector.tell(trial, returns[index])
        indices.append(index)
        curve.append(selector.performance)
        trials.append(trial)
    return Run(indices, curve, [t.strategy for t in trials], [t.structure for t in trials])
