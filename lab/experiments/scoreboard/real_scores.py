"""Normalised performance on matrices of real training where choosing matters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.columns import MYOPIC, RANDOM, titles, without_baselines
from sdmbtl_lab.benchmarks.metrics import normalised_performance
from sdmbtl_lab.benchmarks.paper_benchmarks import LEAST_MARGIN
from sdmbtl_lab.benchmarks.result import ProblemResult
from sdmbtl_lab.benchmarks.tables import Cell, Table, TableRow

#: Normalised performance is looked at from this many policies on.
FIRST = 3


def score_curve(problem: ProblemResult, selector: str) -> NDArray[np.float64]:
    """(K,) normalised performance with 1..K policies; NaN where there is little to gain.

    It is (performance - Random) / (Myopic Oracle - Random), all means over the matrices.
    """
    own, random, oracle = (np.array(problem.of(n).curve) for n in (selector, RANDOM, MYOPIC))
    left = oracle - random >= LEAST_MARGIN
    scores = np.full(len(own), np.nan)
    scores[left] = normalised_performance(own[left], random[left], oracle[left])
    return scores


def scores_at(result: BenchmarkResult, selector: str, k: int) -> dict[str, float]:
    """Data set -> normalised performance with `k` policies, of those that enter the aggregate."""
    return {
        problem.name: float(score_curve(problem, selector)[k - 1]) for problem in result.entering(k)
    }


def lowest_scores(result: BenchmarkResult, selector: str, last: int) -> dict[str, float]:
    """Data set -> lowest normalised performance with 3 to `last` policies.

    Only data sets count where choosing matters, and numbers of policies with which something is
    left to gain.
    """
    found = {}
    for problem in result.problems:
        scores = score_curve(problem, selector)[FIRST - 1 : last]
        if problem.matters and not np.isnan(scores).all():
            found[problem.name] = float(np.nanmin(scores))
    return found


def behind_best(result: BenchmarkResult, selector: str, k: int) -> dict[str, float]:
    """Data set -> how far a selector is behind the best of the others; below 0 it is ahead.

    The others are the selectors of the result and random choice, at 0.
    """
    others = [scores_at(result, n, k) for n in without_baselines(result.selectors) if n != selector]
    return {
        name: max([0.0, *(scores[name] for scores in others)]) - own
        for name, own in scores_at(result, selector, k).items()
    }


def lowest_table(result: BenchmarkResult, last: int) -> Table:
    """Lowest normalised performance of every selector on every data set."""
    return _plain_table(
        f"Lowest normalised performance on real matrices with k = {FIRST}..{last} policies",
        {name: lowest_scores(result, name, last) for name in without_baselines(result.selectors)},
    )


def behind_table(result: BenchmarkResult, k: int) -> Table:
    """How far every selector is behind the best of the others on every data set."""
    return _plain_table(
        f"Normalised performance behind the best of the others and Random, real matrices, K = {k}",
        {name: behind_best(result, name, k) for name in without_baselines(result.selectors)},
    )


def _plain_table(title: str, values: dict[str, dict[str, float]]) -> Table:
    """A table of selector -> data set -> value; all selectors have the same data sets."""
    names = list(values)
    rows = [
        TableRow((data,), tuple(Cell(values[name][data]) for name in names))
        for data in (values[names[0]] if names else ())
    ]
    return Table(title, ("data",), titles(names), tuple(rows))
