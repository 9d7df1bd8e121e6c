"""Searching very many targets coarse to fine: from a target of a sample to the best near it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import Source
from sdmbtl.selectors.choice import best_target
from sdmbtl.selectors.history import History

#: The targets of this many parts of the sample are compared, those with the largest gains, and of
#: all of them together at most so many.
PARTS, MOST_TARGETS = 8, 1024


class RefinedChoice(NamedTuple):
    """A target of the whole space.

    Attributes:
        source: The target, as what a policy is trained on.
        unit: (D,) the same in unit coordinates.
        gain: What it gains, on the targets of the sample.
    """

    source: Source
    unit: NDArray[np.float64]
    gain: float


def refine_choice(
    history: History,
    gains: NDArray[np.float64],
    gains_of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> RefinedChoice | None:
    """The best of the targets that the best ones of a sample stand for.

    Args:
        history: The history that the choice is made from.
        gains: (n,) what each target of its space would gain.
        gains_of: What any (m, D) sources in unit coordinates would gain, (m,).

    Returns:
        The choice; None if the history is not that of a sample, or all these targets are taken.
    """
    sample = history.sample
    if sample is None:
        return None
    parts = np.argsort(-gains, kind="stable")[:PARTS]
    near = np.sort(np.concatenate([sample.members(int(part)) for part in parts]))
    near = near[history.whole.free_targets()[near]]
    near = near[:: -(-len(near) // MOST_TARGETS) or 1]
    if not len(near):
        return None
    units = sample.of.unit_targets[near]
    found = gains_of(units)
    best = best_target(found, np.ones(len(near), dtype=np.bool_), sample.of.rank_ties(near))
    return RefinedChoice(sample.of.source(int(near[best])), units[best], float(found[best]))
