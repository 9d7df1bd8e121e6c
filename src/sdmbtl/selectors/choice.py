"""Choosing the best of many targets so that ties break the same way on every machine."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.selectors.history import History

Sources = Literal["targets", "box"]

#: Values closer than this, relative to the largest, count as equal: their order is rounding.
TIE = 1e-9


def checked_sources(sources: Sources) -> Sources:
    """Check a selector's `sources` setting."""
    if sources not in get_args(Sources):
        raise SelectorError(
            f"The 'sources' of a selector must be 'targets' or 'box'. Got {sources!r} instead."
        )
    return sources


def free_targets(history: History) -> NDArray[np.bool_]:
    """(N,) which targets may still be proposed.

    Raises:
        ExhaustedError: If none is left.
    """
    free = history.free_targets()
    if not free.any():
        raise ExhaustedError(
            f"All {len(free)} targets have been proposed; none is left to train on. "
            "Stop here, or use a space with more targets."
        )
    return free


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
    top = chosen.max()
    ties = allowed[chosen >= top - TIE * float(np.abs(chosen).max())]
    return int(ties[np.argmin(tie_rank[ties])])
