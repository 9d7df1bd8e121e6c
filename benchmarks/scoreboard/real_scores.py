"""Scores on matrices of real training, for every data set where choosing matters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks import BenchmarkResult
from sdmbtl.benchmarks.columns import MYOPIC, RANDOM, titles, without_baselines
from sdmbtl.benchmarks.metrics import normalised_performance
from sdmbtl.benchmarks.paper_benchmarks import LEAST_MARGIN
from sdmbtl.benchmarks.result import ProblemResult
from sdmbtl.benchmarks.tables import Cell, Table, TableRow

#: Scores are looked at from this many policies on.
FIRST = 3


def score_curve(problem: ProblemResult, selector: str) -> NDArray[np.float64]:
    """(K,) scores with 1..K policies; NaN where the oracle is hardly above random choice.

    The score is (performance - Random) / (Myopic Oracle - Random), all means over the trials.
    """
    own, random, oracle = (np.array(problem.of(n).curve) for n in (selector, RANDOM, MYOPIC))
    left = oracle - random >= LEAST_MARGIN
    scores = np.full(len(own), np.nan)
    scores[left] = normalised_performance(own[left], random[left], oracle[left])
    return scores


def scores_at(result: BenchmarkResult, selector: str, k: int) -> dict[str, float]:
    """Data set -> score with `k` policies, of those that enter the aggregate."""
    return {
        problem.name: float(score_curve(problem, selector)[k - 1]) for problem in result.entering(k)
    }


def lowest_scores(result: BenchmarkResult, selector: str, last: int) -> dict[str, float]:
    """Data set -> lowest score with 3 to `last` policies, of those where choosing matters.

    Numbers of policies with which nothing is left to gain do not count.
    """
    found = {}
    for problem in result.problems:
        scores = score_curve(problem, selector)[FIRST - 1 : last]
        if problem.matters and not np.isnan(scores).all():
            found[problem.name] = float(np.nanmin(scores))
    return found


def behind_best(result: BenchmarkResult, selector: str, k: int) -> dict[str, float]:
    """Data set -> how far the score is behind the best of the others; below 0 it is ahead.

    The others are the selectors of the result and random choice, whose score is 0.
    """
    others = [scores_at(result, n, k) for n in without_baselines(result.selectors) if n != selector]
    return {
        name: max([0.0, *(scores[name] for scores in others)]) - own
        for name, own in scores_at(result, selector, k).items()
    }


def lowest_table(result: BenchmarkResult, last: int) -> Table:
    """Lowest score of every selector on every data set with 3 to `last` policies."""
    return _plain_table(
        f"Lowest score on real matrices with k = {FIRST}..{last} policies",
        {name: lowest_scores(result, name, last) for name in without_baselines(result.selectors)},
    )


def behind_table(result: BenchmarkResult, k: int) -> Table:
    """How far every selector is behind the best of the others on every data set."""
    return _plain_table(
        f"Score behind the best of the others and Random on real matrices, K = {k}",
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
