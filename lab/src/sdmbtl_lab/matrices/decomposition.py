"""J = f + g + h + C (Definition 1), and the Sobol-Hoeffding form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
        matrix = np.asarray(returns, dtype=np.float64)
        constant = float(matrix.mean())
        difficulty = matrix.mean(axis=0) - constant
        quality = np.diagonal(matrix) - difficulty - constant
        dissimilarity = matrix - quality[:, None] - difficulty - constant
        np.fill_diagonal(dissimilarity, 0.0)  # exact, where rounding would leave 1e-16
        return cls(quality, difficulty, dissimilarity, constant)


@dataclass(frozen=True)
class SobolHoeffding:
    """Functional ANOVA: J(pi_x, y) = mean + F_X(x) + F_Y(y) + F_XY(x, y), all orthogonal.

    Attributes:
        mean: The grand mean.
        source_effect: (M,) F_X, mean 0.
        target_effect: (N,) F_Y, mean 0.
        interaction: (M, N) F_XY, mean 0 over each row and each column.
    """

    mean: float
    source_effect: NDArray[np.float64]
    target_effect: NDArray[np.float64]
    interaction: NDArray[np.float64]

    @classmethod
    def of(cls, returns: ArrayLike) -> SobolHoeffding:
        """Decompose an (M, N) matrix of returns; sources need not be targets."""
        matrix = np.asarray(returns, dtype=np.float64)
        mean = float(matrix.mean())
        source_effect = matrix.mean(axis=1) - mean
        target_effect = matrix.mean(axis=0) - mean
        interaction = matrix - source_effect[:, None] - target_effect - mean
        return cls(mean, source_effect, target_effect, interaction)
