"""Simulate studies with several workers: the price of choosing while runs are pending.

    python lab/experiments/parallel_choice.py [--selector NAME] [--trials 10]

Studies with q workers run in virtual time on the paper's synthetic matrices. Training times are
lognormal with mean 1, and some runs fail. Asynchronous: a free worker asks at once, while the other
runs are pending. Lockstep: q contexts are asked for together, the next q when all of them are back.
Both end with the same number of policies. Quality is the benchmark's aggregated performance: random
choice is 0, the Myopic Oracle 1. Written to results/parallel-choice.json.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from experiment import save_result
from sdmbtl.selectors import Selector, Trial, make_selector
from sdmbtl_lab.benchmarks.metrics import aggregated_performance
from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem, paper_configurations
from sdmbtl_lab.matrices.margins import oracle_curve, random_curve

WORKERS = (1, 2, 4, 8, 16, 64, 1024)
POLICIES, NOISE = 48, 5.0
#: Standard deviation of the logarithm of a training time, and probability that a run fails.
SPREAD, FAILING = 1.0, 0.05

Mode = Literal["asynchronous", "lockstep"]


@dataclass(frozen=True)
class Campaign:
    """A simulated study with several workers.

    Attributes:
        time: Virtual time until the last policy.
        curve: Performance after each finished policy, in the order of their ends.
        busy: Share of the workers' time spent training.
    """

    time: float
    curve: tuple[float, ...]
    busy: float


def training_run(seed: int, number: int) -> tuple[float, bool]:
    """Draw the duration of a training run, and whether it fails at its end."""
    rng = np.random.default_rng([seed, number])
    duration = float(np.exp(SPREAD * rng.standard_normal() - SPREAD**2 / 2))
    return duration, bool(rng.random() < FAILING)


def simulate_workers(
    selector: Selector,
    returns: NDArray[np.floating],
    workers: int,
    mode: Mode,
    *,
    policies: int = POLICIES,
    seed: int = 0,
) -> Campaign:
    """Train with q workers until there are K policies; no run is one policy too many.

    `returns` is (N, N). Workers ask one by one as they become free, or all together.
    """
    running: list[tuple[float, int, Trial]] = []
    curve: list[float] = []
    now = trained = 0.0
    while len(curve) < policies:
        if mode == "asynchronous" or not running:
            free = min(workers, policies - len(curve)) - len(running)
            for trial in selector.ask(free) if free > 0 else []:
                duration, _ = training_run(seed, trial.id)
                trained += duration
                heapq.heappush(running, (now + duration, trial.id, trial))
        now, number, trial = heapq.heappop(running)
        if training_run(seed, number)[1]:
            selector.tell(trial, status="failed")
            continue
        selector.tell(trial, returns[trial.index])
        curve.append(selector.performance)
    return Campaign(now, tuple(curve), trained / (now * workers))


def measure(name: str, problem: SyntheticProblem, trials: int) -> dict[str, Any]:
    """Simulate studies on all matrices of a problem, by mode and number of workers.

    No run is started that would be one policy too many, so at most `POLICIES` workers are used.
    """
    matrices = np.stack([problem.matrix(number) for number in range(trials)])
    campaigns = {
        (mode, used): [
            simulate_workers(
                make_selector(name, problem.space, seed=seed), matrix, used, mode, seed=seed
            )
            for seed, matrix in enumerate(matrices)
        ]
        for mode in get_args(Mode)
        for used in sorted({min(workers, POLICIES) for workers in WORKERS})
    }
    return {
        "random": random_curve(matrices, POLICIES).tolist(),
        "oracle": oracle_curve(matrices, POLICIES).tolist(),
        "campaigns": campaigns,
    }


def summary(problems: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Summarise each mode and q: quality at the end and on the way, its interval, the time."""

    def row(mode: str, workers: int) -> dict[str, float]:
        used = min(workers, POLICIES)
        runs = {name: one["campaigns"][mode, used] for name, one in problems.items()}
        final = aggregated_performance(
            {name: [run.curve[-1] for run in some] for name, some in runs.items()},
            {name: one["random"][-1] for name, one in problems.items()},
            {name: one["oracle"][-1] for name, one in problems.items()},
        )
        on_the_way = aggregated_performance(
            {name: [float(np.mean(run.curve)) for run in some] for name, some in runs.items()},
            {name: float(np.mean(one["random"])) for name, one in problems.items()},
            {name: float(np.mean(one["oracle"])) for name, one in problems.items()},
        )
        everything = [run for some in runs.values() for run in some]
        return {
            "quality": final.estimate,
            "half_width": final.half_width,
            "quality_on_the_way": on_the_way.estimate,
            "time": float(np.mean([run.time for run in everything])),
            "busy": float(np.mean([run.busy for run in everything])) * used / workers,
        }

    return {mode: {str(q): row(mode, q) for q in WORKERS} for mode in get_args(Mode)}


def main() -> None:
    """Simulate and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--selector", default="predictive")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    problems: dict[str, dict[str, Any]] = {}
    for problem in paper_configurations(3, NOISE):
        problems[problem.name] = measure(given.selector, problem, given.trials)
        content = {
            "selector": given.selector,
            "trials": given.trials,
            "policies": POLICIES,
            "noise": NOISE,
            "workload": {"spread": SPREAD, "failing": FAILING},
            "summary": summary(problems),
        }
        save_result("parallel-choice", content, given.out, code=("sdmbtl.selectors",))


if __name__ == "__main__":
    main()
