"""Sums over all pairs of complete rows, from which slopes of the gap are estimated.

With complete rows the difficulty of a target and the quality of a policy are fixed effects that
can be removed exactly: subtract each target's mean, or each target's and each policy's, from the
returns and from the signed differences alike (within estimator). A row adds a handful of sums,
so a selector pays for the new row only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.transfer.slopes import signed_differences


@dataclass(frozen=True)
class GapSums:
    """Sums over k rows; features are the signed differences [x - y]_- and [x - y]_+.

    Attributes:
        space: The context space.
        target_features: (N, 2 D) sum over the policies of the features of each target.
        target_returns: (N,) sum over the policies of the returns on each target.
        row_features: (k, 2 D) mean over the targets of the features of each policy.
        row_returns: (k,) mean over the targets of the returns of each policy.
        products: (2 D, 2 D) sum of the products of the features.
        moments: (2 D,) sum of the products of features and returns.
        squares: Sum of the squared returns.
        offset: What was subtracted from every return, to keep digits.
    """

    space: ContextSpace
    target_features: NDArray[np.float64]
    target_returns: NDArray[np.float64]
    row_features: NDArray[np.float64]
    row_returns: NDArray[np.float64]
    products: NDArray[np.float64]
    moments: NDArray[np.float64]
    squares: float
    offset: float

    @classmethod
    def empty(cls, space: ContextSpace) -> GapSums:
        """The sums of no rows."""
        n, width = len(space), 2 * space.n_dimensions
        return cls(
            space,
            np.zeros((n, width)),
            np.zeros(n),
            np.zeros((0, width)),
            np.zeros(0),
            np.zeros((width, width)),
            np.zeros(width),
            0.0,
            0.0,
        )

    def __len__(self) -> int:
        return len(self.row_returns)

    def added(self, source: NDArray[np.float64], row: NDArray[np.float64]) -> GapSums:
        """These sums and one more complete row.

        Args:
            source: (D,) where its policy was trained, in unit coordinates.
            row: (N,) its returns.
        """
        offset = self.offset if len(self) else float(row.mean())
        features = signed_differences(source, self.space.unit_targets)
        returns = row - offset
        return GapSums(
            self.space,
            self.target_features + features,
            self.target_returns + returns,
            np.concatenate([self.row_features, features.mean(axis=0)[None]]),
            np.concatenate([self.row_returns, [returns.mean()]]),
            self.products + features.T @ features,
            self.moments + features.T @ returns,
            self.squares + float(returns @ returns),
            offset,
        )

    @property
    def target_means(self) -> NDArray[np.float64]:
        """(N,) mean return on each target."""
        return self.target_returns / len(self) + self.offset

    def regression(
        self, *, free_quality: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Normal equations of the returns on the features, fixed effects removed.

        Args:
            free_quality: Whether policies may differ by any amount on all targets alike; then
                their means are removed too.

        Returns:
            (2 D, 2 D) matrix, (2 D,) right side, and the sum of squares of the returns.
        """
        k = len(self)
        normal = self.products - self.target_features.T @ self.target_features / k
        moment = self.moments - self.target_features.T @ self.target_returns / k
        squares = self.squares - float(self.target_returns @ self.target_returns) / k
        if free_quality:
            n = len(self.space)
            features = self.row_features - self.row_features.mean(axis=0)
            returns = self.row_returns - self.row_returns.mean()
            normal = normal - n * features.T @ features
            moment = moment - n * features.T @ returns
            squares -= n * float(returns @ returns)
        return normal, moment, max(squares, 0.0)

    def row_residuals(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k,) what each policy is better than the features say, on average over the targets."""
        features = self.row_features - self.row_features.mean(axis=0)
        return np.asarray(
            self.row_returns - self.row_returns.mean() - features @ coefficients, dtype=np.float64
        )
