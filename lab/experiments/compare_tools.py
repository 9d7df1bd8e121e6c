"""Tools of others beside ours: Optuna's samplers choose contexts, Syllabus replays levels.

    python lab/experiments/compare_tools.py [--matrices 10]     # needs optuna, cmaes, torch, syllabus-rl
    python lab/experiments/compare_tools.py --only replay       # one part; the other stays as it is
    python lab/experiments/compare_tools.py --only samplers --data crop     # one data set; others stay

**Optuna**, on known transfer matrices. A sampler suggests the level of each dimension. It is told
the mean over all targets of the best return so far, or what its context has added to that; every
policy is kept, as for the selectors. What it suggests twice is trained twice. Real data: matrices
whose rows are drawn from the seeds, scaled to 0..1. Synthetic: the paper's 3D configurations with
noise 5.

**Syllabus**: how likely its prioritised level replay takes each of some levels, by their scores,
and how often ours does (what stale levels get on top is left out; ours has none).

Written to results/compare-tools.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.contexts.regions import draw_lowest
from sdmbtl.files import write_atomically
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import make_selector
from sdmbtl.software import versions
from sdmbtl_lab.benchmarks import paper_configurations, simulate
from sdmbtl_lab.matrices import load_matrix, matrix_names

RESULT = Path(__file__).parents[2] / "results" / "compare-tools.json"
POLICIES = (6, 12)
#: Of a dozen trials Optuna's usual ten would all be random.
STARTUP = 3
#: Matrices of each synthetic configuration.
SYNTHETIC = 2
OURS = ("random", "m/gp-mbtl", "auto")
#: Of the comparison with Syllabus; the temperature is that of our draws.
LEVELS, DRAWS, TEMPERATURE = 20, 100_000, 0.3

Floats = NDArray[np.float64]
#: Name of the synthetic data.
SYNTHETIC_NAME = "synthetic 3D, noise 5"
#: (space, (N, N) returns, seed) -> performance after each policy.
Method = Callable[[ContextSpace, Floats, int], list[float]]


def main() -> None:
    """Measure both parts, or one of them, and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--matrices", type=int, default=10)
    parser.add_argument("--only", choices=("samplers", "replay"), help="measure this part alone")
    parser.add_argument("--data", nargs="+", choices=matrix_names(), help="with --only samplers")
    given = parser.parse_args()
    document = json.loads(RESULT.read_text()) if given.only else {}
    if given.only != "replay":
        before = document["samplers"]["performance"] if given.data else {}
        found = compare_samplers(given.matrices, given.data)
        performance = {**before, **found["performance"]}
        names = [*(n for n in matrix_names() if n in performance), SYNTHETIC_NAME]
        found["performance"] = {name: performance[name] for name in names}
        document["samplers"] = found
    if given.only != "samplers":
        document["replay"] = compare_replay()
        print(document["replay"])
    found = versions(("sdmbtl", "numpy", "optuna", "cmaes", "torch", "syllabus-rl"))
    document["software"] = {**document.get("software", {}), **found}
    write_atomically(RESULT, json.dumps(document, indent=1).encode())


def compare_samplers(matrices: int, only: list[str] | None = None) -> dict[str, Any]:
    """Performance of selectors and samplers on each data set, with each number of policies."""
    methods = {**{name: ours(name) for name in OURS}, **optuna_methods()}
    measured: dict[str, dict[str, list[float]]] = {}
    for data, space, made in problems(matrices, only):
        curves = {
            name: np.mean([run(space, m, seed) for seed, m in enumerate(made)], axis=0)
            for name, run in methods.items()
        }
        curves["myopic-oracle"] = np.mean([best_next(m) for m in made], axis=0)
        measured[data] = {
            name: [round(float(curve[k - 1]), 4) for k in POLICIES]
            for name, curve in curves.items()
        }
        print(data, measured[data], flush=True)
    return {
        "policies": POLICIES,
        "matrices": {"real": matrices, "synthetic": 8 * SYNTHETIC},
        "performance": measured,
    }


def compare_replay() -> dict[str, float]:
    """How far two distributions over levels are apart: Syllabus's, and what ours draws."""
    from syllabus.curricula.plr.task_sampler import TaskSampler

    returns = np.random.default_rng(0).normal(size=LEVELS)
    theirs = TaskSampler(list(range(LEVELS)), 1, temperature=TEMPERATURE, staleness_coef=0.0)
    theirs.task_scores = (-returns).astype(np.float32)  # a high score is a level to replay
    theirs.unseen_task_weights = np.zeros(LEVELS)
    rng = np.random.default_rng(1)
    drawn = [int(draw_lowest(returns, 1, rng, TEMPERATURE)[0]) for _ in range(DRAWS)]
    shares = np.bincount(drawn, minlength=LEVELS) / DRAWS
    distance = 0.5 * float(np.abs(shares - theirs.sample_weights()).sum())
    return {
        "levels": LEVELS,
        "draws": DRAWS,
        "temperature": TEMPERATURE,
        "total variation distance": round(distance, 4),
    }


def problems(
    matrices: int, only: list[str] | None = None
) -> Iterator[tuple[str, ContextSpace, list[Floats]]]:
    """Name, contexts and (N, N) matrices of each data set, or only of some of the shipped ones."""
    for name in only or matrix_names():
        dataset = load_matrix(name)
        scaled = dataset.matrices.normalised()
        seeds = [derived_seed(0, f"rows of {name}", number) for number in range(matrices)]
        yield name, dataset.space, [np.asarray(scaled.resampled(seed)) for seed in seeds]
    if only:
        return
    kinds = paper_configurations(3, noise=5.0)
    drawn = [_scaled(kind.matrix(number)) for kind in kinds for number in range(SYNTHETIC)]
    yield SYNTHETIC_NAME, kinds[0].space, drawn


def _scaled(matrix: NDArray[np.floating]) -> Floats:
    low, high = float(matrix.min()), float(matrix.max())
    return np.asarray((matrix - low) / (high - low), dtype=np.float64)


def ours(name: str) -> Method:
    """One of our selectors."""

    def run(space: ContextSpace, returns: Floats, seed: int) -> list[float]:
        return simulate(make_selector(name, space, seed=seed), returns, max(POLICIES)).curve

    return run


def best_next(returns: Floats) -> list[float]:
    """Performance of who knows the matrix, and takes the best next context each time."""
    best, curve = np.full(returns.shape[1], -np.inf), []
    for _ in range(max(POLICIES)):
        index = int(np.maximum(returns, best).mean(axis=1).argmax())
        best = np.maximum(best, returns[index])
        curve.append(float(best.mean()))
    return curve


def optuna_methods() -> dict[str, Method]:
    """Optuna's samplers, by what they are told."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    samplers: dict[str, Callable[[int], Any]] = {
        "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
        "QMC": lambda seed: optuna.samplers.QMCSampler(seed=seed, scramble=True),
        "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP),
        "CMA-ES": lambda seed: optuna.samplers.CmaEsSampler(seed=seed, n_startup_trials=STARTUP),
        "GP": lambda seed: optuna.samplers.GPSampler(seed=seed, n_startup_trials=STARTUP),
    }
    told = {name: (sampler, False) for name, sampler in samplers.items()}
    told |= {f"{name}, told the gain": (samplers[name], True) for name in ("TPE", "GP")}
    return {f"Optuna {name}": with_optuna(*how) for name, how in told.items()}


def with_optuna(sampler: Callable[[int], Any], tell_gain: bool) -> Method:
    """A sampler that suggests one context after another."""
    import optuna

    def run(space: ContextSpace, returns: Floats, seed: int) -> list[float]:
        study = optuna.create_study(direction="maximize", sampler=sampler(seed))
        best, curve = np.full(returns.shape[1], -np.inf), [0.0]
        for _ in range(max(POLICIES)):
            trial = study.ask()
            best = np.maximum(best, returns[suggested(trial, space)])
            curve.append(float(best.mean()))
            study.tell(trial, curve[-1] - curve[-2] if tell_gain else curve[-1])
        return curve[1:]

    return run


def suggested(trial: Any, space: ContextSpace) -> int:
    """The number of the target that a trial is at: levels of a grid, or the nearest of a list."""
    context = {}
    for number, (name, dimension) in enumerate(space.dimensions.items()):
        if isinstance(dimension, Levels):
            level = trial.suggest_int(name, 0, len(dimension.values) - 1)
            context[name] = float(dimension.values[level])
        else:
            values = space.targets[:, number]
            context[name] = trial.suggest_float(name, float(values.min()), float(values.max()))
    return space.nearest(context)


if __name__ == "__main__":
    main()
