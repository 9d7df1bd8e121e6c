"""Measurements of selectors on a data set: CPU time, and performance on resampled matrices."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks.simulate import simulate
from sdmbtl_lab.matrices import TransferDataset


@dataclass(frozen=True)
class CpuTime:
    """CPU time of selectors on one data set, training not included.

    Attributes:
        data: Name of the data set.
        targets: Number of targets.
        seconds: Selector -> (K,) seconds of each round: an ask and its tell.
    """

    data: str
    targets: int
    seconds: Mapping[str, NDArray[np.float64]]


def measure_cpu_time(
    dataset: TransferDataset, selectors: Sequence[str], *, policies: int
) -> CpuTime:
    """Time selectors on the mean matrix of a data set."""
    returns = dataset.matrices.normalised().mean()
    found = {}
    for name in selectors:
        selector = make_selector(name, dataset.space, seed=0)
        seconds = np.empty(policies)
        for number in range(policies):
            began = time.process_time()
            trial = selector.ask()
            index = dataset.space.nearest(trial.context) if trial.index is None else trial.index
            selector.tell(trial, returns[index])
            seconds[number] = time.process_time() - began
        found[name] = seconds
    return CpuTime(dataset.name, len(dataset.space), found)


@dataclass(frozen=True)
class Distribution:
    """Performance of a selector, with the range of returns of the data set as 0 to 1.

    Attributes:
        selector: Its name.
        policies: Number of policies.
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
    """Run a selector on every seed of a data set, and on matrices drawn from them."""
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
