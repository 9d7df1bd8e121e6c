"""A smooth function of the context, estimated from a few noisy values.

A Gaussian process with a linear and a squared-exponential part. With a handful of values nobody
can tell a smooth function from luck, so no single length scale and noise are chosen: the
predictions are averaged over a grid of them, weighted by their likelihood. Where the values are
luck, the average stays near their mean; where they are smooth, it follows them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Length scales in unit coordinates, for one dimension; D dimensions are sqrt(D) as wide.
LENGTHS = (0.15, 0.3, 0.6, 1.2)
#: Share of the noise in the variance.
NOISES = np.array([0.02, 0.2, 0.5, 0.8, 0.97])
#: Variance of the linear part for a source at the edge, beside 1 of the other part.
LINEAR = 2.0
JITTER = 1e-9
#: With fewer values none of them is called an outlier.
LEAST_FOR_OUTLIERS = 5
#: A value so many standard deviations below what the others say is not taken into account.
OUTLYING = 4.0
#: At most this share of the values is left out.
MOST_OUTLIERS = 0.34


class SmoothEffect:
    """Values of a function at some contexts, and what they say about it elsewhere.

    Args:
        points: (k, D) contexts in unit coordinates.
        values: (k,) noisy values of the function.
    """

    def __init__(self, points: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        self.points = points
        self.mean = float(values.mean())
        self._centred = values - self.mean
        scores, self._parts = [], []
        for length in LENGTHS:
            kernel = _kernel(points, points, length)
            eigenvalues, vectors = np.linalg.eigh(kernel)
            spectrum = np.outer(1 - NOISES, np.maximum(eigenvalues, 0.0)) + NOISES[:, None] + JITTER
            rotated = vectors.T @ self._centred
            scale = (rotated**2 / spectrum).mean(axis=1) + 1e-300
            scores.append(-0.5 * len(values) * np.log(scale) - 0.5 * np.log(spectrum).sum(axis=1))
            self._parts.append((length, vectors, spectrum, rotated / spectrum, scale))
        weights = np.exp(np.array(scores) - np.max(scores))
        self.weights: NDArray[np.float64] = weights / weights.sum()

    def predict(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected value and variance of one more observation.

        Args:
            points: (m, D) contexts in unit coordinates.

        Returns:
            (m,) means and (m,) variances, noise included.
        """
        mean, variance = np.zeros(len(points)), np.zeros(len(points))
        own = _own_kernel(points)
        for weights, (length, vectors, spectrum, rotated, scale) in zip(
            self.weights, self._parts, strict=True
        ):
            if weights.max() < 1e-4:
                continue
            cross = _kernel(points, self.points, length) @ vectors
            signal = 1 - NOISES
            mean += cross @ ((weights * signal) @ rotated)
            explained = (cross**2) @ ((weights * scale * signal**2) @ (1.0 / spectrum))
            variance += (weights * scale) @ signal * own + (weights * scale) @ NOISES - explained
        k = len(self.points)
        return self.mean + mean, np.maximum(variance, 0.0) * k / max(k - 1, 1)

    def deviations(self) -> NDArray[np.float64]:
        """(k,) how many standard deviations each value lies from what the others say.

        By the most likely length and noise; the standard deviation is that of the others too.
        """
        row, column = np.unravel_index(self.weights.argmax(), self.weights.shape)
        _, vectors, spectrum, _, scale = self._parts[row]
        precision = (vectors / spectrum[column]) @ vectors.T
        own = np.diagonal(precision)
        weighted = precision @ self._centred
        squares, k = weighted**2 / own, len(self.points)
        others = np.maximum((k * scale[column] - squares) / (k - 1), 1e-300)
        return np.asarray(weighted / np.sqrt(own * others))


def effect_without_failures(
    points: NDArray[np.float64], values: NDArray[np.float64]
) -> SmoothEffect:
    """The effect, estimated without values that lie far below what the others say.

    Now and then a training fails. Its policy says nothing about those that are still to come, and
    taken for one like the others it would make all of them look unpredictable.

    Args:
        points: (k, D) contexts in unit coordinates.
        values: (k,) noisy values of the function.
    """
    effect = SmoothEffect(points, values)
    for _ in range(int(MOST_OUTLIERS * len(values))):
        if len(effect.points) < LEAST_FOR_OUTLIERS:
            break
        deviations = effect.deviations()
        worst = int(deviations.argmin())
        if deviations[worst] > -OUTLYING:
            break
        points, values = np.delete(points, worst, axis=0), np.delete(values, worst)
        effect = SmoothEffect(points, values)
    return effect


def _kernel(
    one: NDArray[np.float64], other: NDArray[np.float64], length: float
) -> NDArray[np.float64]:
    dimensions = one.shape[1]
    squares = np.zeros((len(one), len(other)))
    for d in range(dimensions):
        squares += (one[:, d, None] - other[:, d]) ** 2
    smooth = np.exp(-0.5 * squares / (length**2 * dimensions))
    linear = LINEAR * (one - 0.5) @ (other - 0.5).T
    return np.asarray((smooth + linear) / _kernel_scale(dimensions))


def _own_kernel(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m,) the kernel of each point with itself."""
    squares = ((points - 0.5) ** 2).sum(axis=1)
    return np.asarray((1 + LINEAR * squares) / _kernel_scale(points.shape[1]))


def _kernel_scale(dimensions: int) -> float:
    """The mean of the kernel of a point with itself, over the box."""
    return 1 + LINEAR * dimensions / 12
