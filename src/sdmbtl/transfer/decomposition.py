"""J = f + g + h + C (Definition 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.errors import MatrixError


@dataclass(frozen=True)
class Decomposition:
    """Definition 1 of the paper: J(pi_x, y) = f(x) + g(y) + h(x, y) + C with h(x, x) = 0.

    Attributes:
        quality: (N,) policy quality f(x).
        difficulty: (N,) task difficulty g(y), mean 0.
        dissimilarity: (N, N) task dissimilarity h(x, y), 0 on the diagonal.
        constant: C, the mean of J.
    """

    quality: NDArray[np.float64]
    difficulty: NDArray[np.float64]
    dissimilarity: NDArray[np.float64]
    constant: float

    @classmethod
    def of(cls, returns: ArrayLike) -> Decomposition:
        """Decompose an (N, N) transfer matrix whose source n is target n."""
        matrix = _square(returns)
        constant = float(matrix.mean())
        difficulty = matrix.mean(axis=0) - constant
        quality = np.diagonal(matrix) - difficulty - constant
        dissimilarity = matrix - quality[:, None] - difficulty - constant
        np.fill_diagonal(dissimilarity, 0.0)  # exact, where rounding would leave 1e-16
        return cls(quality, difficulty, dissimilarity, constant)

    def matrix(self) -> NDArray[np.float64]:
        """Put the (N, N) transfer matrix together again."""
        return self.quality[:, None] + self.difficulty + self.dissimilarity + self.constant


def finite_matrix(returns: ArrayLike) -> NDArray[np.float64]:
    """Check an (M, N) matrix of finite returns."""
    matrix = np.asarray(returns, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise MatrixError(
            "A decomposition needs a full matrix (sources, targets) of finite returns. "
            f"Got shape {matrix.shape} instead."
        )
    return matrix


def _square(returns: ArrayLike) -> NDArray[np.float64]:
    matrix = finite_matrix(returns)
    if matrix.shape[0] != matrix.shape[1]:
        raise MatrixError(
            f"Definition 1 needs J(pi_x, x), so sources must be the targets. "
            f"Got shape {matrix.shape} instead."
        )
    return matrix
