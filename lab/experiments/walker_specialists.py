"""Compare ways to spend steps on BipedalWalker, from the data sets that ship.

    python lab/experiments/walker_specialists.py

One policy for all contexts, one per context from scratch (the matrix `bipedal-walker`), or
specialists that start from one generalist with a quarter of its steps (`regions-bipedal-walker`).
With several policies, the one with the highest mean of ten episodes serves each context, which
makes the number slightly too high. Written to results/walker-specialists.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from describe_matrices import ABLE
from experiment import save_result
from sdmbtl_lab.benchmarks import greedy_sources
from sdmbtl_lab.matrices import RegionDataset, TransferDataset, load_matrix, load_regions
from sdmbtl_lab.matrices.margins import oracle_sequence

#: Total steps of the comparison of few policies, in units: a unit is a policy from scratch.
UNITS = (2, 3, 4)

Floats = NDArray[np.floating[Any]]


def compare(points: TransferDataset, regions: RegionDataset) -> Iterator[tuple[str, float, Floats]]:
    """Yield name, units and (seeds, targets) returns of each way to spend the steps."""
    n, total = len(points.space), float(regions.steps.sum() / regions.unit)
    targets = {tuple(target): i for i, target in enumerate(regions.space.targets.tolist())}
    own = [
        regions.returns[:, number, targets[source.center]]
        for number, source in enumerate(regions.sources)
        if not regions.is_generalist[number]
    ]
    diagonal = points.returns.diagonal(axis1=1, axis2=2)
    yield "one policy for all", 1, regions.returns[:, regions.is_generalist][:, 0]
    yield "one policy for all, sees the context", 1, points.multi_task[1]
    yield "from scratch, each in its own context", n, diagonal
    yield "from the one for all, each in its own region", total, np.stack(own, axis=1)
    yield "from scratch, best of all in each context", n, points.returns.max(axis=1)
    yield "from the one for all, best in each context", total, regions.returns.max(axis=1)
    for units in UNITS:
        some = [rows[oracle_sequence(rows[None], units)].max(axis=0) for rows in points.returns]
        yield f"from scratch, {units} units, best choice", units, np.array(some)
        few = [
            rows[greedy_sources(regions, units * regions.unit, seed=seed)].max(axis=0)
            for seed, rows in enumerate(regions.returns)
        ]
        yield f"from the one for all, {units} units, best choice", units, np.array(few)


def main() -> None:
    """Compare and write."""
    least, _ = ABLE["BipedalWalker"]
    data = load_matrix("bipedal-walker"), load_regions("regions-bipedal-walker")
    ways = {
        name: {
            "units": units,
            "mean_return": float(returns.mean()),
            "share_that_walk": float((returns > least).mean()),
            "seeds": len(returns),
        }
        for name, units, returns in compare(*data)
    }
    save_result("walker-specialists", {"ways": ways})


if __name__ == "__main__":
    main()
