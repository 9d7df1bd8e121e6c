"""Compare ways to spend training steps on the data sets of regions, without training.

    python lab/experiments/judge_regions.py [--data regions-pendulum] [--out FILE.json]

Coverage against total steps of `generalist-first`, of one generalist that is continued, of single
contexts chosen by `predictive` and at random, of random regions, and of the Myopic Oracle over
points and over regions. Every selector runs once for each generalist from scratch of each seed. The
nearest source of the data set answers a proposal: this compares selectors, while
against_generalists.py measures what they reach. Coverage uses the returns by which policies are
chosen, so it is slightly too high, most of all for the oracles.

Written to results/regions.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from experiment import save_result
from generalists.data_sets import MARKS
from sdmbtl.contexts import Source
from sdmbtl.environments import make_family
from sdmbtl.selectors import GeneralistFirstSelector, Proposal, Selector, make_selector
from sdmbtl.selectors.history import History
from sdmbtl_lab.benchmarks import greedy_sources, simulate_regions
from sdmbtl_lab.benchmarks.simulate_regions import generalist_runs
from sdmbtl_lab.matrices import RegionDataset, load_regions, region_names

#: Width of random regions.
WIDTH = 0.25

#: Mean best returns at the marks, None where nothing is paid for yet.
Curve = list[float | None]
#: Called with the data set, the seed and the run.
Method = Callable[[RegionDataset, int, int], Curve]


class RandomRegions(Selector):
    """Regions around random targets, from scratch."""

    name: ClassVar[str] = "random-regions"

    def propose(self, history: History) -> Proposal:
        """Draw a target that has no region yet."""
        taken = {trial.source.center for trial in history.trials}
        targets = [t for t in self.space.targets.tolist() if tuple(t) not in taken]
        if not targets:
            raise history.exhausted()
        center = targets[int(history.rng("region").integers(len(targets)))]
        return Proposal(Source.at(center, WIDTH), self.name, "A random target.")


def run_selector(make: Callable[[RegionDataset, int], Selector]) -> Method:
    """Return the method that runs a selector, made for a data set with a seed."""

    def method(dataset: RegionDataset, seed: int, run: int) -> Curve:
        selector = make(dataset, seed * len(generalist_runs(dataset)) + run)
        total = max(MARKS) * dataset.unit
        simulation = simulate_regions(selector, dataset, total, seed=seed, run=run)
        return [simulation.reached(mark * dataset.unit) for mark in MARKS]

    return method


def continue_generalist(dataset: RegionDataset, seed: int, run: int) -> Curve:
    """Train one policy for the whole space with all steps."""
    numbers = generalist_runs(dataset)[run]
    affordable = [
        [n for n in numbers if dataset.total_steps[n] <= mark * dataset.unit] for mark in MARKS
    ]
    return [float(dataset.returns[seed, some[-1]].mean()) if some else None for some in affordable]


def ask_oracle(*, points: bool) -> Method:
    """Return the Myopic Oracle over points from scratch, or over everything."""

    def method(dataset: RegionDataset, seed: int, run: int) -> Curve:
        del run  # the oracle knows the rows of all runs
        among = [
            number
            for number, source in enumerate(dataset.sources)
            if not points or (source.is_point and source.parent is None)
        ]
        low, rows = return_range(dataset)[0], dataset.returns[seed]
        taken = [
            greedy_sources(dataset, mark * dataset.unit, seed=seed, among=among, lowest=low)
            for mark in MARKS
        ]
        return [float(rows[some].max(axis=0).mean()) if some else None for some in taken]

    return method


METHODS: dict[str, Method] = {
    "generalist-first": run_selector(
        lambda d, s: GeneralistFirstSelector(d.space, seed=s, steps=d.unit)
    ),
    "generalist": continue_generalist,
    "regions: random": run_selector(lambda d, s: RandomRegions(d.space, seed=s)),
    "points: predictive": run_selector(lambda d, s: make_selector("predictive", d.space, seed=s)),
    "points: random": run_selector(lambda d, s: make_selector("random", d.space, seed=s)),
    "oracle: points": ask_oracle(points=True),
    "oracle: regions": ask_oracle(points=False),
}


def return_range(dataset: RegionDataset) -> tuple[float, float]:
    """Return the lowest and the highest return of an episode."""
    known = make_family(dataset.card["recipe"]["family"]["name"]).return_range
    if known is None:
        raise ValueError(f"The range of returns of {dataset.name} is not known.")
    return known


def judge(dataset: RegionDataset) -> dict[str, Any]:
    """Measure the coverage of every method at the marks, one curve per run of each seed."""
    low, high = return_range(dataset)
    found: dict[str, Any] = {}
    for name, method in METHODS.items():
        begun = time.process_time()
        runs = range(1 if name.startswith("oracle") else len(generalist_runs(dataset)))
        curves = [method(dataset, seed, run) for seed in range(dataset.seeds) for run in runs]
        coverage = [[None if r is None else (r - low) / (high - low) for r in c] for c in curves]
        seconds = round(time.process_time() - begun, 1)
        found[name] = {"coverage": coverage, "seconds": seconds}
        means = np.array(coverage, dtype=np.float64).mean(axis=0)
        print(f"{dataset.name}, {name}: {means.round(3)}, {seconds} s", flush=True)
    size = {"targets": len(dataset.space), "seeds": dataset.seeds, "unit": dataset.unit}
    return {**size, "return_range": [low, high], "methods": found}


def chosen(names: list[str] | None) -> list[RegionDataset]:
    """Load these data sets; by default all with points from scratch next to the generalists."""
    every = [load_regions(name) for name in names or region_names()]
    return [d for d in every if names or any(s.is_point and s.parent is None for s in d.sources)]


def main() -> None:
    """Judge on all data sets, or some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", help="names or paths; all that can judge if left out")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    data = {dataset.name: judge(dataset) for dataset in chosen(given.data)}
    code = ("sdmbtl.selectors", "sdmbtl_lab.benchmarks.simulate_regions")
    save_result("regions", {"marks": list(MARKS), "data": data}, given.out, code=code)


if __name__ == "__main__":
    main()
