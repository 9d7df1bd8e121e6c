"""Targets that are badly covered, and the part of the space where most of them lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import Categories, ContextSpace

#: A target is badly covered if its best return is this share of the range below the best known.
BADLY = 0.25
#: Number of the worst targets that are listed.
MOST_LISTED = 8
#: A dimension with more values than this is cut at this many of them.
MOST_CUTS = 24
#: A second dimension must raise the score by this much to be worth its words.
WORTH = 0.02


@dataclass(frozen=True)
class Gaps:
    """Targets that are still badly covered.

    Attributes:
        limit: A target with a best return below this is badly covered; None if returns have no
            range yet.
        count: Number of targets below it.
        worst: Indices of the worst targets, badly covered or not, the worst first.
        corner: The part of the space where most of them are, such as "mass ≥ 2 with length 0.1";
            None if they are spread.
    """

    limit: float | None
    count: int
    worst: tuple[int, ...]
    corner: str | None


def find_gaps(
    space: ContextSpace, best: NDArray[np.float64], returns: tuple[float, float] | None
) -> Gaps:
    """Find badly covered targets by the (N,) best returns, NaN where there is none."""
    order = [int(i) for i in np.argsort(best, kind="stable") if not np.isnan(best[i])]
    if returns is None or not order:
        return Gaps(None, 0, tuple(order[:MOST_LISTED]), None)
    limit = float(np.nanmax(best) - BADLY * (returns[1] - returns[0]))
    low = best < limit
    corner = find_corner(space, low)
    return Gaps(limit, int(low.sum()), tuple(order[:MOST_LISTED]), corner)


def find_corner(space: ContextSpace, wanted: NDArray[np.bool_]) -> str | None:
    """Find the corner with the highest F1 score for some of the targets.

    A corner is one or two dimensions at or beyond a value. Of equals, the first and simplest is
    taken.

    Args:
        space: The context space.
        wanted: (N,) the targets that are looked for.

    Returns:
        Such as "mass ≥ 2 with length 0.1"; None if nothing is wanted, or the whole space
        scores as well.
    """
    dimensions, words, sides = [], [], []
    for number, name in enumerate(space.names):
        column = space.targets[:, number]
        values, dimension = np.unique(column), space.dimensions[name]
        if isinstance(dimension, Categories):
            words += [f"{name} {dimension.show(value)}" for value in values]
            sides += [column == value for value in values]
            dimensions += [number] * len(values)
            continue
        if len(values) > MOST_CUTS:
            values = np.quantile(values, np.linspace(0, 1, MOST_CUTS), method="nearest")
        for low in values[1:]:
            sign = "" if low == values[-1] else "≥ "  # nothing is beyond the last
            words.append(f"{name} {sign}{low:.3g}")
            sides.append(column >= low)
        for high in values[:-1]:
            sign = "" if high == values[0] else "≤ "
            words.append(f"{name} {sign}{high:.3g}")
            sides.append(column <= high)
        dimensions += [number] * (2 * len(values) - 2)
    if not wanted.any() or not sides:
        return None
    inside = np.array(sides, dtype=np.float64)
    # Entry i, j is about the targets on both sides i and j; on the diagonal, about one side.
    targets, found = inside @ inside.T, (inside * wanted) @ inside.T
    scores = 2 * found / (targets + wanted.sum())
    single = np.eye(len(sides), dtype=np.bool_)
    scores[(np.array(dimensions)[:, None] == dimensions) & ~single] = 0.0
    scores[~single] -= WORTH
    first, second = map(int, np.unravel_index(int(scores.round(9).argmax()), scores.shape))
    if scores[first, second] <= 2 * wanted.sum() / (len(space) + wanted.sum()):
        return None
    return " with ".join(words[i] for i in dict.fromkeys((first, second)))
