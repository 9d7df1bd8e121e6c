"""A small exact Gaussian process: constant mean, scaled RBF kernel, Gaussian noise.

Made for a few dozen observations that are refitted every round: the hyperparameters come from
the marginal likelihood with its analytic gradient (and a weak prior), the constant mean is
eliminated in closed form (generalised least squares), and everything is standardised, so shift
and scale of the observations change nothing. Each fit starts afresh: a warm start would keep
the mistakes of the first rounds, when three observations fit anything.
"""

from __future__ import annotations

import numpy as np
import scipy  # its parts are loaded when they are first used: importing this package stays fast
from numpy.typing import NDArray

from sdmbtl.transfer.return_model import squared_distances

#: Added to the diagonal of the standardised kernel matrix, so that it stays invertible.
JITTER = 1e-8

#: The hyperparameters are the logarithms of signal variance, length scale (unit coordinates)
#: and noise variance (standardised observations). A weak normal prior keeps the fit from running
#: to a bound on a handful of observations; the search starts at its mean.
PRIOR_MEAN = np.array([0.0, -0.7, -2.0])
PRIOR_WIDTH = np.array([0.5, 1.2, 2.0])
BOUNDS = [(-4.0, 4.0), (-4.0, 3.0), (-9.0, 1.0)]


class GaussianProcess:
    """Posterior of a function of the context, given noisy observations of it.

    Args:
        points: (n, D) where it was observed, in unit coordinates.
        values: (n,) the observations.
    """

    def __init__(self, points: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        self.points = points
        self._center = float(values.mean())
        spread = float(values.std())
        self._spread = spread if spread > 1e-12 * max(abs(self._center), 1e-300) else 0.0
        standard = (values - self._center) / (self._spread or 1.0)
        squares = squared_distances(points, points)
        self.log_parameters = _fit(squares, standard)
        variance, length, noise = np.exp(self.log_parameters)
        kernel = variance * np.exp(-0.5 * squares / length**2)
        self._factor = scipy.linalg.cholesky(
            _with_noise(kernel, noise), lower=True, check_finite=False
        )
        inverse = scipy.linalg.cho_solve(
            (self._factor, True), np.eye(len(values)), check_finite=False
        )
        self._mean = _constant_mean(inverse, standard)
        self._weights = inverse @ (standard - self._mean)

    def predict(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(M,) posterior means and standard deviations at (M, D) points, without noise."""
        variance, length, _ = np.exp(self.log_parameters)
        cross = variance * np.exp(-0.5 * squared_distances(self.points, points) / length**2)
        mean = self._mean + self._weights @ cross
        explained = scipy.linalg.solve_triangular(
            self._factor, cross, lower=True, check_finite=False
        )
        left = np.maximum(variance - np.einsum("ij,ij->j", explained, explained), 0.0)
        return self._center + self._spread * mean, self._spread * np.sqrt(left)


def negative_log_likelihood(
    log_parameters: NDArray[np.float64],
    squares: NDArray[np.float64],
    values: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Negative log marginal likelihood (without its constant) and its gradient.

    Args:
        log_parameters: (3,) logarithms of signal variance, length scale, noise variance.
        squares: (n, n) squared distances between the points.
        values: (n,) standardised observations.
    """
    variance, length, noise = np.exp(log_parameters)
    kernel = variance * np.exp(squares * (-0.5 / length**2))
    factor = scipy.linalg.cholesky(_with_noise(kernel, noise), lower=True, check_finite=False)
    inverse = scipy.linalg.cho_solve((factor, True), np.eye(len(values)), check_finite=False)
    residual = values - _constant_mean(inverse, values)
    weights = inverse @ residual
    likelihood = 0.5 * residual @ weights + np.log(np.diagonal(factor)).sum()
    # d/dp = 1/2 tr((K^-1 - w w^T) dK/dp); the constant mean is at its optimum, so it drops out.
    sensitivity = inverse - np.outer(weights, weights)
    weighted = sensitivity * kernel
    gradient = 0.5 * np.array(
        [
            weighted.sum(),
            np.vdot(weighted, squares) / length**2,
            noise * np.trace(sensitivity),
        ]
    )
    return float(likelihood), gradient


def _fit(squares: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3,) log hyperparameters: the posterior's mode, as found from the prior's mean."""

    def objective(log_parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        misfit, slope = negative_log_likelihood(log_parameters, squares, values)
        away = (log_parameters - PRIOR_MEAN) / PRIOR_WIDTH
        return misfit + 0.5 * float(away @ away), slope + away / PRIOR_WIDTH

    result = scipy.optimize.minimize(
        objective, PRIOR_MEAN, jac=True, method="L-BFGS-B", bounds=BOUNDS, options={"maxiter": 50}
    )
    return np.asarray(result.x)


def _with_noise(kernel: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    noisy = kernel.copy()
    noisy.flat[:: len(kernel) + 1] += noise + JITTER
    return noisy


def _constant_mean(inverse: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Generalised least squares estimate of the constant mean."""
    row = inverse.sum(axis=0)
    return float(row @ values / row.sum())
