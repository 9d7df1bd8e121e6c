"""Few members that do what all of them do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def smallest_cover(means: NDArray[np.float64], allowed_loss: float) -> list[int]:
    """Positions of few members whose best means lose no more than allowed, by greed.

    The member that adds most is taken until the rest adds no more than is allowed to be lost;
    then whoever has become superfluous is dropped.

    Args:
        means: (k, N) mean of each member on each target, NaN where not evaluated. Targets that
            a policy was evaluated on stay covered.
        allowed_loss: How much the mean over the targets of the best mean may fall.
    """
    means = means[:, ~np.isnan(means).all(axis=0)]
    full = np.fmax.reduce(means, axis=0)
    lowest = np.nanmin(means)
    # Not evaluated is worse than any return, so that every target is worth covering.
    filled = np.where(np.isnan(means), lowest - max(np.nanmax(means) - lowest, 1.0), means)

    def is_enough(positions: list[int]) -> bool:
        # A target that no policy was evaluated on makes the loss NaN, which is not enough.
        return bool((full - np.fmax.reduce(means[positions], axis=0)).mean() <= allowed_loss)

    chosen = [int(filled.sum(axis=1).argmax())]
    while not is_enough(chosen):
        gained = np.maximum(filled, filled[chosen].max(axis=0)).sum(axis=1)
        # A gain may be too small for the sum; the same member again would help nothing.
        gained[chosen] = -np.inf
        chosen.append(int(gained.argmax()))
    for position in list(chosen):
        rest = [p for p in chosen if p != position]
        if rest and is_enough(rest):
            chosen = rest
    return sorted(chosen)
