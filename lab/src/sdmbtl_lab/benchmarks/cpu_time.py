"""What the choice of each policy costs, in CPU time, on a data set."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors import make_selector
from sdmbtl_lab.matrices import TransferDataset


@dataclass(frozen=True)
class CpuTime:
    """CPU time of selectors on one data set, training not included.

    Attributes:
        data: Name of the data set.
        targets: How many it has.
        seconds: Selector -> (K,) of each round: choosing a source and taking in its row.
    """

    data: str
    targets: int
    seconds: Mapping[str, NDArray[np.float64]]


def measure_cpu_time(
    dataset: TransferDataset, selectors: Sequence[str], *, policies: int
) -> CpuTime:
    """Run selectors on the mean matrix of a data set.

    Args:
        dataset: The data set.
        selectors: Their names.
        policies: Number of rounds, at most that of the targets.
    """
    returns = dataset.matrices.normalised().mean()
    found = {name: _rounds(name, dataset, returns, policies) for name in selectors}
    return CpuTime(dataset.name, len(dataset.space), found)


def _rounds(
    name: str, dataset: TransferDataset, returns: NDArray[np.float64], policies: int
) -> NDArray[np.float64]:
    """(K,) seconds."""
    selector = make_selector(name, dataset.space, seed=0)
    seconds = np.empty(policies)
    for number in range(policies):
        began = time.process_time()
        trial = selector.ask()
        index = dataset.space.nearest(trial.context) if trial.index is None else trial.index
        selector.tell(trial, returns[index])
        seconds[number] = time.process_time() - began
    return seconds
