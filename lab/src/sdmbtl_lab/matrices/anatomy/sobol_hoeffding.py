"""The Sobol-Hoeffding form of a transfer matrix: orthogonal effects of source and target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.transfer.decomposition import finite_matrix


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
        matrix = finite_matrix(returns)
        mean = float(matrix.mean())
        source_effect = matrix.mean(axis=1) - mean
        target_effect = matrix.mean(axis=0) - mean
        interaction = matrix - source_effect[:, None] - target_effect - mean
        return cls(mean, source_effect, target_effect, interaction)

    def matrix(self) -> NDArray[np.float64]:
        """Put the (M, N) matrix together again."""
        return self.mean + self.source_effect[:, None] + self.target_effect + self.interaction

    def variance_shares(self) -> dict[str, float]:
        """Share of the variance of J due to source, target and their interaction; sums to 1."""
        parts = {
            "source": float(self.source_effect.var()),
            "target": float(self.target_effect.var()),
            "interaction": float(self.interaction.var()),
        }
        total = sum(parts.values())
        return {name: (value / total if total > 0 else 0.0) for name, value in parts.items()}
