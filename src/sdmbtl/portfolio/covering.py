"""Few members that do what all of them do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts.weights import weighted_mean


def smallest_cover(
    means: NDArray[np.float64], allowed_loss: float, weights: NDArray[np.float64] | None = None
) -> list[int]:
    """Positions of few members whose best means lose no more than allowed, by greed.

    The member that adds most is taken until the rest adds no more than is allowed to be lost;
    then whoever has become superfluous is dropped.

    Args:
        means: (k, N) expected return of each member on each target.
        allowed_loss: How much the mean over the targets of the best return may fall.
        weights: (N,) importance of the targets; None if all are equally important.
    """
    full = means.max(axis=0)

    def is_enough(positions: list[int]) -> bool:
        lost = full - means[positions].max(axis=0)
        return bool(weighted_mean(lost, weights) <= allowed_loss)

    chosen = [int(weighted_mean(means, weights).argmax())]
    while not is_enough(chosen):
        gained = weighted_mean(np.maximum(means, means[chosen].max(axis=0)), weights)
        # A gain may be too small for the sum; the same member again would help nothing.
        gained[chosen] = -np.inf
        chosen.append(int(gained.argmax()))
    for position in list(chosen):
        rest = [p for p in chosen if p != position]
        if rest and is_enough(rest):
            chosen = rest
    return sorted(chosen)
