"""Which contexts the baselines train on: groups, medoids, priorities. Pure functions of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

#: Runs of k-means from different starts, and most iterations of each.
RESTARTS, ITERATIONS = 8, 50


def cluster(points: Floats, k: int, rng: np.random.Generator) -> Numbers:
    """Group points by k-means: the best of several runs, each begun with k-means++.

    Args:
        points: (N, D) at least k different points.
        k: Number of groups.
        rng: What the starts are drawn with.

    Returns:
        (N,) number of the group of each point; no group is empty.
    """
    runs = [_lloyd(points, _spread_centres(points, k, rng)) for _ in range(RESTARTS)]
    return min(runs, key=lambda groups: _spread_within(points, groups))


def _spread_centres(points: Floats, k: int, rng: np.random.Generator) -> Floats:
    """(k, D) different points, each drawn in proportion to its squared distance to the others."""
    chosen = [int(rng.integers(len(points)))]
    while len(chosen) < k:
        nearest = _squared_distances(points, points[chosen]).min(axis=1)
        chosen.append(int(rng.choice(len(points), p=nearest / nearest.sum())))
    return points[chosen]


def _lloyd(points: Floats, centres: Floats) -> Numbers:
    groups = np.full(len(points), -1, dtype=np.intp)
    for _ in range(ITERATIONS):
        before, groups = groups, _nearest_centre(points, centres)
        if np.array_equal(before, groups):
            break
        centres = np.stack([points[groups == g].mean(axis=0) for g in range(len(centres))])
    return groups


def _nearest_centre(points: Floats, centres: Floats) -> Numbers:
    """(N,) number of the nearest centre; one that has no point gets the point farthest off."""
    distances = _squared_distances(points, centres)
    groups: Numbers = distances.argmin(axis=1)
    for empty in np.flatnonzero(np.bincount(groups, minlength=len(centres)) == 0):
        sizes = np.bincount(groups, minlength=len(centres))
        own = np.where(sizes[groups] > 1, distances[np.arange(len(points)), groups], -1.0)
        groups[own.argmax()] = empty
    return groups


def _spread_within(points: Floats, groups: Numbers) -> float:
    """Sum of the squared distances to the mean of the own group."""
    members = [points[groups == g] for g in range(groups.max() + 1)]
    return float(sum(((some - some.mean(axis=0)) ** 2).sum() for some in members))


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    return np.asarray(((points[:, None] - centres[None]) ** 2).sum(axis=2))


def medoids(points: Floats, k: int) -> Numbers:
    """The k points that are nearest to all others: k-medoids with L1 distances, by PAM.

    One after another is taken where it helps most, then exchanged for another while that helps.

    Args:
        points: (N, D) points.
        k: Number of medoids, at most N.

    Returns:
        (k,) their numbers, in order.
    """
    distances = np.abs(points[:, None] - points[None]).sum(axis=2)
    chosen: list[int] = []
    nearest = np.full(len(points), np.inf)
    for _ in range(k):
        sums = np.minimum(nearest, distances).sum(axis=1)
        sums[chosen] = np.inf
        chosen.append(int(sums.argmin()))
        nearest = np.minimum(nearest, distances[chosen[-1]])
    while (better := _exchanged(distances, chosen)) is not None:
        chosen = better
    return np.array(sorted(chosen), dtype=np.intp)


def _exchanged(distances: Floats, chosen: list[int]) -> list[int] | None:
    """Medoids with one of them exchanged for the best other point; None if none is better."""
    best, found = float(distances[chosen].min(axis=0).sum()) - 1e-9, None
    for place in range(len(chosen)):
        others = chosen[:place] + chosen[place + 1 :]
        nearest = distances[others].min(axis=0, initial=np.inf)
        sums = np.minimum(nearest, distances).sum(axis=1)
        if sums.min() < best:
            best, found = float(sums.min()), [*others, int(sums.argmin())]
    return found


def filled_up(members: Numbers, n: int, rng: np.random.Generator) -> Numbers:
    """(n,) of a group's members in random order, each as often as any other or once more."""
    times = -(-n // len(members))
    return np.concatenate([rng.permutation(members) for _ in range(times)])[:n]


def worst_tenth(shares: Floats) -> float:
    """Mean over the tenth of the targets that have least."""
    return float(np.sort(shares)[: max(1, len(shares) // 10)].mean())
