"""Running a selector on a known transfer matrix instead of training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors import Selector


@dataclass(frozen=True)
class Run:
    """What a selector did on one matrix.

    Attributes:
        indices: The targets it trained on, in order.
        curve: Performance after each round.
        strategies: What chose each of them.
        structures: The structure that was detected before each, None where none was looked for.
    """

    indices: list[int]
    curve: list[float]
    strategies: list[str]
    structures: list[str | None]


def simulate(selector: Selector, returns: NDArray[np.floating], rounds: int) -> Run:
    """Run a selector for some rounds; a source that is no target trains at the nearest one.

    Args:
        selector: A selector that was not asked before.
        returns: (N, N) the transfer matrix.
        rounds: K, at most the number of targets.
    """
    indices: list[int] = []
    curve: list[float] = []
    strategies: list[str] = []
    structures: list[str | None] = []
    for _ in range(rounds):
        candidate = selector.ask()
        index = candidate.index
        if index is None:
            index = selector.space.nearest(candidate.context)
        selector.tell(candidate, returns[index])
        indices.append(index)
        curve.append(selector.performance)
        strategies.append(candidate.strategy)
        structures.append(candidate.structure)
    return Run(indices, curve, strategies, structures)
