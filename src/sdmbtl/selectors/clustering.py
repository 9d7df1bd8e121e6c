"""Sequential clustering: fixed centroids, one more to place.

As in the paper's appendix, distances to the fixed centroids enter only through the smallest one,
which is updated with each new centroid: only pairs that a new centroid touches are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.acquisition import mean_improvement
from sdmbtl.transfer.gap import PIECE, SeparableGap

#: A target belongs to a new centroid if it comes nearer by more than rounding.
NEARER = 1e-9


class NearestDistances:
    """Distance of every target to the nearest centroid, and what another centroid would gain.

    Args:
        space: The context space; distances are L1 in unit coordinates.
    """

    def __init__(self, space: ContextSpace) -> None:
        self.space = space
        self.gap = SeparableGap.distance(space, np.ones(space.n_units))
        self.centroids = np.empty((0, space.n_units))
        # Before the first centroid every target is farther away than any point of the box.
        self.distances = np.full(len(space), space.n_units + 1.0)
        self._gains: NDArray[np.float64] | None = None
        self._gain_distances = self.distances

    @property
    def loss(self) -> float:
        """Mean distance of a target to its nearest centroid; infinite without any."""
        return float(self.space.mean(self.distances)) if len(self.centroids) else np.inf

    def extend(self, centroids: NDArray[np.float64]) -> None:
        """Add the centroids (k, D) beyond those known, in unit coordinates."""
        new = centroids[len(self.centroids) :]
        for start in range(0, len(new), max(PIECE // len(self.space), 1)):
            some = new[start : start + max(PIECE // len(self.space), 1)]
            self.distances = np.minimum(self.distances, -self.gap.change(some).max(axis=0))
        self.centroids = centroids.copy()

    def target_gains(self) -> NDArray[np.float64]:
        """(N,) by how much the loss would fall with each target as the next centroid."""
        changed = np.flatnonzero(self.distances < self._gain_distances - NEARER)
        if self._gains is None or len(changed) > len(self.space) // 3:
            nearer = self.gap.advantages(np.zeros(len(self.space)), -self.distances)
            self._gains = mean_improvement(nearer, len(self.space), self.space.weights)
        else:
            self._gains = self._gains - self._lost_gains(changed)
        self._gain_distances = self.distances
        return np.round(self._gains, 12)  # what the subtractions leave of equal gains is equal

    def gains(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,) by how much the loss would fall with each point (m, D) as the next centroid."""
        nearer = self.gap.advantages(np.zeros(len(points)), -self.distances, points)
        return mean_improvement(nearer, len(points), self.space.weights)

    def _lost_gains(self, changed: NDArray[np.intp]) -> NDArray[np.float64]:
        """(N,) what each target's gain has lost through the targets that are nearer now."""
        units, lost = self.space.unit_targets, np.empty(len(self.space))
        before, now = self._gain_distances[changed], self.distances[changed]
        size = max(PIECE // max(len(changed), 1), 1)
        for start in range(0, len(units), size):
            where = slice(start, start + size)
            distance = -self.gap.change(units[where], units[changed])
            difference = np.maximum(before - distance, 0) - np.maximum(now - distance, 0)
            lost[where] = self.share_of_mean(difference, changed)
        return lost

    def share_of_mean(
        self, values: NDArray[np.float64], targets: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[np.float64]:
        """(m,) contributions of (m, n) values on some targets to the mean over all."""
        weights = self.space.weights
        if weights is None:
            return np.asarray(values.sum(axis=1) / len(self.space))
        return np.asarray(values @ weights[targets])


class RestartSearch:
    """The paper's Update from many starts at once: move to the median of the cluster, repeat.

    From a given point the next one is determined, so starts that meet continue together, and a
    point is evaluated once, not once for each start.
    """

    def __init__(self, nearest: NearestDistances, starts: NDArray[np.intp]) -> None:
        self.nearest = nearest
        self.starts = nearest.space.unit_targets[starts]
        self._steps: dict[bytes, tuple[float, NDArray[np.float64]]] = {}
        codes = [np.unique(column, return_inverse=True) for column in nearest.space.unit_targets.T]
        self._levels = [levels for levels, _ in codes]
        #: For each dimension the (L, N) matrix of which target has which value.
        self._membership = [
            scipy.sparse.csr_array(
                (np.ones(len(code)), (code.ravel(), np.arange(len(code)))),
                shape=(len(levels), len(code)),
            )
            for levels, code in codes
        ]

    def best_first(self) -> Iterator[tuple[NDArray[np.float64], float]]:
        """Yield the end points of all searches with their gains, best first."""
        frontier = {point.tobytes(): point for point in self.starts}
        while frontier:  # every point that some search visits
            gains, following = self._evaluated(np.array(list(frontier.values())))
            steps = zip(gains.tolist(), following, strict=True)
            self._steps.update(zip(frontier, steps, strict=True))
            frontier = {p.tobytes(): p for p in following if p.tobytes() not in self._steps}
        ends: dict[bytes, tuple[float, NDArray[np.float64]]] = {}
        for start in self.starts:
            point, gain = self._followed(start)
            ends.setdefault(point.tobytes(), (gain, point))
        # Larger gain first; of equal ones the most central, then the first by coordinates.
        order = sorted(
            ends.values(),
            key=lambda end: (-round(end[0], 9), round(np.abs(end[1] - 0.5).sum(), 9), *end[1]),
        )
        yield from ((point, gain) for gain, point in order)

    def _evaluated(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(P,) gain of each point as the next centroid, and (P, D) the median of its cluster."""
        gains, following = np.empty(len(points)), points.copy()
        size = max(PIECE // len(self.nearest.space), 1)
        for start in range(0, len(points), size):
            where = slice(start, start + size)
            nearer = self.nearest.distances + self.nearest.gap.change(points[where])
            member = nearer > NEARER
            gains[where] = self.nearest.share_of_mean(np.where(member, nearer, 0.0))
            won = member.any(axis=1)
            following[where][won] = self._medians(member[won])
        return gains, following

    def _medians(self, member: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(P, D) coordinate-wise median of each cluster; member is (P, N)."""
        weights, counted = self.nearest.space.weights, member.astype(np.float64)
        size = member.sum(axis=1)
        lower, upper = (size + 1) // 2, size // 2 + 1
        if weights is not None:  # the value below which half of the weight lies
            counted *= weights
            lower = upper = counted.sum(axis=1) * (0.5 - NEARER)
        columns = []
        for levels, one_hot in zip(self._levels, self._membership, strict=True):
            below = np.cumsum((one_hot @ counted.T).T, axis=1)
            first = levels[(below >= lower[:, None]).argmax(axis=1)]
            second = levels[(below >= upper[:, None]).argmax(axis=1)]
            columns.append((first + second) / 2)
        return np.column_stack(columns)

    def _followed(self, start: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Follow the search from a start to its end: a point that is the median of its cluster.

        Several medians can have the same gain; a step that loses, or leads back, is not taken.
        """
        point, (gain, after) = start, self._steps[start.tobytes()]
        visited = {point.tobytes()}
        while after.tobytes() not in visited:
            next_gain, beyond = self._steps[after.tobytes()]
            if next_gain < gain - NEARER:
                break
            point, gain, after = after, next_gain, beyond
            visited.add(point.tobytes())
        return point, gain
