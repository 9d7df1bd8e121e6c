"""Failed training runs: policies far below all others on every target.

Now and then a training run goes wrong without an error. Its policy predicts nothing about the next
ones, and learning from it would make all of them look unpredictable. Whether there are failures is
a question of likelihood: either the quality of all policies is a smooth function of the source plus
noise, or some have failed and may lie anywhere in the range of returns, which costs likelihood for
each.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.model import KnownRows
from sdmbtl.selectors.models.smooth_effect import covariance_spectrum, kernel_bases

#: Prior probability that a training run fails.
FAILING = 0.02
#: Qualities that differ by less, as a share of the range of returns, count as equal.
LEAST_NOISE = 0.01
#: At least this many training runs have not failed: fewer cannot be compared.
LEAST_SOUND = 3


def find_failed_runs(rows: KnownRows) -> NDArray[np.bool_]:
    """(k,) which of the policies come from a training run that has probably failed."""
    width = float(np.ptp(rows.returns))
    if len(rows) <= LEAST_SOUND or not width > 0:
        return np.zeros(len(rows), dtype=bool)
    return low_outliers(rows.sources, rows.returns.mean(axis=1) / width)


def low_outliers(points: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(k,) which values lie so low that they are more likely failures than noise.

    The values are noisy ones of a smooth function; failures lie anywhere in a range of 1. One value
    after another is taken away, each time the lowest compared with what the others predict; of all
    these sets of outliers the most likely one is returned. So several failures do not hide one
    another.
    """
    sample = _Sample(points, values)
    likelihood, outliers = sample.log_likelihood(), np.zeros(len(points), dtype=bool)
    for _ in range(min((len(points) - 1) // 2, len(points) - LEAST_SOUND)):
        sample.remove_lowest()
        reached = sample.log_likelihood()
        if reached > likelihood:
            likelihood, outliers = reached, sample.removed.copy()
    return outliers


class _Sample:
    """Values of a Gaussian process under all its settings at once; some may be removed."""

    def __init__(self, points: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        self.removed = np.zeros(len(points), dtype=bool)
        self._values = values - values.mean()
        precisions, determinants = [], []
        for _, eigenvalues, vectors in kernel_bases(points):
            spectrum = covariance_spectrum(eigenvalues)
            precisions.append((vectors / spectrum[:, None]) @ vectors.T)
            determinants.append(np.log(spectrum).sum(axis=1))
        #: (settings, k, k) inverse covariances, rows and columns of removed values 0.
        self._precisions = np.concatenate(precisions)
        self._log_determinants = np.concatenate(determinants)
        self._update()

    def _update(self) -> None:
        """Update the fits to the values that are left: they scatter around their own mean."""
        left = ~self.removed
        centred = np.where(left, self._values - self._values[left].mean(), 0.0)
        self._weighted = self._precisions @ centred
        # The scale is integrated out; of its prior only a constant is missing.
        half = 0.5 * (left.sum() - 1)
        squares = np.maximum(self._weighted @ centred, 2 * half * LEAST_NOISE**2)
        self._fits = (
            math.lgamma(half) - half * np.log(np.pi * squares) - 0.5 * self._log_determinants
        )

    def log_likelihood(self) -> float:
        """Of the values that are left, as a sample of the process, and of the removed ones."""
        failed = int(self.removed.sum())
        sound = len(self.removed) - failed
        prior = failed * np.log(FAILING) + sound * np.log(1 - FAILING)
        highest = self._fits.max()  # exponentials of the numbers themselves would all be 0
        return float(highest + np.log(np.exp(self._fits - highest).mean()) + prior)

    def remove_lowest(self) -> None:
        """Remove the value that lies lowest compared with its prediction from the others."""
        best = int(self._fits.argmax())
        own = np.where(self.removed, 1.0, self._precisions[best].diagonal())
        deviations = np.where(self.removed, np.inf, self._weighted[best] / np.sqrt(own))
        lowest = int(deviations.argmin())
        # The inverse of a matrix without a row and its column, from that of the full one.
        column = self._precisions[:, :, lowest].copy()
        pivot = column[:, lowest].copy()
        self._precisions -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
        self._log_determinants += np.log(pivot)
        self.removed[lowest] = True
        self._update()
