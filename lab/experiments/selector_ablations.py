"""Ablations of `predictive`: the value of each constant, and the score with another one.

    python lab/experiments/selector_ablations.py            # every constant, about an hour
    python lab/experiments/selector_ablations.py --short    # fewer matrices

Scores: 0 is random choice, 1 the Myopic Oracle, both as in results/selectors. Constants are varied
on `TUNED` real matrices and on synthetic matrices with seeds from 1000 on. The defaults are also
measured on the other real matrices and on the paper's seeds: choose nothing on those. Most
constants are older than this rule. Written to results/selector-ablations.json after each row.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiment import RESULTS, read_result, save_result
from sdmbtl.selectors.models import LinearGapModel, PlateauModel, RowModel
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl_lab.benchmarks import paper_configurations
from sdmbtl_lab.benchmarks.problem import MatrixProblem, Problem
from sdmbtl_lab.benchmarks.simulate import simulate

TUNED = ("cartpole-5d", "mountain-car", "cartpole-wide")
HELD_OUT = ("cartpole-forces", "pendulum", "bipedal-walker")
#: First seed of the matrices that constants are varied on.
OWN_SEEDS = 1000
MODELS = "sdmbtl.selectors.models"
SELECTOR = "sdmbtl.selectors.predictive_selector"
#: Constants of a module: where, name, other values.
OF_MODULES: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    (SELECTOR, "SOME_TARGETS", (96, 384)),
    (SELECTOR, "FINALISTS", (32, 128)),
    (f"{MODELS}.model", "LEAST_SPREAD", (1e-5, 1e-3)),
    (f"{MODELS}.failures", "FAILING", (0.0, 0.1)),
    (f"{MODELS}.failures", "LEAST_NOISE", (0.005, 0.02)),
    (f"{MODELS}.failures", "LEAST_SOUND", (2, 6)),
    (f"{MODELS}.smooth_effect", "LENGTHS", ((0.3, 1.2), (0.6,))),
    (f"{MODELS}.smooth_effect", "NOISES", (np.array([0.2, 0.8]), np.array([0.5]))),
    (f"{MODELS}.smooth_effect", "LINEAR", (0.0, 4.0)),
)
#: Settings of the models.
OF_PLATEAU: dict[str, tuple[Any, ...]] = {
    "reaches": ((0.1, 0.4, 1.6), (0.2, 0.8)),
    "sweeps": (1, 4),
    "far_share": (0.1, 0.4),
    "pairs": (1000, 4000),
}
OF_LINEAR_GAP: dict[str, tuple[Any, ...]] = {"ridge": (1e-6, 1e-3)}


def scores(
    problem: Problem, part: str, policies: Sequence[int], seeds: range, models: Sequence[RowModel]
) -> list[float]:
    """Return the mean score with each number of policies, over matrices of a problem."""
    (known,) = (
        p
        for p in read_result("", RESULTS / "selectors" / f"{part}.json")["problems"]
        if p["name"] == problem.name
    )
    reached = np.empty((len(seeds), len(policies)))
    for number, seed in enumerate(seeds):
        selector = PredictiveSelector(problem.space, seed=seed, models=models)
        curve = simulate(selector, problem.matrix(seed), policies[-1]).curve
        for place, k in enumerate(policies):
            at = {n: known["selectors"][n]["at"][str(k)] for n in ("random", "myopic-oracle")}
            low, high = (at[n]["final"]["mean"] for n in ("random", "myopic-oracle"))
            share = (curve[k - 1] - known["low"]) / (known["high"] - known["low"])
            reached[number, place] = (share - low) / (high - low)
    return [float(mean) for mean in reached.mean(axis=0)]


def measure(
    real: Sequence[str], first_seed: int, draws: int, trials: int, models: Sequence[RowModel]
) -> dict[str, Any]:
    """Return the scores of a selector with these models on real and on synthetic matrices."""
    by_name = {
        name: scores(
            MatrixProblem(name), "real", (6, 12), range(first_seed, first_seed + draws), models
        )
        for name in real
    }
    found: dict[str, Any] = {"real": by_name, "draws": draws, "matrices": trials}
    for policies, values in zip((6, 12), zip(*by_name.values(), strict=True), strict=True):
        found[f"real, {policies} policies"] = float(np.mean(values))
    for noise in (5, 30):
        kinds = paper_configurations(3, float(noise))
        seeds = range(first_seed, first_seed + trials)
        part = f"synthetic-3d-noise{noise}"
        means = [scores(kind, part, (50,), seeds, models)[0] for kind in kinds]
        found[f"synthetic, noise {noise}"] = float(np.mean(means))
    return found


def main() -> None:
    """Measure the defaults, then every other value of every constant."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="fewer matrices")
    draws, trials = (6, 1) if parser.parse_args().short else (30, 5)
    default = (PlateauModel(), LinearGapModel())
    content: dict[str, Any] = {"ablations": []}

    def save() -> None:
        save_result("selector-ablations", content, code=("sdmbtl.selectors",))

    def vary(name: str, value: Any, models: Sequence[RowModel]) -> None:
        found = measure(TUNED, OWN_SEEDS, draws, trials, models)
        content["ablations"].append({"constant": name, "value": value, **found})
        save()

    content["defaults"] = measure(TUNED, OWN_SEEDS, draws, trials, default)
    content["held_out"] = measure(HELD_OUT, 0, 2 * draws, 2 * trials, default)
    save()
    for model in default:
        others = [other for other in default if other is not model]
        vary("models", [other.name for other in others], others)
    for name, values in OF_PLATEAU.items():
        for value in values:
            vary(f"plateau.{name}", value, (PlateauModel(**{name: value}), default[1]))
    for name, values in OF_LINEAR_GAP.items():
        for value in values:
            vary(f"linear-gap.{name}", value, (default[0], LinearGapModel(**{name: value})))
    for place, name, values in OF_MODULES:
        module = importlib.import_module(place)
        before = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            vary(name, value, default)
        setattr(module, name, before)


if __name__ == "__main__":
    main()
