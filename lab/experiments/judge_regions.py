"""Judge selectors of regions on the shipped data sets of regions: in seconds, without training.

    python lab/experiments/judge_regions.py [--data regions-pendulum ...] [--out results/regions.json]

Coverage (the mean best return, as a share of the range of returns) against total steps, in units
of what the trainer takes for one policy: of the default selector, a generalist that is only
continued, regions and points at random, points chosen by `auto`, and the Myopic Oracles over points
and over regions. Every selector is run once for each generalist from scratch of each seed. What it
proposes is answered with the nearest source that there is, so this compares selectors; what they
reach is measured by against_generalists.py. The returns are those that policies are chosen by, so
coverage is a little too high, most of all that of the oracles, which know every row.

Written to results/regions.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bounds import save_result
from generalists.data_sets import MARKS
from sdmbtl.contexts import Source
from sdmbtl.environments import make_family
from sdmbtl.selectors import GeneralistFirstSelector, Proposal, Selector, make_selector
from sdmbtl.selectors.history import History
from sdmbtl.wording import counted
from sdmbtl_lab.benchmarks import greedy_sources, simulate_regions
from sdmbtl_lab.benchmarks.simulate_regions import generalist_runs
from sdmbtl_lab.matrices import RegionDataset, load_regions, region_names

RESULT = Path(__file__).parents[2] / "results" / "regions.json"
#: Width of regions at random.
WIDTH = 0.25

#: Mean best returns at the marks, None where nothing is paid for yet.
Curve = list[float | None]
#: Called with the data set, the seed and the run.
Method = Callable[[RegionDataset, int, int], Curve]


class RandomRegions(Selector):
    """Regions around targets at random, from scratch."""

    name: ClassVar[str] = "random-regions"

    def propose(self, history: History) -> Proposal:
        """Draw a target that has no region yet."""
        taken = {trial.source.center for trial in history.trials}
        targets = [t for t in self.space.targets.tolist() if tuple(t) not in taken]
        if not targets:
            raise history.exhausted()
        center = targets[int(history.rng("region").integers(len(targets)))]
        return Proposal(Source.at(center, WIDTH), self.name, "A target at random.")


def run_selector(make: Callable[[RegionDataset, int], Selector]) -> Method:
    """The method that runs a selector, made for a data set with a seed."""

    def method(dataset: RegionDataset, seed: int, run: int) -> Curve:
        selector = make(dataset, seed * len(generalist_runs(dataset)) + run)
        total = max(MARKS) * dataset.unit
        simulation = simulate_regions(selector, dataset, total, seed=seed, run=run)
        return [simulation.reached(mark * dataset.unit) for mark in MARKS]

    return method


def continue_generalist(dataset: RegionDataset, seed: int, run: int) -> Curve:
    """One policy for the whole space, with the steps that there are."""
    numbers = generalist_runs(dataset)[run]
    affordable = [
        [n for n in numbers if dataset.total_steps[n] <= mark * dataset.unit] for mark in MARKS
    ]
    return [float(dataset.returns[seed, some[-1]].mean()) if some else None for some in affordable]


def ask_oracle(*, points: bool) -> Method:
    """The Myopic Oracle over points from scratch, or over everything, with each mark's budget."""

    def method(dataset: RegionDataset, seed: int, run: int) -> Curve:
        del run  # the rows of all are known
        among = [
            number
            for number, source in enumerate(dataset.sources)
            if not points or (source.is_point and source.parent is None)
        ]
        low = return_range(dataset)[0]
        rows = dataset.returns[seed]
        taken = [
            greedy_sources(dataset, mark * dataset.unit, seed=seed, among=among, lowest=low)
            for mark in MARKS
        ]
        return [float(rows[some].max(axis=0).mean()) if some else None for some in taken]

    return method


#: Name in the result -> what is judged, and whether it is the same for every run.
METHODS: dict[str, tuple[Method, bool]] = {
    "generalist-first": (
        run_selector(lambda d, s: GeneralistFirstSelector(d.space, seed=s, steps=d.unit)),
        False,
    ),
    "generalist": (continue_generalist, False),
    "regions: random": (run_selector(lambda d, s: RandomRegions(d.space, seed=s)), False),
    "points: auto": (run_selector(lambda d, s: make_selector("auto", d.space, seed=s)), False),
    "points: random": (run_selector(lambda d, s: make_selector("random", d.space, seed=s)), False),
    "oracle: points": (ask_oracle(points=True), True),
    "oracle: regions": (ask_oracle(points=False), True),
}


def return_range(dataset: RegionDataset) -> tuple[float, float]:
    """Lowest and highest return of an episode."""
    known = make_family(dataset.card["recipe"]["family"]["name"]).return_range
    if known is None:
        raise ValueError(f"The range of returns of {dataset.name} is not known.")
    return known


def judge(dataset: RegionDataset, method: Method, *, once: bool) -> list[list[float | None]]:
    """Coverage at the marks: a list for each run of each seed, one for each seed if `once`."""
    low, high = return_range(dataset)
    runs = range(1 if once else len(generalist_runs(dataset)))
    curves = [method(dataset, seed, run) for seed in range(dataset.seeds) for run in runs]
    return [[None if r is None else (r - low) / (high - low) for r in curve] for curve in curves]


def judge_all(dataset: RegionDataset) -> dict[str, Any]:
    """Everything about one data set, as JSON data; prints as it goes."""
    seeds = counted(dataset.seeds, "seed")
    print(f"{dataset.name}: {len(dataset.space)} targets, {seeds}, units {MARKS}")
    found: dict[str, Any] = {}
    for name, (method, once) in METHODS.items():
        begun = time.process_time()
        curves = judge(dataset, method, once=once)
        seconds = time.process_time() - begun
        found[name] = {"coverage": curves, "seconds": round(seconds, 1)}
        means = np.array(curves, dtype=np.float64).mean(axis=0)
        shown = " ".join("  –  " if np.isnan(mean) else f"{mean:.3f}" for mean in means)
        print(f"  {name:18} {shown}   {seconds:.1f} s", flush=True)
    size = {"targets": len(dataset.space), "seeds": dataset.seeds, "unit": dataset.unit}
    return {**size, "return_range": list(return_range(dataset)), "methods": found}


def can_judge(dataset: RegionDataset) -> bool:
    """Whether there is something to choose: points from scratch beside the generalists."""
    return any(source.is_point and source.parent is None for source in dataset.sources)


def main() -> None:
    """Judge on all data sets, or some, and write everything down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", help="names or paths; all that can judge if left out")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    chosen = [load_regions(name) for name in given.data or region_names()]
    data = {d.name: judge_all(d) for d in chosen if given.data or can_judge(d)}
    command = "python lab/experiments/judge_regions.py"
    result = {"command": command, "marks": list(MARKS), "data": data}
    save_result(result, given.out, simulation="sdmbtl_lab.benchmarks.simulate_regions")


if __name__ == "__main__":
    main()
