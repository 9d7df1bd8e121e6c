"""Let Optuna's samplers choose contexts, and compare with our selectors on known matrices.

    python lab/experiments/compare_tools.py [--matrices 10] [--data crop]     # needs optuna, cmaes

A sampler suggests the level of each dimension. It gets the mean over all targets of the best
return so far, or the gain of its context over that. Every policy is kept, as for the selectors; a
context that is suggested twice is trained twice. Real data: matrices whose rows are drawn from the
seeds, scaled to 0..1. Synthetic data: the paper's 3D configurations with noise 5.

Written to results/compare-tools.json; data sets that are not asked for stay.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import read_result, save_result
from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks import paper_configurations, simulate
from sdmbtl_lab.matrices import load_matrix, matrix_names
from sdmbtl_lab.matrices.margins import oracle_curve

POLICIES = (6, 12)
#: Optuna's usual ten random trials would be nearly all of a dozen.
STARTUP = 3
OURS = ("random", "m/gp-mbtl-unbiased", "predictive")
SYNTHETIC = "synthetic 3D, noise 5"
#: Matrices of each synthetic configuration.
SYNTHETIC_MATRICES = 2

Floats = NDArray[np.float64]
#: (space, (N, N) returns, seed) -> performance after each policy.
Method = Callable[[ContextSpace, Floats, int], list[float]]


def compare(matrices: int, names: list[str]) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Yield the performance of every method on each data set, for each number of policies."""
    methods = {**{name: with_selector(name) for name in OURS}, **optuna_methods()}
    for data, space, made in problems(matrices, names):
        curves = {
            name: np.mean([run(space, m, seed) for seed, m in enumerate(made)], axis=0)
            for name, run in methods.items()
        }
        best = [oracle_curve(m[None], max(POLICIES)) for m in made]
        curves["myopic-oracle"] = np.mean(best, axis=0)
        found = {n: [round(float(c[k - 1]), 4) for k in POLICIES] for n, c in curves.items()}
        print(data, found, flush=True)
        yield data, found


def problems(matrices: int, names: list[str]) -> Iterator[tuple[str, ContextSpace, list[Floats]]]:
    """Yield name, contexts and (N, N) matrices, scaled to 0..1, of each data set."""
    for name in names:
        if name == SYNTHETIC:
            kinds = paper_configurations(3, noise=5.0)
            drawn = [kind.matrix(n) for kind in kinds for n in range(SYNTHETIC_MATRICES)]
            scaled = [np.asarray((m - m.min()) / (m.max() - m.min())) for m in drawn]
            yield name, kinds[0].space, scaled
        else:
            dataset = load_matrix(name)
            every = dataset.matrices.normalised()
            seeds = [derived_seed(0, f"rows of {name}", number) for number in range(matrices)]
            yield name, dataset.space, [np.asarray(every.resampled(seed)) for seed in seeds]


def with_selector(name: str) -> Method:
    """Return the method that runs one of our selectors."""

    def run(space: ContextSpace, returns: Floats, seed: int) -> list[float]:
        return simulate(make_selector(name, space, seed=seed), returns, max(POLICIES)).curve

    return run


def optuna_methods() -> dict[str, Method]:
    """Return Optuna's samplers, told the performance or the gain."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    samplers: dict[str, Callable[[int], Any]] = {
        "QMC": lambda seed: optuna.samplers.QMCSampler(seed=seed, scramble=True),
        "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP),
        "CMA-ES": lambda seed: optuna.samplers.CmaEsSampler(seed=seed, n_startup_trials=STARTUP),
        "GP": lambda seed: optuna.samplers.GPSampler(seed=seed, n_startup_trials=STARTUP),
    }
    told = {name: (sampler, False) for name, sampler in samplers.items()}
    told |= {f"{name}, told the gain": (samplers[name], True) for name in ("TPE", "GP")}
    return {f"Optuna {name}": with_optuna(*how) for name, how in told.items()}


def with_optuna(sampler: Callable[[int], Any], tell_gain: bool) -> Method:
    """Return the method in which a sampler suggests one context after another."""
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
    """Return the target of a trial: levels of a grid, or the nearest of a list."""
    context = {}
    for number, (name, dimension) in enumerate(space.dimensions.items()):
        if isinstance(dimension, Levels):
            level = trial.suggest_int(name, 0, len(dimension.values) - 1)
            context[name] = float(dimension.values[level])
        else:
            values = space.targets[:, number]
            context[name] = trial.suggest_float(name, float(values.min()), float(values.max()))
    return space.nearest(context)


def main() -> None:
    """Compare on all data sets, or some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    every = [*matrix_names(), SYNTHETIC]
    parser.add_argument("--matrices", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=every, default=every)
    given = parser.parse_args()
    before = read_result("compare-tools").get("samplers", {}).get("performance", {})
    found = {**before, **dict(compare(given.matrices, given.data))}
    samplers = {
        "policies": POLICIES,
        "matrices": {"real": given.matrices, "synthetic": 8 * SYNTHETIC_MATRICES},
        "performance": {name: found[name] for name in every if name in found},
    }
    save_result("compare-tools", {"samplers": samplers})


if __name__ == "__main__":
    main()
