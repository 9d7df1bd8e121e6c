"""Scores on matrices of real training, for every data set where choosing matters.

The score of a selector with k policies is (performance - Random) / (Myopic Oracle - Random), as in
the aggregate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.layout import cell, choosing, marked, titles
from sdmbtl.benchmarks.metrics import normalised_performance
from sdmbtl.benchmarks.real_results import LEAST_LEFT, entering
from sdmbtl.benchmarks.runner import MYOPIC, RANDOM
from sdmbtl.benchmarks.tables import Cell, Table, TableRow

#: Scores are looked at from so many policies on.
FIRST = 3


def scores_at(result: dict[str, Any], selector: str, budget: int) -> dict[str, float]:
    """Data set -> score with so many policies, of those that enter the aggregate.

    Args:
        result: As `real_results.summarise` returns it.
        selector: Its name.
        budget: K, one of the result's budgets.
    """
    return {
        entry["name"]: float(_score_curve(entry, selector)[budget - 1])
        for entry in entering(result["data"], budget)
    }


def lowest_scores(result: dict[str, Any], selector: str, last: int) -> dict[str, float]:
    """Data set -> lowest score with 3 to `last` policies, of those where choosing matters.

    Numbers of policies with which nothing is left to gain do not count.
    """
    found = {}
    for entry in result["data"]:
        scores = _score_curve(entry, selector)[FIRST - 1 : last]
        if entry["matters"] and not np.isnan(scores).all():
            found[entry["name"]] = float(np.nanmin(scores))
    return found


def behind_best(result: dict[str, Any], selector: str, budget: int) -> dict[str, float]:
    """Data set -> how far the score is behind the best of the others; below 0 it is ahead.

    The others are the selectors of the result and random choice, whose score is 0.
    """
    others = [scores_at(result, n, budget) for n in choosing(result["selectors"]) if n != selector]
    return {
        name: max([0.0, *(scores[name] for scores in others)]) - own
        for name, own in scores_at(result, selector, budget).items()
    }


def _score_curve(entry: dict[str, Any], selector: str) -> NDArray[np.float64]:
    """(K,) scores with 1..K policies; NaN where the oracle is hardly above random choice."""
    own, random, oracle = (
        np.array(entry["selectors"][name]["curve"]) for name in (selector, RANDOM, MYOPIC)
    )
    left = oracle - random >= LEAST_LEFT
    scores = np.full(len(own), np.nan)
    scores[left] = normalised_performance(own[left], random[left], oracle[left])
    return scores


def score_table(result: dict[str, Any], budget: int) -> Table:
    """Score of every selector on every data set with so many policies, and the aggregate."""
    names = choosing(result["selectors"])
    rows = []
    for entry in entering(result["data"], budget):
        margin = entry["margins"][str(budget)]
        cells: list[Cell | None] = []
        for name in names:
            width = entry["selectors"][name]["at"][str(budget)]["final"]["half_width"]
            score = scores_at(result, name, budget)[entry["name"]]
            cells.append(Cell(score, None if width is None else width / margin))
        rows.append(TableRow((entry["name"], f"{margin:.3f}"), marked(cells, names)))
    total = [cell(result["aggregated"][str(budget)][name]["final"], None) for name in names]
    rows.append(TableRow(("Aggregated",), marked(total, names)))
    return Table(
        title=f"Score on real matrices, K = {budget}, {result['matrices']} drawn from the seeds",
        label_headers=("data", "margin"),
        columns=titles(names),
        rows=tuple(rows),
        notes=(
            "Score: (performance - Random) / (Myopic Oracle - Random), where choosing matters and "
            f"the margin, Myopic Oracle less Random, is still at least {LEAST_LEFT:g}.",
        ),
    )


def lowest_table(result: dict[str, Any], last: int) -> Table:
    """Lowest score of every selector on every data set with 3 to `last` policies."""
    return _plain_table(
        f"Lowest score on real matrices with k = {FIRST}..{last} policies",
        {name: lowest_scores(result, name, last) for name in choosing(result["selectors"])},
    )


def behind_table(result: dict[str, Any], budget: int) -> Table:
    """How far every selector is behind the best of the others on every data set."""
    return _plain_table(
        f"Score behind the best of the others and Random on real matrices, K = {budget}",
        {name: behind_best(result, name, budget) for name in choosing(result["selectors"])},
    )


def _plain_table(title: str, values: dict[str, dict[str, float]]) -> Table:
    """A table of selector -> data set -> value; all selectors have the same data sets."""
    names = list(values)
    rows = [
        TableRow((data,), tuple(Cell(values[name][data], None) for name in names))
        for data in (values[names[0]] if names else ())
    ]
    return Table(title, ("data",), titles(names), tuple(rows))
