"""What does it cost to evaluate each policy on some of the targets only?

The default selector chooses the targets of each evaluation, the rest of the row is filled in.
Afterwards each target gets the policy that is expected to be best there, and the true return of
that policy counts. Compared with full rows and with Random (full rows), in one run.

python lab/experiments/partial_rows.py            # writes results/partial-rows.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds import save_result
from sdmbtl.selectors import PredictiveSelector
from sdmbtl_lab.benchmarks import MatrixProblem, Problem, SyntheticProblem
from sdmbtl_lab.matrices.margins import oracle_curve, random_curve

SHARES = (1.0, 0.5, 0.25, 0.1)
ROUNDS = 12
DATA: tuple[Problem, ...] = (
    SyntheticProblem(3, "constant", "linear", "l1", noise=5.0),
    SyntheticProblem(3, "linear", "linear", "non-distance", noise=5.0),
    MatrixProblem("cartpole-wide"),
    MatrixProblem("cartpole-forces"),
    MatrixProblem("pendulum"),
)


def performance(matrix: NDArray[np.floating], data: Problem, share: float, seed: int) -> float:
    """Mean true return of the policies that are expected to be best, after the last round."""
    selector = PredictiveSelector(data.space, seed=seed)
    wanted = round(share * len(data.space))
    for _ in range(ROUNDS):
        candidate = selector.ask()
        index = data.space.index(candidate.context)
        row = np.full(len(data.space), np.nan)
        targets = selector.targets_to_evaluate(candidate, wanted)
        row[targets] = matrix[index, targets]
        selector.tell(candidate, row)
    trained = np.array([trial.index for trial in selector.trials])
    best = trained[selector.expected_best_trials]
    return float(matrix[best, np.arange(len(data.space))].mean())


def measure(data: Problem, trials: int) -> dict[str, Any]:
    """Performance with each share of the targets evaluated, as a share of the range of returns."""
    matrices = np.stack([np.asarray(data.matrix(trial), np.float64) for trial in range(trials)])
    low, high = matrices.min(), matrices.max()
    matrices = (matrices - low) / (high - low)
    reached = {
        f"{share:g}": float(
            np.mean([performance(m, data, share, t) for t, m in enumerate(matrices)])
        )
        for share in SHARES
    }
    return {
        "name": data.name,
        "targets": len(data.space),
        "random": float(random_curve(matrices, ROUNDS)[-1]),
        "oracle": float(oracle_curve(matrices, ROUNDS)[-1]),
        "auto": reached,
    }


def main() -> None:
    """Measure every data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("results/partial-rows.json"))
    options = parser.parse_args()
    data = []
    for one in DATA:
        data.append(measure(one, options.trials))
        shown = "  ".join(f"{share}: {value:.4f}" for share, value in data[-1]["auto"].items())
        ends = "  ".join(f"{end}: {data[-1][end]:.4f}" for end in ("random", "oracle"))
        print(f"{one.name:40} {shown}  {ends}", flush=True)
    result = {"benchmark": "partial-rows", "trials": options.trials, "rounds": ROUNDS}
    save_result({**result, "data": data}, options.out)


if __name__ == "__main__":
    main()
