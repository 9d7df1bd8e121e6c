"""Compare the selectors of single contexts on everything there is, in parts.

    python lab/experiments/scoreboard.py                         # an hour on two cores
    python lab/experiments/scoreboard.py --parts development     # one part
    python lab/experiments/scoreboard.py --show                  # print finished parts, run nothing

A finished part is not run again by the same code. An interrupted part continues when the same
command is given again. Written to results/selectors/PART.json.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from experiment import RESULTS
from sdmbtl_lab.benchmarks import (
    Benchmark,
    BenchmarkResult,
    further_configurations,
    real_benchmark,
    synthetic_benchmark,
)
from sdmbtl_lab.benchmarks.paper_tables import paper_tables
from sdmbtl_lab.cli.progress import WorkBar
from variations import CHECK, DEVELOPMENT

FOLDER = RESULTS / "selectors"
SELECTORS = ("predictive", "m/gp-mbtl-unbiased", "gp-mbtl", "m-mbtl")
#: Part -> dimensions and noise of the paper's configurations.
SYNTHETIC = {
    "synthetic-3d-noise0": (3, 0.0),
    "synthetic-3d-noise5": (3, 5.0),
    "synthetic-3d-noise30": (3, 30.0),
    "synthetic-5d": (5, 5.0),
    "synthetic-7d": (7, 5.0),
}
VARIATIONS = {"development": DEVELOPMENT, "check": CHECK}
PARTS = (*SYNTHETIC, "further", "real", *VARIATIONS)


def part_benchmark(
    part: str, selectors: tuple[str, ...] = SELECTORS, trials: int | None = None
) -> Benchmark:
    """Make the benchmark of a part.

    Args:
        part: One of `PARTS`.
        selectors: Names; random and the Myopic Oracle always take part.
        trials: Matrices of each problem; the usual number if left out.
    """
    if part in SYNTHETIC:
        dim, noise = SYNTHETIC[part]
        benchmark = synthetic_benchmark(dim, noise, trials, selectors=selectors)
    elif part == "further":
        kinds = further_configurations(3)
        benchmark = synthetic_benchmark(
            3, 5.0, trials or 20, selectors=selectors, configurations=kinds
        )
    elif part == "real":
        benchmark = real_benchmark(trials=trials or 50, selectors=selectors)
    else:
        benchmark = Benchmark(
            problems=VARIATIONS[part],
            selectors=selectors,
            trials=trials or 10,
            policies=(50,),
            title=f"{part} set",
            headers=("variation", "grid", "K", "margin"),
            settings={"kind": "variations"},
            seeds="training runs and noise of trial t: its name and t; selectors: seed t",
        )
    return replace(benchmark, name=part)


def run_part(benchmark: Benchmark, folder: Path, jobs: int) -> None:
    """Run a part unless the same code has finished it."""
    path = folder / f"{benchmark.name}.json"
    if path.exists() and BenchmarkResult.load(path).code == benchmark.code:
        print(f"{benchmark.name} is finished.")
        return
    journal = benchmark.journal(folder)
    with WorkBar(Console(stderr=True), benchmark.name) as bar:
        result = benchmark.run(journal, jobs=jobs, progress=bar)
    result.save(path)
    journal.remove()


def main() -> None:
    """Run the parts that are asked for, then print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--selectors", nargs="+", default=SELECTORS)
    parser.add_argument("--trials", type=int, help="matrices of each problem")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--show", action="store_true", help="print finished parts, run nothing")
    given = parser.parse_args()
    for part in given.parts:
        if not given.show:
            benchmark = part_benchmark(part, tuple(given.selectors), given.trials)
            run_part(benchmark, given.out, given.jobs)
        path = given.out / f"{part}.json"
        if path.exists():
            for table in paper_tables(BenchmarkResult.load(path)):
                sys.stdout.write(table.to_text(Console().width))


if __name__ == "__main__":
    main()
