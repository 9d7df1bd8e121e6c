"""Where some of the targets lie, as a condition that one can say in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace

#: A dimension with more values than this is cut at so many of them.
MOST_CUTS = 24
#: A second dimension must raise the score by this much to be worth its words.
WORTH = 0.02

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Corner:
    """A part of the space: one or two dimensions at or beyond a value.

    Attributes:
        words: Such as "mass ≥ 2 and length = 0.1", if there is nothing below 0.1.
        targets: Number of targets in it.
        found: How many of those that were looked for are in it.
    """

    words: str
    targets: int
    found: int


@dataclass(frozen=True)
class _Side:
    """The targets on one side of a value of a dimension."""

    dimension: int
    words: str
    inside: Mask


def find_corner(space: ContextSpace, wanted: Mask) -> Corner | None:
    """The corner that best agrees with some of the targets.

    It is the one with the highest F1 score: the harmonic mean of how much of the corner is wanted,
    and how much of what is wanted is in it. Of equals, the first and simplest is taken.

    Args:
        space: The context space.
        wanted: (N,) the targets that are looked for.

    Returns:
        The corner; None if nothing is wanted, or if no corner says more than the whole space.
    """
    sides = list(_sides(space))
    if not wanted.any() or not sides:
        return None
    inside = np.array([side.inside for side in sides], dtype=np.float64)
    # Entry i, j is about the targets on both sides i and j; on the diagonal, about one side.
    targets, found = inside @ inside.T, (inside * wanted) @ inside.T
    scores = 2 * found / (targets + wanted.sum())
    of = np.array([side.dimension for side in sides])
    scores[(of[:, None] == of) & ~np.eye(len(sides), dtype=np.bool_)] = 0.0
    scores[~np.eye(len(sides), dtype=np.bool_)] -= WORTH
    first, second = np.unravel_index(int(scores.round(9).argmax()), scores.shape)
    everywhere = 2 * wanted.sum() / (len(space) + wanted.sum())
    if scores[first, second] <= everywhere:
        return None
    words = [sides[i].words for i in dict.fromkeys((int(first), int(second)))]
    count, hits = int(targets[first, second]), int(found[first, second])
    return Corner(" and ".join(words), count, hits)


def _sides(space: ContextSpace) -> Iterator[_Side]:
    for number, name in enumerate(space.names):
        column = space.targets[:, number]
        values = np.unique(column)
        if len(values) > MOST_CUTS:
            values = np.quantile(values, np.linspace(0, 1, MOST_CUTS), method="nearest")
        for low in values[1:]:
            sign = "=" if low == values[-1] else "≥"  # nothing is beyond the last
            yield _Side(number, f"{name} {sign} {low:.3g}", column >= low)
        for high in values[:-1]:
            sign = "=" if high == values[0] else "≤"
            yield _Side(number, f"{name} {sign} {high:.3g}", column <= high)
