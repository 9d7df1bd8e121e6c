"""What would full knowledge be worth? A selector that knows all but the noise.

The Myopic Oracle is given the very matrices it is tested on, noise included. With few of them it
profits from that, and no selector that has to predict can follow. The *informed* selector knows
what can be known: on the paper's synthetic data the matrix without noise, and how large the noise
is; on the variations twenty other training runs on every context. It chooses by expected
improvement, as `auto` does.

Random and the oracle, the ends of the scale, come from results/selectors.json.

python lab/experiments/knowledge_bound.py       # writes results/knowledge-bound.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from bounds import save_result, scores
from scoreboard.scoreboard import Scoreboard
from scoreboard.variations import CHECK, DEVELOPMENT, Variation
from sdmbtl.selectors.models import CompletedRows, FittedModel, RowModel, RowPrediction
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl_lab.benchmarks import (
    BenchmarkResult,
    SyntheticProblem,
    paper_configurations,
    simulate,
)
from sdmbtl_lab.benchmarks.columns import MYOPIC, RANDOM
from sdmbtl_lab.benchmarks.result import ProblemResult

NOISE = 5.0
#: Parts of the scoreboard and, of the synthetic ones, matrices that are run by default.
SYNTHETIC_PARTS = {"synthetic-5d": (5, 5), "synthetic-7d": (7, 1)}
VARIATION_PARTS = {"development": DEVELOPMENT, "check": CHECK}
#: Matrices that the informed selector knows on the variations; it is tested on others.
KNOWN_TRIALS, FIRST_KNOWN = 20, 1000


class KnownMatrix(RowModel):
    """The matrix without its noise, and the size of the noise.

    Args:
        expected: (N, N) returns without noise.
        noise: Standard deviation of the noise.
    """

    name = "known"
    min_rows = 1

    def __init__(self, expected: NDArray[np.floating], noise: float) -> None:
        self.expected, self.noise = expected, noise

    def fit(self, rows: CompletedRows) -> KnownFit:
        """There is nothing to learn from the rows."""
        return KnownFit(self, cKDTree(rows.space.unit_targets))


class KnownFit(FittedModel):
    """The known matrix.

    Args:
        known: What is known.
        tree: Finds the row of a source.
    """

    def __init__(self, known: KnownMatrix, tree: cKDTree) -> None:
        self.known, self.tree = known, tree

    def predict(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> RowPrediction:
        """The returns as they are without noise."""
        rows = self.known.expected[self.tree.query(sources)[1]]
        return RowPrediction(rows[:, targets], np.full(len(sources), self.known.noise**2))

    def explain(self) -> str:
        """What was found, in words."""
        return "all is known but the noise"


def synthetic_curves(
    configuration: SyntheticProblem, rounds: int, trials: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the (K,) performance of the informed selector on each matrix."""
    known = KnownMatrix(replace(configuration, noise=0.0).matrix(0), NOISE)
    for trial in range(trials):
        selector = PredictiveSelector(configuration.space, seed=trial, models=[known])
        yield np.array(simulate(selector, configuration.matrix(trial), rounds).curve)


def variation_curves(
    variation: Variation, rounds: int, trials: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the (K,) performance of the informed selector on each matrix."""
    known = [variation.matrix(FIRST_KNOWN + i).astype(np.float32) for i in range(KNOWN_TRIALS)]
    first = int(sum(one.mean(axis=1) for one in known).argmax())
    for trial in range(trials):
        matrix = variation.matrix(trial).astype(np.float32)
        chosen, best = [first], matrix[first]
        while len(chosen) < rounds:
            gains = sum(np.maximum(one - best, 0.0).mean(axis=1) for one in known)
            gains[chosen] = -1.0
            chosen.append(int(gains.argmax()))
            best = np.maximum(best, matrix[chosen[-1]])
        yield np.maximum.accumulate(matrix[chosen], axis=0).mean(axis=1, dtype=np.float64)


def score_problem(entry: ProblemResult, curves: list[NDArray[np.float64]]) -> dict[str, Any]:
    """Scores after each policy on the scale of a benchmark's problem, and those of `auto`."""
    informed = (np.mean(curves, axis=0) - entry.low) / (entry.high - entry.low)
    random, oracle, auto = (np.array(entry.of(n).curve) for n in (RANDOM, MYOPIC, "auto"))
    found = {
        name: scores(curve, random, oracle)
        for name, curve in (("informed", informed), ("auto", auto))
    }
    print(entry.name, {name: round(curve[-1], 3) for name, curve in found.items()}, flush=True)
    return {"name": entry.name, "trials": len(curves), "scores": found}


def measure_part(part: str, result: BenchmarkResult, trials: int | None) -> list[dict[str, Any]]:
    """Every problem of one part."""
    if part in SYNTHETIC_PARTS:
        dim, usual = SYNTHETIC_PARTS[part]
        rounds = result.policies[-1]
        return [
            score_problem(
                result.problem(c.name), list(synthetic_curves(c, rounds, trials or usual))
            )
            for c in paper_configurations(dim, NOISE)
        ]
    return [
        score_problem(
            result.problem(v.name),
            list(variation_curves(v, result.problem(v.name).rounds, result.trials)),
        )
        for v in VARIATION_PARTS[part]
    ]


def main() -> None:
    """Measure the parts that were asked for; what was measured before is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*SYNTHETIC_PARTS, *VARIATION_PARTS]
    parser.add_argument("--parts", nargs="+", choices=every, default=every)
    parser.add_argument("--trials", type=int, help="matrices of synthetic parts")
    parser.add_argument("--selectors", type=Path, default=Path("results/selectors.json"))
    parser.add_argument("--out", type=Path, default=Path("results/knowledge-bound.json"))
    options = parser.parse_args()
    scale = Scoreboard.load(options.selectors).benchmarks
    parts = json.loads(options.out.read_text())["parts"] if options.out.exists() else {}
    for part in options.parts:
        parts[part] = measure_part(part, scale[part], options.trials)
        save_result({"benchmark": "knowledge-bound", "parts": parts}, options.out)


if __name__ == "__main__":
    main()
