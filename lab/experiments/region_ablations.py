"""Measure the worth of each constant of the default selector, on the data sets of regions.

    python lab/experiments/region_ablations.py [--data regions-pendulum] [--out FILE.json]

Each constant of `RegionModel` is halved and doubled; the rest stays. Coverage at 2, 4, 8 and 12
units, mean over the data sets, their seeds and generalists; see judge_regions.py. None was tuned on
these data sets. Written to results/region-ablations.json.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from experiment import save_result
from generalists.data_sets import MARKS
from judge_regions import chosen, return_range, run_selector
from sdmbtl.selectors import GeneralistFirstSelector
from sdmbtl.selectors.models.region_model import RegionModel
from sdmbtl_lab.benchmarks.simulate_regions import generalist_runs
from sdmbtl_lab.matrices import RegionDataset

SHOWN = (2, 4, 8, 12)


def variations() -> dict[str, RegionModel]:
    """Return the model as it is, and with each constant halved and doubled."""
    usual = RegionModel()
    found = {"as it is": usual}
    for name, value in asdict(usual).items():
        for word, factor in (("half", 0.5), ("double", 2.0)):
            if name in ("prior", "prior_whole", "decay") and factor * value > 1:
                factor = 1.0 / value  # a share
            found[f"{name}: {word}"] = replace(usual, **{name: factor * value})
    return found


def coverage(dataset: RegionDataset, model: RegionModel) -> list[float]:
    """Measure the coverage at the marks, mean over seeds and generalists."""

    def make(data: RegionDataset, seed: int) -> GeneralistFirstSelector:
        selector = GeneralistFirstSelector(
            data.space, seed=seed, steps=data.unit, width=min(model.width, 0.99)
        )
        selector.model = replace(model, width=selector.width)
        return selector

    low, high = return_range(dataset)
    method, runs = run_selector(make), range(len(generalist_runs(dataset)))
    curves = [method(dataset, seed, run) for seed in range(dataset.seeds) for run in runs]
    means = np.array(curves, dtype=np.float64).mean(axis=0)
    return [float((means[MARKS.index(mark)] - low) / (high - low)) for mark in SHOWN]


def main() -> None:
    """Measure all variations."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", help="names; all that can judge if left out")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    data = chosen(given.data)
    found = {}
    for name, model in variations().items():
        found[name] = {dataset.name: coverage(dataset, model) for dataset in data}
        means = np.mean(list(found[name].values()), axis=0)
        print(f"{name}: {means.round(4)}", flush=True)
    content = {"marks": list(SHOWN), "constants": asdict(RegionModel()), "coverage": found}
    save_result("region-ablations", content, given.out, code=("sdmbtl.selectors",))


if __name__ == "__main__":
    main()
