"""Measure cost and quality of choosing among very many targets.

python lab/experiments/scaling.py                # 10^2 to 10^6 targets; writes results/scaling.json
python lab/experiments/scaling.py --part cost    # one part: cost, study or quality

Cost: CPU seconds of an ask and its tell, on one thread, and the peak memory of a process
for each selector and size: grids in three dimensions, lists of evenly spread targets in ten.
Study: the same with `predictive` in a study. Speed: the median round on smaller grids, with and
without the Mountain structure; written to results/selection-speed.json. Quality: on a grid of
22 x 22 x 22 targets, choices on all targets compared with choices on samples of them; performance
is the mean best return of all targets, as a share of the range of returns and of the gap between
random choice and the oracle.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import peak_mib, read_result, run_child, save_result
from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.selectors import Selector, make_selector
from sdmbtl.selectors.base import SAMPLE_SIZE
from sdmbtl.studies import Study
from sdmbtl_lab.benchmarks import SyntheticProblem, paper_configurations, simulate
from sdmbtl_lab.benchmarks.synthetic import (
    CONSTANT,
    GRIDS,
    LEFT_SLOPES,
    RIGHT_SLOPE,
    add_slopes,
    effect,
)
from sdmbtl_lab.matrices.margins import expected_random_curve, oracle_curve

SELECTORS = ("predictive", "m/gp-mbtl-unbiased", "m-mbtl", "gp-mbtl", "generalist-first", "random")
#: Numbers of targets; in three dimensions the nearest grid with as many values in each.
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
DIMENSIONS = (3, 10)
#: Rounds that are reported; the last one is their number.
ROUNDS = (1, 2, 5, 10, 30)
STUDY_ROUNDS = 10
NOISE = 5.0
#: The synthetic contexts run from 0 to this, whatever the number of values in between.
HIGHEST = 7.0
#: The comparison of quality: values in each dimension, rounds, sizes of the samples, selectors.
VALUES, QUALITY_ROUNDS, SAMPLES = 22, 15, (SAMPLE_SIZE, 1024)
COMPARED = ("predictive", "m/gp-mbtl-unbiased", "gp-mbtl")
#: The comparison of speed: values in each dimension, dimensions, rounds; the selectors; the slope
#: of the first dimensions to the left of the target.
GRIDS_TIMED = ((8, 3, 50), (5, 5, 50), (4, 7, 20))
TIMED = ("predictive", "m/gp-mbtl-unbiased", "gp-mbtl", "m-mbtl")
KINDS = {"mountain": -RIGHT_SLOPE, "not_mountain": 1.0}
#: Rounds before this one are not counted: hardly anything is fitted then.
FIRST_COUNTED = 3


def make_space(targets: int, dimensions: int) -> ContextSpace:
    """Make a grid in three dimensions, otherwise a list of evenly spread targets."""
    names = [f"c{d + 1}" for d in range(dimensions)]
    if dimensions == 3:
        values = np.linspace(0.0, HIGHEST, round(targets ** (1 / 3)))
        return ContextSpace(**dict.fromkeys(names, values))
    ranges: dict[str, Any] = dict.fromkeys(names, Interval(0.0, HIGHEST))
    return ContextSpace.sample(targets, **ranges)


def make_row(
    space: ContextSpace, source: NDArray[np.float64], number: int, kind: str = "mountain"
) -> NDArray[np.float64]:
    """Make (N,) returns of a policy on targets of unequal difficulty, with noise."""
    row = CONSTANT + 3.0 * space.targets.sum(axis=1)[None]
    right = [RIGHT_SLOPE] * space.n_dimensions
    left = [KINDS[kind]] * (space.n_dimensions - 1) + [-RIGHT_SLOPE]
    add_slopes(row, source[None], space.targets, left, right)
    return np.asarray(row[0] + NOISE * np.random.default_rng(number).standard_normal(len(space)))


def time_rounds(
    chooser: Selector | Study, space: ContextSpace, rounds: int, kind: str = "mountain"
) -> list[float]:
    """Measure the CPU seconds of each ask and its tell."""
    seconds = []
    for number in range(rounds):
        start = time.process_time()
        trial = chooser.ask()
        asked = time.process_time() - start
        row = make_row(space, trial.source.vector, number, kind)
        start = time.process_time()
        chooser.tell(trial, row)
        seconds.append(asked + time.process_time() - start)
    return seconds


def warm_up(selector: str) -> None:
    """Load the parts of SciPy that are loaded at first use."""
    space = make_space(64, 3)
    time_rounds(make_selector(selector, space), space, 8, "not_mountain")


def measure_speed(
    selector: str, values: int, dimensions: int, rounds: int, kind: str
) -> dict[str, float]:
    """Measure the rounds of a selector on a small grid, and the peak memory, in this process."""
    warm_up(selector)
    space = ContextSpace(**{f"c{d + 1}": range(values) for d in range(dimensions)})
    seconds = time_rounds(make_selector(selector, space), space, rounds, kind)
    counted = 1e3 * np.array(seconds[FIRST_COUNTED - 1 :])
    median, slowest = float(np.median(counted)), float(counted.max())
    return {"median_ms": median, "slowest_ms": slowest, "peak_mib": peak_mib()}


def compare_speeds() -> list[dict[str, Any]]:
    """Measure all selectors on all small grids."""

    def measured(*arguments: Any) -> Any:
        return run_child([__file__, "--one", json.dumps(["speed", *arguments])])

    return [
        {
            "targets": values**dimensions,
            "rounds": rounds,
            "selectors": {
                name: {kind: measured(name, values, dimensions, rounds, kind) for kind in KINDS}
                for name in TIMED
            },
        }
        for values, dimensions, rounds in GRIDS_TIMED
    ]


def measure_selector(selector: str, targets: int, dimensions: int) -> dict[str, Any]:
    """Measure the rounds of a selector and the peak memory, in this process."""
    warm_up(selector)
    space = make_space(targets, dimensions)
    seconds = time_rounds(make_selector(selector, space), space, min(ROUNDS[-1], len(space)))
    return {
        "selector": selector,
        "targets": len(space),
        "dimensions": dimensions,
        "seconds": {str(k): seconds[k - 1] for k in ROUNDS if k <= len(seconds)},
        "longest": max(seconds),
        "peak_mib": peak_mib(),
    }


def measure_study(targets: int, dimensions: int) -> dict[str, Any]:
    """Measure opening a study, its rounds, and opening it again, in this process."""
    warm_up("predictive")
    space = make_space(targets, dimensions)
    highest = float(CONSTANT + 3.0 * HIGHEST * dimensions + 10 * NOISE)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        study = Study.open(
            folder, space=space, selector="predictive", return_range=(-highest, highest)
        )
        opened = time.process_time() - start
        seconds = time_rounds(study, space, STUDY_ROUNDS)
        peak = peak_mib()
        start = time.process_time()
        Study.open(folder)
        again = time.process_time() - start
    return {
        "targets": len(space),
        "dimensions": dimensions,
        "rounds": STUDY_ROUNDS,
        "opened": opened,
        "longest": max(seconds),
        "opened_again": again,
        "peak_mib": peak,
    }


def in_children(function: str, arguments: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """Run one of `ONE` in a fresh process for each of some arguments; yield all results so far."""
    measured: list[Any] = []
    for given in arguments:
        measured.append(run_child([__file__, "--one", json.dumps([function, *given])]))
        print(json.dumps(measured[-1]), flush=True)
        yield measured


def fine_matrix(kind: SyntheticProblem, space: ContextSpace, number: int) -> NDArray[np.float32]:
    """Make (N, N) returns of a synthetic problem of the paper on a finer grid."""
    contexts = space.targets
    _, f_slope, g_slope, _ = GRIDS[kind.dim]
    f = effect(kind.f, contexts, f_slope, seed=1)
    g = effect(kind.g, contexts, g_slope, seed=2)
    rng = np.random.default_rng(number)
    matrix = np.empty((len(contexts), len(contexts)), dtype=np.float32)
    left, right = LEFT_SLOPES[kind.dim][kind.h], (RIGHT_SLOPE,) * kind.dim
    for start in range(0, len(contexts), 512):
        where = slice(start, start + 512)
        block = CONSTANT + f[where, None] + g
        add_slopes(block, contexts[where], contexts, left, right)
        matrix[where] = block + kind.noise * rng.standard_normal(block.shape, dtype=np.float32)
    return matrix


def compare_choices(
    kind: SyntheticProblem, number: int, values: int = VALUES, rounds: int = QUALITY_ROUNDS
) -> dict[str, Any]:
    """Measure performance on one matrix with all targets and with samples of them."""
    space = make_space(values**3, 3)
    matrix = fine_matrix(kind, space, number)
    sizes: dict[str, int | None] = {"all": None}
    sizes |= {str(size): size for size in SAMPLES if size < len(space)}
    reached: dict[str, dict[str, float]] = {}
    for name in COMPARED:
        reached[name] = {}
        for label, size in sizes.items():
            selector = make_selector(name, space, seed=number)
            selector.sample_size, selector.exact_up_to = size, 0
            reached[name][label] = simulate(selector, matrix, rounds).curve[-1]
    return {
        "problem": kind.name,
        "seed": number,
        "range": [float(matrix.min()), float(matrix.max())],
        "random": float(expected_random_curve(matrix, rounds)[-1]),
        "oracle": float(oracle_curve(matrix[None], rounds)[-1]),
        "reached": reached,
    }


def losses(runs: Sequence[dict[str, Any]], selector: str, label: str) -> dict[str, float]:
    """Average the loss of a sample against all targets over the runs, on both scales."""
    lost = [run["reached"][selector]["all"] - run["reached"][selector][label] for run in runs]
    widths = [run["range"][1] - run["range"][0] for run in runs]
    of_margin = np.divide(lost, [run["oracle"] - run["random"] for run in runs])
    error = float(np.std(of_margin, ddof=1) / np.sqrt(len(lost))) if len(lost) > 1 else 0.0
    return {
        "of_range": float(np.mean(np.divide(lost, widths))),
        "of_margin": float(np.mean(of_margin)),
        "margin_error": error,
    }


def measure_quality(trials: int) -> Iterator[dict[str, Any]]:
    """Compare on one problem of the paper after another, with a summary so far."""
    runs = []
    for kind in paper_configurations(3, NOISE):
        for number in range(trials):
            runs.append(compare_choices(kind, number))
            print(f"{kind.name} {number}: {runs[-1]['reached']}", flush=True)
        labels = [label for label in runs[0]["reached"][COMPARED[0]] if label != "all"]
        yield {
            "targets": VALUES**3,
            "rounds": QUALITY_ROUNDS,
            "noise": NOISE,
            "trials": trials,
            "summary": {n: {label: losses(runs, n, label) for label in labels} for n in COMPARED},
            "runs": runs,
        }


#: Measurements that run in processes of their own.
ONE: dict[str, Callable[..., Any]] = {
    "selector": measure_selector,
    "study": measure_study,
    "speed": measure_speed,
}


def main() -> None:
    """Measure and write the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = ("study", "cost", "quality", "speed")
    parser.add_argument("--part", nargs="+", choices=parts, default=parts)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--selectors", nargs="+", default=SELECTORS)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, *arguments = json.loads(given.one)
        print(json.dumps(ONE[name](*arguments)))
        return
    sizes = [(size, d) for d in DIMENSIONS for size in given.sizes]
    kinds = [(s, size, d) for d in DIMENSIONS for s in given.selectors for size in given.sizes]
    measures: dict[str, Iterator[Any]] = {
        "study": in_children("study", sizes),
        "cost": in_children("selector", kinds),
        "quality": measure_quality(given.trials),
    }
    result = read_result("scaling", given.out)
    if "speed" in given.part:
        save_result("selection-speed", {"measured": compare_speeds()}, code=("sdmbtl.selectors",))
    for part in set(measures) & set(given.part):
        for found in measures[part]:
            result[part] = found
            save_result("scaling", result, given.out, code=("sdmbtl.selectors",))


if __name__ == "__main__":
    main()
