"""CPU time per round and peak memory of selectors, by the number of targets, on one thread.

python lab/experiments/selection_speed.py [--sizes 512,3125] [--selectors m-mbtl,m/gp-mbtl-unbiased]

Each measurement runs in a fresh process. Rows are made on demand, so the memory is that of the
selector and of Python. Written to results/selection-speed.json.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import peak_mib, run_child, save_result
from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks.synthetic import CONSTANT, RIGHT_SLOPE, add_slopes

#: Number of targets -> values per dimension, number of dimensions, rounds.
SIZES = {64: (4, 3, 8), 512: (8, 3, 50), 3125: (5, 5, 50), 16384: (4, 7, 20)}
SELECTORS = ("predictive", "m/gp-mbtl-unbiased", "gp-mbtl", "m-mbtl")
NOISE = 5.0
#: Rounds before this one are not counted: hardly anything is fitted then.
FIRST_COUNTED = 3
#: Mountain: returns fall with distance in every dimension.
KINDS = ("mountain", "not_mountain")


def make_row(space: ContextSpace, index: int, kind: str) -> NDArray[np.float64]:
    """Make the (N,) returns of one policy, as in the synthetic benchmark with noise 5."""
    right = [RIGHT_SLOPE] * space.n_dimensions
    first = -RIGHT_SLOPE if kind == "mountain" else 1.0
    left = [first] * (space.n_dimensions - 1) + [-RIGHT_SLOPE]
    row = np.full((1, len(space)), CONSTANT)
    add_slopes(row, space.targets[index, None], space.targets, left, right)
    return np.asarray(row[0] + NOISE * np.random.default_rng(index).standard_normal(len(space)))


def round_seconds(selector: str, targets: int, kind: str) -> list[float]:
    """Measure the CPU seconds of each round: an ask and its tell."""
    values, dimensions, rounds = SIZES[targets]
    space = ContextSpace(**{f"c{d + 1}": range(values) for d in range(dimensions)})
    chooser = make_selector(selector, space)
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        trial = chooser.ask()
        asked = time.process_time() - start
        row = make_row(space, space.nearest(trial.context), kind)
        start = time.process_time()
        chooser.tell(trial, row)
        seconds.append(asked + time.process_time() - start)
    return seconds


def warm_up(selector: str) -> None:
    """Load the parts of SciPy that are loaded at first use."""
    round_seconds(selector, min(SIZES), "not_mountain")


def measure(selector: str, targets: int, kind: str) -> dict[str, float]:
    """Measure one selector in this process."""
    warm_up(selector)
    counted = 1e3 * np.array(round_seconds(selector, targets, kind)[FIRST_COUNTED - 1 :])
    return {
        "median_ms": float(np.median(counted)),
        "slowest_ms": float(counted.max()),
        "peak_mib": peak_mib(),
    }


def main() -> None:
    """Measure every selector on every size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="512,3125,16384")
    parser.add_argument("--selectors", default=",".join(SELECTORS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*json.loads(given.one))))
        return
    measured: list[dict[str, Any]] = []
    for targets in map(int, given.sizes.split(",")):
        selectors = {
            name: {
                kind: run_child([__file__, "--one", json.dumps([name, targets, kind])])
                for kind in KINDS
            }
            for name in given.selectors.split(",")
        }
        measured.append({"targets": targets, "rounds": SIZES[targets][2], "selectors": selectors})
        print(json.dumps(measured[-1]), flush=True)
    save_result("selection-speed", {"measured": measured}, code=("sdmbtl.selectors",))


if __name__ == "__main__":
    main()
