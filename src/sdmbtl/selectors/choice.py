"""Choosing the best of many targets so that ties break the same way on every machine."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import SelectorError

Sources = Literal["targets", "box"]

#: Values closer than this share of their range count as equal: their order is rounding.
TIE = 1e-9


def check_sources(sources: Sources) -> Sources:
    """Check a selector's `sources` setting."""
    if sources not in get_args(Sources):
        raise SelectorError(
            f"The 'sources' of a selector must be 'targets' or 'box'. Got {sources!r} instead."
        )
    return sources


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
    """How far two of these values may be apart and still count as equal."""
    low, high = float(values.min()), float(values.max())
    rounding = 8 * np.finfo(np.float64).eps * max(abs(low), abs(high))
    return TIE * (high - low) + float(rounding)
