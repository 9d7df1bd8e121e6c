"""How far can any prediction get? A selector that knows other training runs of every context.

On a matrix drawn from the seeds of a data set, the row of each context is one training run. The
*informed* selector knows the mean of the other runs on every context - all of the structure, but
not how the run it gets will differ - and chooses by expected improvement. What it misses to the
Myopic Oracle is run-to-run variance, as far as a few runs can tell: the oracle has seen the very
runs it is tested on.

python lab/experiments/run_variance_bound.py    # writes results/run-variance-bound.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds import save_result, scores, shipped_returns
from sdmbtl.contexts import ContextSpace
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import make_selector
from sdmbtl.selectors.acquisition import expected_improvement
from sdmbtl_lab.benchmarks import simulate
from sdmbtl_lab.matrices.margins import oracle_curve, random_curve

ROUNDS = 12
SHOWN = (1, 2, 3, 6, 12)
#: With less than this between Random and the oracle (of the range, K = 6) scores mean nothing.
LEAST_MARGIN = 0.01


def draw_pair(
    returns: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A matrix with each row from one of the seeds, and the mean of the others' rows.

    Args:
        returns: (S, N, N) the seeds of a data set.
        seed: Seed of the draw.

    Returns:
        (N, N) the matrix and (N, N) the mean of the runs that are not in it.
    """
    runs, size = returns.shape[:2]
    chosen = np.random.default_rng(seed).integers(runs, size=size)
    matrix = returns[chosen, np.arange(size)]
    return matrix, (returns.sum(axis=0) - matrix) / (runs - 1)


def informed_curve(
    matrix: NDArray[np.float64], expected: NDArray[np.float64], rounds: int
) -> NDArray[np.float64]:
    """(K,) performance if the expected returns of every policy are known, but not its run."""
    deviation = np.full((len(matrix), 1), float((matrix - expected).std()))
    chosen = [int(expected.mean(axis=1).argmax())]
    while len(chosen) < rounds:
        seen = matrix[chosen]
        best = seen.max(axis=0)
        gains = expected_improvement(expected - best, deviation, expected - seen.max())
        means = gains.mean(axis=1)
        means[chosen] = -1.0
        chosen.append(int(means.argmax()))
    return np.asarray(np.maximum.accumulate(matrix[chosen], axis=0).mean(axis=1))


def measure(
    space: ContextSpace, returns: NDArray[np.float64], matrices: int
) -> dict[str, list[float]]:
    """Score of the informed selector and of the default one, 0 is Random and 1 the oracle."""
    # The key is part of the recorded numbers.
    pairs = [
        draw_pair(returns, derived_seed(0, "luck bound", number)) for number in range(matrices)
    ]
    stacked = np.stack([matrix for matrix, _ in pairs])
    random, oracle = random_curve(stacked, ROUNDS), oracle_curve(stacked, ROUNDS)
    curves = {
        "informed": np.array([informed_curve(*pair, ROUNDS) for pair in pairs]),
        "auto": np.array(
            [
                simulate(make_selector("auto", space, seed=number), matrix, ROUNDS).curve
                for number, (matrix, _) in enumerate(pairs)
            ]
        ),
    }
    return {name: scores(some.mean(axis=0), random, oracle) for name, some in curves.items()}


def main() -> None:
    """Measure every shipped data set with several seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matrices", type=int, default=50, help="matrices drawn per data set")
    parser.add_argument("--out", type=Path, default=Path("results/run-variance-bound.json"))
    options = parser.parse_args()
    data: list[dict[str, Any]] = []
    for name, space, returns in shipped_returns(LEAST_MARGIN):
        if len(returns) < 2:
            continue
        found = measure(space, returns, options.matrices)
        data.append({"name": name, "seeds": len(returns), "scores": found})
        for who, curve in found.items():
            shown = "  ".join(f"{k}: {curve[k - 1]:5.2f}" for k in SHOWN)
            print(f"{name:16} {who:9} {shown}", flush=True)
    result = {"benchmark": "run-variance-bound", "matrices": options.matrices, "rounds": ROUNDS}
    save_result({**result, "data": data}, options.out)


if __name__ == "__main__":
    main()
