"""Few members that do what all of them do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def smallest_cover(means: NDArray[np.float64], allowed_loss: float) -> list[int]:
    """Positions of few members whose best means lose no more than allowed, by greed.

    The member that adds most is taken until the rest adds no more than is allowed to be lost;
    then whoever has become superfluous is dropped.

    Args:
        means: (k, N) expected return of each member on each target.
        allowed_loss: How much the mean over the targets of the best return may fall.
    """
    full = means.max(axis=0)

    def is_enough(positions: list[int]) -> bool:
        return bool((full - means[positions].max(axis=0)).mean() <= allowed_loss)

    chosen = [int(means.sum(axis=1).argmax())]
    while not is_enough(chosen):
        gained = np.maximum(means, means[chosen].max(axis=0)).sum(axis=1)
        # A gain may be too small for the sum; the same member again would help nothing.
        gained[chosen] = -np.inf
        chosen.append(int(gained.argmax()))
    for position in list(chosen):
        rest = [p for p in chosen if p != position]
        if rest and is_enough(rest):
            chosen = rest
    return sorted(chosen)
