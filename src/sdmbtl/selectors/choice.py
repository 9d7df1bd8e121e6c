"""Choosing the best of many targets: exact ties, and a search from coarse to fine.

Ties break the same way on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import Source
from sdmbtl.selectors.history import History

Sources = Literal["targets", "box"]

#: Values closer than this share of their range count as equal: their order is rounding.
TIE = 1e-9
#: The targets of this many parts of the sample are compared, those with the largest gains, and of
#: all of them together at most this many.
PARTS, MOST_TARGETS = 8, 1024


def best_target(
    values: NDArray[np.float64], free: NDArray[np.bool_], tie_rank: NDArray[np.intp]
) -> int:
    """Index of the free target with the highest value; of equal ones the most central.

    Args:
        values: (N,) finite values.
        free: (N,) which targets may be chosen, at least one.
        tie_rank: (N,) the space's preference among equals.
    """
    allowed = np.flatnonzero(free)
    chosen = values[allowed]
    ties = allowed[chosen >= chosen.max() - tie_margin(values)]
    return int(ties[np.argmin(tie_rank[ties])])


def tie_margin(values: NDArray[np.floating]) -> float:
    """Return how far two of these values may be apart and still count as equal."""
    low, high = float(values.min()), float(values.max())
    rounding = 8 * np.finfo(np.float64).eps * max(abs(low), abs(high))
    return TIE * (high - low) + float(rounding)


class SourceChoice(NamedTuple):
    """A target to train on."""

    source: Source
    unit: NDArray[np.float64]
    gain: float


def refine_choice(
    history: History,
    gains: NDArray[np.float64],
    gains_of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> SourceChoice | None:
    """The best of the targets that the best ones of a sample stand for.

    Args:
        history: The history that the choice is made from.
        gains: (n,) what each target of its space would gain.
        gains_of: Gives the (m,) gains of any (m, D) sources in unit coordinates.

    Returns:
        The choice; None if the history is not that of a sample, or all these targets are taken.
    """
    sample = history.sample
    if sample is None:
        return None
    parts = np.argsort(-gains, kind="stable")[:PARTS]
    near = np.sort(np.concatenate([sample.members[part] for part in parts]))
    near = near[history.whole.free_targets()[near]]
    near = near[:: -(-len(near) // MOST_TARGETS) or 1]
    if not len(near):
        return None
    units = sample.of.unit_targets[near]
    found = gains_of(units)
    best = best_target(found, np.ones(len(near), dtype=np.bool_), sample.of.rank_ties(near))
    return SourceChoice(sample.of.source(int(near[best])), units[best], float(found[best]))
