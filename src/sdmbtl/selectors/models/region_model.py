"""Gain of a training run on a region: the share of what is missing there that it removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RegionRun:
    """A finished training run that started from another policy.

    Attributes:
        center: (D,) centre of its region in unit coordinates; None for the whole space.
        share: Share of what was missing that it removed, 0 to 1.
    """

    center: NDArray[np.float64] | None
    share: float


@dataclass(frozen=True)
class RegionModel:
    """Gain(centre) = share(centre) · mean over y of shape(centre, y) · missing(y).

    The shape is 1 inside the region and falls with the distance from it. The share is a kernel
    average of the shares that runs around nearby centres removed, with a prior: two centres are
    alike if the region of one, or its reach, holds the other. For the whole space
    it is an average over the runs so far, in which later ones count more.

    Attributes:
        width: Width of a specialist's region, as a share of each dimension's range.
        reach: Distance from the region over which a specialist is good, in unit coordinates.
        prior: Share that a specialist is expected to remove, with the weight of one run.
        prior_whole: The same for one more run on the whole space.
        decay: Weight of the run before, relative to the last one, on the whole space.
    """

    width: float = 0.25
    reach: float = 0.2
    prior: float = 0.6
    prior_whole: float = 0.3
    decay: float = 0.5

    def shape(
        self, centers: NDArray[np.float64], targets: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(m, N) 1 on the targets in each region, falling with the distance from it.

        Both (m, D) centres and (N, D) targets are in unit coordinates.
        """
        shape = np.ones((len(targets), len(centers)))
        for center, column in zip(centers.T, targets.T, strict=True):
            # On a grid a dimension has few values: the exponential is taken of those only.
            values, place = np.unique(column, return_inverse=True)
            beyond = np.abs(np.subtract.outer(values, center)) - self.width / 2
            shape *= np.exp(-((np.maximum(beyond, 0.0) / self.reach) ** 2))[place]
        return shape.T

    def shares(
        self, centers: NDArray[np.float64], runs: Sequence[RegionRun]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(m,) expected shares of specialists around (m, D) centres, and their variances."""
        total, weight = np.full(len(centers), self.prior), np.ones(len(centers))
        near = max(self.width, self.reach)
        for run in runs:
            if run.center is not None:
                alike = np.exp(-((np.abs(centers - run.center).max(axis=1) / near) ** 2))
                total, weight = total + alike * run.share, weight + alike
        mean = total / weight
        return mean, mean * (1.0 - mean) / (weight + 1.0)  # of a beta distribution

    def share_of_whole(self, runs: Sequence[RegionRun]) -> float:
        """Return the share that one more run on the whole space is expected to remove."""
        shares = [run.share for run in runs if run.center is None]
        weights = self.decay ** np.arange(len(shares))[::-1]
        return float((self.prior_whole + weights @ shares) / (1.0 + weights.sum()))
