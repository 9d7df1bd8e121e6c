"""Full transfer matrices: every policy on every target, for one seed of training or several."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError


class TransferMatrices:
    """W full transfer matrices of one space: source n is target n.

    Args:
        space: The context space with its N targets.
        returns: (W, N, N) or (N, N) returns: matrix, source, target. float32 is kept as it is.

    Raises:
        MatrixError: If the shape does not fit the space, or a value is not finite.
    """

    def __init__(self, space: ContextSpace, returns: ArrayLike) -> None:
        try:
            array = np.asarray(returns)
            if not np.issubdtype(array.dtype, np.floating):
                array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise MatrixError(f"Transfer matrices must be arrays of numbers ({error}).") from None
        if array.ndim == 2:
            array = array[None]
        n = len(space)
        if array.ndim != 3 or array.shape[1:] != (n, n) or not len(array):
            raise MatrixError(
                f"Transfer matrices must have shape (matrices, {n}, {n}) for {n} targets. "
                f"Got shape {np.shape(returns)} instead."
            )
        if not all(np.isfinite(matrix).all() for matrix in array):
            number, source, target = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise MatrixError(
                f"Transfer matrices must be finite. Got {array[number, source, target]} in matrix "
                f"{number}, source {source}, target {target}. Use ObservedRows for partial data."
            )
        self.space = space
        self.returns: NDArray[np.floating] = array

    def __len__(self) -> int:
        return len(self.returns)

    def __getitem__(self, number: int) -> NDArray[np.floating]:
        """One (N, N) matrix."""
        return np.asarray(self.returns[number])

    def mean(self) -> NDArray[np.float64]:
        """(N, N) mean over the matrices."""
        return np.asarray(self.returns.mean(axis=0, dtype=np.float64))

    def normalised(self) -> TransferMatrices:
        """Scale all matrices together to 0..1; a constant matrix becomes zeros."""
        low, high = float(self.returns.min()), float(self.returns.max())
        return TransferMatrices(self.space, min_max(self.returns, low, high))

    def resampled(self, seed: int) -> NDArray[np.floating]:
        """Return an (N, N) matrix whose rows are each drawn from one of the matrices.

        Each row is one training run, so the rows of the matrices are exchangeable.
        """
        size = len(self.space)
        chosen = np.random.default_rng(seed).integers(len(self), size=size)
        return np.asarray(self.returns[chosen, np.arange(size)])


def min_max(values: NDArray[np.floating], low: float, high: float) -> NDArray[np.floating]:
    """Scale values so that `low` becomes 0 and `high` becomes 1; all 0 if they are equal."""
    width = high - low
    return (values - low) / (width if width > 0 else 1.0)
