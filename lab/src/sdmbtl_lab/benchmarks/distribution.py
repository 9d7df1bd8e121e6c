"""How a selector does on the seeds of a data set, and on matrices that are drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks.simulate import simulate
from sdmbtl_lab.matrices import TransferDataset


@dataclass(frozen=True)
class Distribution:
    """Performance of a selector, with the range of returns of the data set as 0 to 1.

    Attributes:
        selector: Its name.
        policies: With so many policies.
        real: (W,) on the matrix of each seed.
        drawn: (n,) on matrices whose rows come from one of the seeds each.
    """

    selector: str
    policies: int
    real: NDArray[np.float64]
    drawn: NDArray[np.float64]


def measure_distribution(
    dataset: TransferDataset, selector: str, *, policies: int, matrices: int
) -> Distribution:
    """Run a selector on every seed of a data set, and on matrices drawn from them.

    Args:
        dataset: With two seeds at least, otherwise all drawn ones are the same.
        selector: Its name.
        policies: Number of policies.
        matrices: Number of matrices to draw.
    """
    scaled = dataset.matrices.normalised()
    seeds = [derived_seed(0, f"rows of {dataset.name}", number) for number in range(matrices)]

    def performance(returns: NDArray[np.floating]) -> float:
        made = make_selector(selector, dataset.space, seed=0)
        return simulate(made, returns, policies).curve[-1]

    return Distribution(
        selector,
        policies,
        real=np.array([performance(returns) for returns in scaled.returns]),
        drawn=np.array([performance(scaled.resampled(seed)) for seed in seeds]),
    )
