"""A smooth function of the context, estimated from a few noisy values.

A Gaussian process with a linear and a squared-exponential part. A handful of values
cannot tell a smooth function from noise between training runs, so no single length scale and
noise level are chosen: the predictions are averaged over a grid of them, weighted by their
likelihood. Where the values are noise, the average stays near their mean; where they are smooth,
it follows them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: Length scales in unit coordinates, for one dimension; D dimensions are sqrt(D) as wide.
LENGTHS = (0.15, 0.3, 0.6, 1.2)
#: Share of the noise in the variance.
NOISES = np.array([0.02, 0.2, 0.5, 0.8, 0.97])
#: Variance of the linear part for a source at the edge, next to 1 of the other part.
LINEAR = 2.0
JITTER = 1e-9
#: Settings with a smaller weight are left out of predictions, to save time.
NEGLIGIBLE = 1e-4


class SmoothEffect:
    """A function given (k,) noisy values at (k, D) contexts in unit coordinates."""

    def __init__(self, points: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        self.points = points
        self.mean = float(values.mean())
        k = len(values)
        scores, self._parts = [], []
        for length, eigenvalues, vectors in kernel_bases(points):
            spectrum = covariance_spectrum(eigenvalues)
            rotated = vectors.T @ (values - self.mean)
            scale = (rotated**2 / spectrum).mean(axis=1) + 1e-300
            scores.append(-0.5 * k * np.log(scale) - 0.5 * np.log(spectrum).sum(axis=1))
            self._parts.append((length, vectors, spectrum, rotated, scale))
        weights = np.exp(np.array(scores) - np.max(scores))
        self.weights: NDArray[np.float64] = weights / weights.sum()

    def predict(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(m,) means and (m,) variances of one more observation in each of (m, D) contexts."""
        mean, variance = np.full(len(points), self.mean), np.zeros(len(points))
        own, signal = _own_kernel(points), 1 - NOISES
        for weights, (length, vectors, spectrum, rotated, scale) in zip(
            self.weights, self._parts, strict=True
        ):
            variance += (weights * scale) @ signal * own + (weights * scale) @ NOISES
            if (weights * signal).max() < NEGLIGIBLE:
                continue
            cross = smooth_kernel(points, self.points, length) @ vectors
            mean += cross @ ((weights * signal) @ (1.0 / spectrum) * rotated)
            variance -= (cross**2) @ ((weights * scale * signal**2) @ (1.0 / spectrum))
        k = len(self.points)
        return mean, np.maximum(variance, 0.0) * k / max(k - 1, 1)


def kernel_bases(
    points: NDArray[np.float64],
) -> tuple[tuple[float, NDArray[np.float64], NDArray[np.float64]], ...]:
    """Each length with the (k,) eigenvalues and (k, k) eigenvectors of its kernel.

    Several effects are estimated at the same (k, D) points, so these are kept for a while.
    """
    return _kernel_bases(points.tobytes(), points.shape)


@lru_cache(maxsize=4)
def _kernel_bases(
    points: bytes, shape: tuple[int, ...]
) -> tuple[tuple[float, NDArray[np.float64], NDArray[np.float64]], ...]:
    contexts = np.frombuffer(points).reshape(shape)
    kernels = [smooth_kernel(contexts, contexts, length) for length in LENGTHS]
    return tuple((length, *np.linalg.eigh(k)) for length, k in zip(LENGTHS, kernels, strict=True))


def covariance_spectrum(eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """(s, k) eigenvalues of the covariance, for each share of the noise."""
    signal = np.outer(1 - NOISES, np.maximum(eigenvalues, 0.0))
    return np.asarray(signal + NOISES[:, None] + JITTER)


def smooth_kernel(
    one: NDArray[np.float64], other: NDArray[np.float64], length: float
) -> NDArray[np.float64]:
    """(m, k) covariance of a smooth function at (m, D) and (k, D) contexts, about 1 for itself."""
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
