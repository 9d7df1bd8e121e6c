"""What it costs to choose while training runs are still going on, and how much time it saves.

python lab/experiments/parallel_choice.py            # writes results/parallel-choice.json
python lab/experiments/parallel_choice.py --draw     # the figure alone, from the results

Studies with q workers are simulated in virtual time on the paper's synthetic matrices. Training
times are lognormal with mean 1, and some runs fail. Asynchronous: a worker that is free asks at
once, while the runs of the others are pending. Lockstep: q contexts are asked for together, and the
next q when all of them are back. Both end with the same number of policies. Quality is the
benchmark's aggregated performance: random choice is 0, the Myopic Oracle 1.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bounds import save_result
from sdmbtl.selectors import Selector, Trial, make_selector
from sdmbtl_lab.benchmarks.metrics import aggregated_performance
from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem, paper_configurations
from sdmbtl_lab.matrices.margins import oracle_curve, random_curve

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "results" / "parallel-choice.json"
FIGURE = ROOT / "docs" / "figures" / "parallel-choice.png"
WORKERS = (1, 2, 4, 8, 16, 64, 1024)
POLICIES, NOISE = 48, 5.0

Mode = Literal["asynchronous", "lockstep"]


@dataclass(frozen=True)
class Workload:
    """How long training runs take, and how many fail; both follow from the seed and the run.

    Attributes:
        seed: Root of the draws.
        spread: Standard deviation of the logarithm of the time; the mean time is 1.
        failing: Probability that a run fails, at its end.
    """

    seed: int
    spread: float = 1.0
    failing: float = 0.05

    def run(self, number: int) -> tuple[float, bool]:
        """Duration of a training run, and whether it fails."""
        rng = np.random.default_rng([self.seed, number])
        duration = float(np.exp(self.spread * rng.standard_normal() - self.spread**2 / 2))
        return duration, bool(rng.random() < self.failing)


@dataclass(frozen=True)
class Campaign:
    """A simulated study with several workers.

    Attributes:
        time: Virtual time until the last policy was there.
        curve: Performance after each policy that was finished, in the order of their ends.
        busy: Share of the workers' time that was spent training.
    """

    time: float
    curve: tuple[float, ...]
    busy: float


def simulate_workers(
    selector: Selector,
    returns: NDArray[np.floating],
    workers: int,
    policies: int,
    workload: Workload,
    mode: Mode,
) -> Campaign:
    """Train until there are some policies, with several workers.

    Args:
        selector: A selector that was not asked before.
        returns: (N, N) the transfer matrix.
        workers: q; runs that would be one policy too many are not started.
        policies: K, the number of policies.
        workload: How long runs take, and which fail.
        mode: Whether a free worker asks at once, or all together.
    """
    running: list[tuple[float, int, Trial]] = []
    curve: list[float] = []
    now = trained = 0.0
    while len(curve) < policies:
        if mode == "asynchronous" or not running:
            free = min(workers, policies - len(curve)) - len(running)
            for trial in selector.ask(free) if free > 0 else []:
                duration, _ = workload.run(trial.id)
                trained += duration
                heapq.heappush(running, (now + duration, trial.id, trial))
        now, number, trial = heapq.heappop(running)
        if workload.run(number)[1]:
            selector.tell(trial, status="failed")
            continue
        selector.tell(trial, returns[trial.index])
        curve.append(selector.performance)
    return Campaign(now, tuple(curve), trained / (now * workers))


def campaigns(
    name: str, matrices: Sequence[NDArray[np.floating]], problem: SyntheticProblem
) -> dict[Mode, dict[int, list[Campaign]]]:
    """Simulated studies on all matrices of a problem, by mode and number of workers.

    As no run is started that would be one policy too many, more workers than policies stay idle:
    their study is that of as many workers as policies, with the others idle.
    """
    found: dict[Mode, dict[int, list[Campaign]]] = {mode: {} for mode in get_args(Mode)}
    for mode in get_args(Mode):
        for workers in WORKERS:
            used = min(workers, POLICIES)
            if workers > used and used in found[mode]:
                continue
            if used == 1 and mode == "lockstep":  # the same as asynchronous
                found[mode][1] = found["asynchronous"][1]
                continue
            found[mode][used] = [
                simulate_workers(
                    make_selector(name, problem.space, seed=seed),
                    matrix,
                    used,
                    POLICIES,
                    Workload(seed),
                    mode,
                )
                for seed, matrix in enumerate(matrices)
            ]
    return found


def measure(name: str, trials: int) -> Iterator[dict[str, Any]]:
    """One problem after another; each time the result so far."""
    problems: dict[str, dict[str, Any]] = {}
    for problem in paper_configurations(3, NOISE):
        matrices = np.stack([problem.matrix(number) for number in range(trials)])
        found = campaigns(name, list(matrices), problem)
        problems[problem.name] = {
            "random": random_curve(matrices, POLICIES).tolist(),
            "oracle": oracle_curve(matrices, POLICIES).tolist(),
            "campaigns": {
                mode: {str(used): [_plain(one) for one in runs] for used, runs in by_q.items()}
                for mode, by_q in found.items()
            },
        }
        table = summary(problems)
        print(f"{problem.name}, with those before:\n{show(table)}", flush=True)
        yield {
            "benchmark": "parallel-choice",
            "selector": name,
            "trials": trials,
            "policies": POLICIES,
            "noise": NOISE,
            "workload": {"spread": Workload(0).spread, "failing": Workload(0).failing},
            "summary": table,
            "problems": {
                key: {end: one[end] for end in ("random", "oracle")}
                for key, one in problems.items()
            },
        }


def _plain(campaign: Campaign) -> dict[str, Any]:
    return {"time": campaign.time, "busy": campaign.busy, "curve": list(campaign.curve)}


def summary(problems: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """For each mode and q: quality at the end and on the way, its interval, and the time."""
    return {
        mode: {str(q): _summary_of(problems, mode, min(q, POLICIES), q) for q in WORKERS}
        for mode in get_args(Mode)
    }


def _summary_of(
    problems: Mapping[str, dict[str, Any]], mode: str, used: int, workers: int
) -> dict[str, float]:
    runs = {name: one["campaigns"][mode][str(used)] for name, one in problems.items()}
    final = _score(problems, {name: [r["curve"][-1] for r in some] for name, some in runs.items()})
    everything = [run for some in runs.values() for run in some]
    on_the_way = aggregated_performance(
        {name: [float(np.mean(r["curve"])) for r in some] for name, some in runs.items()},
        {name: float(np.mean(one["random"])) for name, one in problems.items()},
        {name: float(np.mean(one["oracle"])) for name, one in problems.items()},
    )
    return {
        "quality": final.estimate,
        "half_width": final.half_width,
        "quality_on_the_way": on_the_way.estimate,
        "time": float(np.mean([run["time"] for run in everything])),
        "busy": float(np.mean([run["busy"] for run in everything])) * used / workers,
    }


def _score(problems: Mapping[str, dict[str, Any]], values: Mapping[str, list[float]]) -> Any:
    return aggregated_performance(
        values,
        {name: one["random"][-1] for name, one in problems.items()},
        {name: one["oracle"][-1] for name, one in problems.items()},
    )


def show(table: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The summary as lines."""
    lines = [f"{'':14} {'q':>5} {'quality':>8} {'±':>6} {'on the way':>11} {'time':>7} {'busy':>5}"]
    lines += [
        f"{mode:14} {q:>5} {one['quality']:8.3f} {one['half_width']:6.3f} "
        f"{one['quality_on_the_way']:11.3f} {one['time']:7.2f} {one['busy']:5.0%}"
        for mode, by_q in table.items()
        for q, one in by_q.items()
    ]
    return "\n".join(lines)


def draw(result: dict[str, Any]) -> None:
    """Draw quality and time against the number of workers."""
    from matplotlib.figure import Figure

    from sdmbtl.plots.colours import BLUE, LIGHT, ORANGE
    from sdmbtl.plots.files import save_figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for mode, colour in zip(get_args(Mode), (ORANGE, BLUE), strict=True):
        rows = result["summary"][mode]
        workers = [int(q) for q in rows]
        quality = [one["quality"] for one in rows.values()]
        errors = [one["half_width"] for one in rows.values()]
        left.errorbar(workers, quality, errors, color=colour, marker="o", ms=4, label=mode)
        right.loglog(workers, [one["time"] for one in rows.values()], "o-", color=colour, ms=4)
    left.set_xscale("log")
    left.set_ylabel(f"quality of {result['policies']} policies")
    right.set_ylabel("virtual time (mean run = 1)")
    for panel in (left, right):
        panel.set_xlabel("workers")
        panel.grid(color=LIGHT, linewidth=0.5)
    left.legend(frameon=False, fontsize=9)
    save_figure(figure, FIGURE)


def main() -> None:
    """Simulate, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--selector", default="auto")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--draw", action="store_true", help="only draw the figure")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    if not given.draw:
        for result in measure(given.selector, given.trials):
            save_result(result, given.out)
        print(f"Written to {given.out}")
    draw(json.loads(given.out.read_text()))


if __name__ == "__main__":
    main()
