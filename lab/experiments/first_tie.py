"""Measure what the first context of GP-MBTL is worth in 7D, where 128 contexts are equally central.

    python lab/experiments/first_tie.py [--problems 7d-f-constant-g-linear-h-l1]

Dimensions with the same slopes can be exchanged, so one context stands for all that have as many
upper values among them. Matrix 0, 50 policies. An interrupted run continues. Written to
results/first-tie.json.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from math import comb

import numpy as np

from experiment import RESULTS, read_result, save_result
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks import BenchmarkResult, paper_configurations
from sdmbtl_lab.benchmarks.synthetic import LEFT_SLOPES, SyntheticProblem

POLICIES = 50


def kinds(problem: SyntheticProblem) -> Iterator[tuple[list[int], int]]:
    """Yield a context of each kind of central ones, and the number of contexts of this kind."""
    slopes = LEFT_SLOPES[problem.dim][problem.h]
    sizes = [len(list(same)) for _, same in itertools.groupby(slopes)]
    for uppers in itertools.product(*(range(size + 1) for size in sizes)):
        context = [1 + (i < n) for size, n in zip(sizes, uppers, strict=True) for i in range(size)]
        yield context, int(np.prod([comb(s, n) for s, n in zip(sizes, uppers, strict=True)]))


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    problems = {problem.name: problem for problem in paper_configurations(7, 5.0)}
    parser.add_argument("--problems", nargs="+", choices=problems, default=list(problems))
    recorded = BenchmarkResult.load(RESULTS / "synthetic-7d-noise5.json")
    found = read_result("first-tie").get("problems", {})
    for name in parser.parse_args().problems:
        (scale,) = (problem for problem in recorded.problems if problem.name == name)
        low, high = (scale.of(n).curve[POLICIES - 1] for n in ("random", "myopic-oracle"))
        rows, matrix = found.setdefault(name, []), problems[name].matrix(0)
        for context, number in list(kinds(problems[name]))[len(rows) :]:
            selector = make_selector("gp-mbtl", problems[name].space)
            selector.tell(context, matrix[problems[name].space.nearest(context)])
            for _ in range(POLICIES - 1):
                trial = selector.ask()
                selector.tell(trial, matrix[trial.index])
            reached = (selector.performance - scale.low) / (scale.high - scale.low)
            score = (reached - low) / (high - low)
            rows.append({"context": context, "contexts": number, "score": score})
            print(name, rows[-1], flush=True)
            save_result("first-tie", {"problems": found}, code=("sdmbtl.selectors",))


if __name__ == "__main__":
    main()
