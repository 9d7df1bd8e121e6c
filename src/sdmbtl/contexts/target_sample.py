"""A few targets that stand for very many: equal parts of the space, one target drawn in each."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts.space import ContextSpace
from sdmbtl.seeds import seed_sequence

#: Targets are sorted by unit coordinates rounded to this many steps: sorting whole numbers this
#: small takes time linear in their number.
_STEPS = np.iinfo(np.uint16).max


class TargetSample:
    """Targets that stand for all of a space, each for as many as any other, give or take a few.

    The targets are halved along their widest side again and again, until there are as many parts
    as the sample is large. In each part one target is drawn. As all parts are equally large, a mean
    over the sample needs no weights: it estimates the mean over all targets without bias, and with
    less noise than targets drawn from the whole space would. If the targets have weights, one is
    drawn by them, and has the weight of its part.

    Args:
        space: The context space.
        size: Number of targets to draw, at most all of them.
        seed: Root of the draws.

    Attributes:
        of: The space that was sampled.
        space: The space of the drawn targets: the same dimensions, fewer targets.
        indices: (n,) which targets of the large space they are, in ascending order.
        members: For each, the targets of the large space that it stands for, itself included.

    Example:
        >>> sample = TargetSample(ContextSpace(a=range(100), b=range(100)), size=25, seed=0)
        >>> len(sample.space), sample.members[0].size
        (25, 400)
    """

    def __init__(self, space: ContextSpace, size: int, seed: int) -> None:
        parts = _equal_parts(space.unit_targets, min(size, len(space)))
        rng = np.random.default_rng(seed_sequence(seed, "target sample"))
        lengths = np.array([len(part) for part in parts])
        places = rng.integers(lengths)
        if (weights := space.weights) is not None:
            sums = [weights[part].cumsum() for part in parts]
            points = rng.random(len(parts))
            places = np.array(
                [np.searchsorted(s, u * s[-1]) for s, u in zip(sums, points, strict=True)]
            )
        drawn = np.array([part[place] for part, place in zip(parts, places, strict=True)])
        order = np.argsort(drawn)
        self.of = space
        self.indices: NDArray[np.intp] = drawn[order]
        self.members: list[NDArray[np.intp]] = [parts[number] for number in order]
        self.space = space.subset(self.indices)
        if weights is not None:
            self.space = self.space.weighted([weights[m].sum() for m in self.members])

    def __len__(self) -> int:
        return len(self.indices)

    @cached_property
    def parts(self) -> NDArray[np.int32]:
        """(N,) for each target of the large space the number of the drawn one it is a part with."""
        numbers = np.empty(len(self.of), dtype=np.int32)
        for number, members in enumerate(self.members):
            numbers[members] = number
        return numbers

    def find(self, index: int | None) -> int | None:
        """Number of the drawn target that is this target of the large space; None if none is."""
        if index is None:
            return None
        place = int(np.searchsorted(self.indices, index))
        return place if place < len(self) and self.indices[place] == index else None

    def row(self, returns: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) estimates of (N,) returns on the drawn targets.

        Where a drawn target was not evaluated, the mean over those of its part that were stands
        for it; NaN if none was.
        """
        drawn = returns[self.indices]
        holes = np.isnan(drawn)
        if holes.any():
            known = ~np.isnan(returns)
            parts = self.parts[known]
            counts = np.bincount(parts, minlength=len(self))
            sums = np.bincount(parts, weights=returns[known], minlength=len(self))
            filled = holes & (counts > 0)
            drawn[filled] = sums[filled] / counts[filled]
        return drawn


def _equal_parts(units: NDArray[np.float64], parts: int) -> list[NDArray[np.intp]]:
    """Parts of about the same number of targets, by cutting the widest side."""
    columns = [np.round(np.clip(u, 0.0, 1.0) * _STEPS).astype(np.uint16) for u in units.T]
    left_over = [(np.arange(len(units)), parts)]
    found = []
    while left_over:
        members, wanted = left_over.pop()
        if wanted == 1:
            found.append(members)
            continue
        sides = [column[members] for column in columns]
        widest = max(sides, key=np.ptp)
        ordered = members[np.argsort(widest, kind="stable")]
        below = wanted // 2
        cut = len(members) * below // wanted
        left_over += [(ordered[cut:], wanted - below), (ordered[:cut], below)]
    return found
