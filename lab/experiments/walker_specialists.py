"""BipedalWalker: one policy for all contexts, one for each from scratch, or narrow ones from one.

    python lab/experiments/walker_specialists.py [--out results/walker-specialists.json]

Reads what ships: the matrix `bipedal-walker`, with a policy from scratch on each context and one on
all of them that sees the context; and `regions-bipedal-walker`, with a generalist of as many steps
and, around each context, a specialist that starts from it with a quarter of the steps. Prints and
writes the mean return over all contexts, and on how many of them the policy walks. Where several
policies are there, each context is served by the one with the highest mean return in its ten
episodes, which makes the number a little too high.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds import save_result
from describe_matrices import ABLE
from sdmbtl.selectors.oracle_selector import oracle_sequence
from sdmbtl_lab.benchmarks import greedy_sources
from sdmbtl_lab.matrices import RegionDataset, TransferDataset, load_matrix, load_regions

RESULT = Path(__file__).parents[2] / "results" / "walker-specialists.json"
#: Total steps of the comparison of few policies, in units: a unit is a policy from scratch.
UNITS = (2, 3, 4)

Floats = NDArray[np.floating[Any]]


def describe(returns: Floats, units: float) -> dict[str, Any]:
    """Mean and share of walkers of (seeds, targets) returns."""
    least, _ = ABLE["BipedalWalker"]
    return {
        "units": units,
        "mean_return": float(returns.mean()),
        "share_that_walk": float((returns > least).mean()),
        "seeds": len(returns),
    }


def compare(
    points: TransferDataset, regions: RegionDataset
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and numbers of each way to spend the steps."""
    n = len(points.space)
    whole = regions.is_generalist
    generalist = regions.returns[:, whole][:, 0]
    total = float(regions.steps.sum() / regions.unit)
    yield "one policy for all", describe(generalist, 1)
    yield "one policy for all, sees the context", describe(points.multi_task[1], 1)
    yield "from scratch, each in its own context", describe(_own(points), n)
    yield "from the one for all, each in its own region", describe(_own_regions(regions), total)
    yield "from scratch, best of all in each context", describe(points.returns.max(axis=1), n)
    yield "from the one for all, best in each context", describe(regions.returns.max(axis=1), total)
    for units in UNITS:
        some = [rows[oracle_sequence(rows[None], units)].max(axis=0) for rows in points.returns]
        yield f"from scratch, {units} units, best choice", describe(np.array(some), units)
        few = [
            rows[greedy_sources(regions, units * regions.unit, seed=seed)].max(axis=0)
            for seed, rows in enumerate(regions.returns)
        ]
        yield f"from the one for all, {units} units, best choice", describe(np.array(few), units)


def _own(points: TransferDataset) -> Floats:
    """(seeds, targets) of each policy where it was trained."""
    return points.returns.diagonal(axis1=1, axis2=2)


def _own_regions(regions: RegionDataset) -> Floats:
    """(seeds, specialists) of each specialist on the target that its region is around."""
    targets = {tuple(target): n for n, target in enumerate(regions.space.targets.tolist())}
    own = [
        regions.returns[:, number, targets[source.center]]
        for number, source in enumerate(regions.sources)
        if not regions.is_generalist[number]
    ]
    return np.stack(own, axis=1)


def main() -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", default="bipedal-walker")
    parser.add_argument("--regions", default="regions-bipedal-walker")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    found = dict(compare(load_matrix(given.points), load_regions(given.regions)))
    for name, numbers in found.items():
        print(
            f"{name:46} {numbers['units']:5.2f} units, return {numbers['mean_return']:6.1f}, "
            f"{numbers['share_that_walk']:.0%} walk"
        )
    result = {"command": "python lab/experiments/walker_specialists.py", "ways": found}
    save_result(result, given.out, simulation="sdmbtl_lab.benchmarks.simulate_regions")


if __name__ == "__main__":
    main()
