"""Coverage: the mean best return, and its low end, as shares of the range of returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.contexts.weights import weighted_mean
from sdmbtl.transfer.objective import Objective

#: The worst targets are this share of them, at least one.
WORST = 0.1
#: A target counts as solved if its return is at most this share of the range below the best known.
NEAR = 0.05
#: Returns are means over episodes: what is this close to the limit is not beyond it.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Coverage:
    """Coverage of targets, in shares of the range of returns.

    Attributes:
        mean: Mean over the targets.
        worst_tenth: Mean over the tenth of the targets with the lowest returns.
        near_best: Share of the targets within 5 % of the range of the best known return.
        targets: Number of targets that this is about: the evaluated ones.
        returns: The range: its lowest and its highest return.
        known: True if that is the known range, False if that of the returns seen.
    """

    mean: float
    worst_tenth: float
    near_best: float
    targets: int
    returns: tuple[float, float]
    known: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage as JSON data."""
        return {
            "coverage": self.mean,
            "worst_tenth": self.worst_tenth,
            "within_5_percent": self.near_best,
            "targets": self.targets,
            "range": list(self.returns),
            "range_known": self.known,
        }


def share_of_range(value: float, returns: tuple[float, float] | None) -> float | None:
    """Return a return as a share of the range of returns; None if either is not known.

    The share of a mean best return is the coverage: this is the only formula for it.

    >>> share_of_range(75.0, (-100.0, 400.0))
    0.35
    """
    if returns is None or math.isnan(value):
        return None
    low, high = returns
    return (value - low) / (high - low)


def coverage_of(
    best: ArrayLike,
    seen: ArrayLike,
    known: tuple[float, float] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Coverage | None:
    """Compute the coverage of targets by the best policy for each.

    Args:
        best: (N,) return on each target, NaN where not evaluated.
        seen: Returns seen so far, of any shape, NaN where not evaluated. The highest of them, or
            of `best`, is the best known return; without a known range, theirs is the range.
        known: Lowest and highest return of an episode, if known.
        weights: (N,) importance of the targets; None if all are equally important.

    Returns:
        The coverage; None if nothing was evaluated, or all returns are equal and their range is
        not known.

    >>> found = coverage_of([0.0, 96.0, 100.0, float("nan")], [], known=(0.0, 200.0))
    >>> round(found.mean, 3), found.worst_tenth, round(found.near_best, 3), found.targets
    (0.327, 0.0, 0.667, 3)
    """
    given = np.asarray(best, dtype=np.float64)
    values = given[~np.isnan(given)]
    if weights is not None:
        weights = weights[~np.isnan(given)]
        weights = weights / weights.sum()
    if not len(values):
        return None
    everything = np.append(values, np.asarray(seen, dtype=np.float64))
    returns = known or (float(np.nanmin(everything)), float(np.nanmax(everything)))
    width = returns[1] - returns[0]
    if not width > 0:
        return None
    worst = Objective("cvar", WORST).value(values, weights, returns)
    limit = np.nanmax(everything) - (NEAR + _ROUNDING) * width
    return Coverage(
        mean=share_of_range(float(weighted_mean(values, weights)), returns) or 0.0,
        worst_tenth=share_of_range(worst, returns) or 0.0,
        near_best=float(weighted_mean((values >= limit).astype(float), weights)),
        targets=len(values),
        returns=returns,
        known=known is not None,
    )
