"""What choosing among very many targets costs, and what it loses.

python lab/experiments/scaling.py                # 10^2 to 10^6 targets; writes results/scaling.json
python lab/experiments/scaling.py --part cost    # time and memory alone; or "study", or "quality"
python lab/experiments/scaling.py --draw         # the figure alone, from the results

Cost: CPU seconds of an ask and its tell, on one thread, and the peak memory of a process of its own
for each selector and size: grids in three dimensions, lists of evenly spread targets in ten.
Study: the same with `auto` in a study, whose directory has everything twice and checks it.
Quality: on a grid of 22 x 22 x 22 targets choices are computed on all targets, and on samples of
them. Performance is the mean best return of all targets, once as a share of the range of returns,
and once on the scale where random choice is 0 and the Myopic Oracle 1.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds import save_result
from scoreboard.selection_cost import json_of_child, peak_mib, warm_up
from sdmbtl.contexts import USUAL_SAMPLING, ContextSpace, Interval, TargetSampling
from sdmbtl.selectors import Selector, make_selector
from sdmbtl.studies import Study
from sdmbtl_lab.benchmarks import SyntheticProblem, simulate
from sdmbtl_lab.benchmarks.effects import add_slopes, effect
from sdmbtl_lab.benchmarks.synthetic import (
    CONSTANT,
    GRIDS,
    LEFT_SLOPES,
    RIGHT_SLOPE,
    paper_configurations,
)
from sdmbtl_lab.matrices.margins import expected_random_curve, oracle_curve

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "results" / "scaling.json"
FIGURE = ROOT / "docs" / "figures" / "scaling.png"
SELECTORS = ("auto", "m/gp-mbtl", "m-mbtl", "gp-mbtl", "generalist-first", "random")
#: Numbers of targets; in three dimensions the nearest grid with as many values in each.
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
DIMENSIONS = (3, 10)
#: Rounds that are reported; the last one is how many there are.
ROUNDS = (1, 2, 5, 10, 30)
#: Rounds of a study.
STUDY_ROUNDS = 10
NOISE = 5.0
#: The synthetic contexts run from 0 to here, whatever the number of values in between.
HIGHEST = 7.0

#: The comparison: values in each dimension, rounds, and sizes of the samples.
VALUES, COMPARED_ROUNDS, SAMPLES = 22, 15, (USUAL_SAMPLING.size, 1024)
COMPARED = ("auto", "m/gp-mbtl", "gp-mbtl")


def make_space(targets: int, dimensions: int) -> ContextSpace:
    """A grid in three dimensions, otherwise a list of evenly spread targets."""
    names = [f"c{d + 1}" for d in range(dimensions)]
    if dimensions == 3:
        values = np.linspace(0.0, HIGHEST, round(targets ** (1 / 3)))
        return ContextSpace(**dict.fromkeys(names, values))
    ranges: dict[str, Any] = dict.fromkeys(names, Interval(0.0, HIGHEST))
    return ContextSpace.sample(targets, **ranges)


def make_row(space: ContextSpace, source: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """(N,) returns of a policy on a Mountain whose targets are not equally hard, with noise."""
    row = CONSTANT + 3.0 * space.targets.sum(axis=1)[None]
    slopes = [RIGHT_SLOPE] * space.n_dimensions
    add_slopes(row, source[None], space.targets, [-slope for slope in slopes], slopes)
    return np.asarray(row[0] + NOISE * np.random.default_rng(number).standard_normal(len(space)))


def time_rounds(chooser: Selector | Study, space: ContextSpace, rounds: int) -> list[float]:
    """CPU seconds of each ask and its tell."""
    seconds = []
    for number in range(rounds):
        start = time.process_time()
        trial = chooser.ask()
        asked = time.process_time() - start
        row = make_row(space, trial.source.vector, number)
        start = time.process_time()
        chooser.tell(trial, row)
        seconds.append(asked + time.process_time() - start)
    return seconds


def measure_cost(selector: str, targets: int, dimensions: int, rounds: int) -> dict[str, Any]:
    """Seconds of each reported round and the peak memory, in this process."""
    warm_up(selector)
    space = make_space(targets, dimensions)
    seconds = time_rounds(make_selector(selector, space), space, min(rounds, len(space)))
    return {
        "selector": selector,
        "targets": len(space),
        "dimensions": dimensions,
        "seconds": {str(k): seconds[k - 1] for k in ROUNDS if k <= len(seconds)},
        "longest": max(seconds),
        "peak_mib": peak_mib(),
    }


def measure_study(targets: int, dimensions: int, rounds: int) -> dict[str, Any]:
    """Seconds of opening a study, of each round, and of opening it again, in this process."""
    warm_up("auto")
    space = make_space(targets, dimensions)
    highest = float(CONSTANT + 3.0 * HIGHEST * dimensions + 10 * NOISE)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        study = Study.open(folder, space=space, selector="auto", return_range=(-highest, highest))
        opened = time.process_time() - start
        seconds = time_rounds(study, space, rounds)
        peak = peak_mib()
        start = time.process_time()
        Study.open(folder)
        again = time.process_time() - start
    return {
        "targets": len(space),
        "dimensions": dimensions,
        "rounds": rounds,
        "opened": opened,
        "longest": max(seconds),
        "opened_again": again,
        "peak_mib": peak,
    }


def measure_studies(sizes: Sequence[int], rounds: int) -> Iterator[list[dict[str, Any]]]:
    """A study of every size, each in a fresh process with one thread; all so far each time."""
    print("CPU seconds to open a study, of its longest round, to open it again; peak MiB")
    measured: list[dict[str, Any]] = []
    for dimensions in DIMENSIONS:
        for size in sizes:
            given = json.dumps([size, dimensions, rounds])
            measured.append(json_of_child([__file__, "--study", given]))
            times = "".join(
                f"{measured[-1][k]:9.3f}" for k in ("opened", "longest", "opened_again")
            )
            peak = measured[-1]["peak_mib"]
            print(f"{dimensions:3} {measured[-1]['targets']:>10,} {times} {peak:9.0f}", flush=True)
            yield measured


def show_cost(figures: dict[str, Any]) -> str:
    """One line of the table."""
    rounds = "".join(f"{value:9.3f}" for value in figures["seconds"].values())
    name, size = figures["selector"], f"{figures['targets']:,}"
    return f"{name:17} {figures['dimensions']:3} {size:>10} {rounds} {figures['peak_mib']:9.0f}"


def measure_costs(
    sizes: Sequence[int], selectors: Sequence[str], rounds: int
) -> Iterator[list[dict[str, Any]]]:
    """Every selector and size, each in a fresh process with one thread; all so far each time."""
    print(f"CPU seconds of rounds {', '.join(map(str, ROUNDS))}; peak MiB of the process")
    measured: list[dict[str, Any]] = []
    for dimensions in DIMENSIONS:
        for selector in selectors:
            for size in sizes:
                given = json.dumps([selector, size, dimensions, rounds])
                measured.append(json_of_child([__file__, "--one", given]))
                print(show_cost(measured[-1]), flush=True)
                yield measured


@dataclass(frozen=True)
class FineProblem:
    """A synthetic problem of the paper on a finer grid between the same ends.

    Attributes:
        kind: The problem.
        values: Number of values in each dimension.
    """

    kind: SyntheticProblem
    values: int = VALUES

    @property
    def space(self) -> ContextSpace:
        """The grid."""
        return make_space(self.values**3, 3)

    def matrix(self, number: int) -> NDArray[np.float32]:
        """(N, N) returns; the number is the seed of the noise."""
        contexts = self.space.targets
        _, f_slope, g_slope, _ = GRIDS[self.kind.dim]
        f = effect(self.kind.f, contexts, f_slope, seed=1)
        g = effect(self.kind.g, contexts, g_slope, seed=2)
        rng = np.random.default_rng(number)
        matrix = np.empty((len(contexts), len(contexts)), dtype=np.float32)
        left, right = LEFT_SLOPES[self.kind.dim][self.kind.h], (RIGHT_SLOPE,) * self.kind.dim
        for start in range(0, len(contexts), 512):
            where = slice(start, start + 512)
            block = CONSTANT + f[where, None] + g
            add_slopes(block, contexts[where], contexts, left, right)
            noise = rng.standard_normal(block.shape, dtype=np.float32)
            matrix[where] = block + self.kind.noise * noise
        return matrix


def compare_choices(problem: FineProblem, number: int, rounds: int) -> dict[str, Any]:
    """Performance on one matrix with all targets and with samples, and the ends of the scale."""
    space, matrix = problem.space, problem.matrix(number)
    settings: dict[str, TargetSampling | None] = {"all": None}
    settings |= {str(size): TargetSampling(size, size) for size in SAMPLES if size < len(space)}
    reached = {
        name: {
            label: simulate(
                make_selector(name, space, seed=number, sampling=sampling), matrix, rounds
            ).curve[-1]
            for label, sampling in settings.items()
        }
        for name in COMPARED
    }
    return {
        "problem": problem.kind.name,
        "seed": number,
        "range": [float(matrix.min()), float(matrix.max())],
        "random": float(expected_random_curve(matrix, rounds)[-1]),
        "oracle": float(oracle_curve(matrix[None], rounds)[-1]),
        "reached": reached,
    }


def losses(runs: Sequence[dict[str, Any]], selector: str, label: str) -> dict[str, float]:
    """What a sample loses against all targets, mean over the runs, on both scales."""
    lost = [run["reached"][selector]["all"] - run["reached"][selector][label] for run in runs]
    widths = [run["range"][1] - run["range"][0] for run in runs]
    margins = [run["oracle"] - run["random"] for run in runs]
    return {
        "of_range": float(np.mean(np.divide(lost, widths))),
        "of_margin": float(np.mean(np.divide(lost, margins))),
        "margin_error": float(np.std(np.divide(lost, margins), ddof=1) / np.sqrt(len(lost)))
        if len(lost) > 1
        else 0.0,
    }


def measure_quality(trials: int) -> Iterator[dict[str, Any]]:
    """The comparison on one problem of the paper after another, with a summary so far."""
    runs = []
    for kind in paper_configurations(3, NOISE):
        for number in range(trials):
            runs.append(compare_choices(FineProblem(kind), number, COMPARED_ROUNDS))
            print(f"{kind.name} {number}: {runs[-1]['reached']}", flush=True)
        labels = [label for label in runs[0]["reached"][COMPARED[0]] if label != "all"]
        yield {
            "targets": VALUES**3,
            "rounds": COMPARED_ROUNDS,
            "noise": NOISE,
            "trials": trials,
            "summary": {n: {label: losses(runs, n, label) for label in labels} for n in COMPARED},
            "runs": runs,
        }


def show_quality(quality: dict[str, Any]) -> str:
    """A line for each selector and sample."""
    return "\n".join(
        f"{name:12} sample of {label}: loses {loss['of_range']:+.4f} of the range, "
        f"{loss['of_margin']:+.4f} ± {loss['margin_error']:.4f} of what choosing gains"
        for name, found in quality["summary"].items()
        for label, loss in found.items()
    )


def draw(result: dict[str, Any]) -> None:
    """Draw seconds and memory against the number of targets."""
    from matplotlib.figure import Figure

    from sdmbtl.plots.colours import BLACK, BLUE, GREEN, GREY, ORANGE
    from sdmbtl.plots.files import save_figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2)
    colours = (ORANGE, BLUE, GREEN, GREY, BLACK)
    for selector, colour in zip(SELECTORS, colours, strict=False):
        for dimensions, line in zip(DIMENSIONS, ("-", "--"), strict=True):
            found = [
                m
                for m in result["cost"]
                if (m["selector"], m["dimensions"]) == (selector, dimensions)
            ]
            sizes = [m["targets"] for m in found]
            label = f"{selector}, {dimensions} dimensions"
            panels[0].loglog(sizes, [m["longest"] for m in found], line, color=colour, label=label)
            panels[1].loglog(sizes, [m["peak_mib"] for m in found], line, color=colour)
    panels[0].set_ylabel("longest round, CPU seconds")
    panels[1].set_ylabel("peak memory, MiB")
    for panel in panels:
        panel.set_xlabel("targets")
        panel.grid(color="#dddddd", linewidth=0.5)
    panels[0].axhline(3.0, color=GREY, linewidth=0.8, linestyle=":")
    panels[1].axhline(2048, color=GREY, linewidth=0.8, linestyle=":")
    figure.legend(loc="outside right center", fontsize=7, frameon=False)
    save_figure(figure, FIGURE)


def main() -> None:
    """Measure, print and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("cost", "study", "quality", "all"), default="all")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--selectors", default=",".join(SELECTORS))
    parser.add_argument("--rounds", type=int, default=ROUNDS[-1])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--draw", action="store_true", help="only draw the figure")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--study", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure_cost(*json.loads(given.one))))
        return
    if given.study:
        print(json.dumps(measure_study(*json.loads(given.study))))
        return
    result = json.loads(given.out.read_text()) if given.out.exists() else {}
    if not given.draw:
        result |= {"benchmark": "scaling", "machine": platform.processor() or platform.machine()}
        sizes, selectors = list(map(int, given.sizes.split(","))), given.selectors.split(",")
        if given.part in ("study", "all"):
            for result["study"] in measure_studies(sizes, STUDY_ROUNDS):
                save_result(result, given.out)
        if given.part in ("cost", "all"):
            for result["cost"] in measure_costs(sizes, selectors, given.rounds):
                save_result(result, given.out)
        if given.part in ("quality", "all"):
            for result["quality"] in measure_quality(given.trials):
                save_result(result, given.out)
            print(show_quality(result["quality"]))
        print(f"Written to {given.out}")
    if "cost" in result:
        draw(result)


if __name__ == "__main__":
    main()
