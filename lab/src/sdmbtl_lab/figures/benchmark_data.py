"""Everything that the page of a benchmark shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.errors import BenchmarkError

if TYPE_CHECKING:
    # The page is made of a result that somebody else has read: benchmarks are not loaded here.
    from sdmbtl_lab.benchmarks.result import BenchmarkResult, ProblemResult
    from sdmbtl_lab.benchmarks.tables import Table


@dataclass(frozen=True)
class TableData:
    """A table: its title, headers, rows and notes.

    Attributes:
        title: What it shows.
        policies: K, if it is about one number of policies.
        headers: Of the columns with texts.
        columns: Of the columns with numbers.
        rows: Each with "labels", "cells" (mean, half width, published, bold; or None) and whether
            it is a "summary".
        notes: Below the table.
    """

    title: str
    policies: int | None
    headers: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class CurveData:
    """How a selector did on a problem with 1 to K policies.

    Attributes:
        selector: Its name.
        means: Mean performance.
        half_widths: Number of policies -> half the width of the 95 % interval, where known.
        choices: Strategy -> share of the matrices in which it chose, by round.
    """

    selector: str
    means: tuple[float, ...]
    half_widths: Mapping[int, float]
    choices: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class ProblemData:
    """A problem: its name, labels, and the curves."""

    name: str
    label: str
    all_policies: float | None
    curves: tuple[CurveData, ...]


@dataclass(frozen=True)
class ScoreData:
    """The aggregated score of a selector against the number of policies.

    Attributes:
        selector: Its name.
        means: By number of policies from 1 on; None where no problem enters.
        half_widths: Number of policies -> half the width of the 95 % interval, where known.
    """

    selector: str
    means: tuple[float | None, ...]
    half_widths: Mapping[int, float]


@dataclass(frozen=True)
class BenchmarkData:
    """Everything that the page of a benchmark shows.

    Attributes:
        title: Its name.
        headline: What was measured.
        summary: What is to be known of it, in sentences.
        tables: The tables.
        problems: Curves and choices of every problem.
        scores: Aggregated scores.
        settings: Names and values of the settings.
        versions: Of the software.
    """

    title: str
    headline: str
    summary: tuple[str, ...]
    tables: tuple[TableData, ...]
    problems: tuple[ProblemData, ...]
    scores: tuple[ScoreData, ...]
    settings: Mapping[str, str]
    versions: Mapping[str, str]
    kind: str = field(default="benchmark", init=False)


def benchmark_data(result: BenchmarkResult) -> BenchmarkData:
    """Gather what the page of a benchmark shows.

    Raises:
        BenchmarkError: If the result lacks something, as one that was edited may.
    """
    try:
        return _gathered(result)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise BenchmarkError(
            f"The result {result.name!r} is not complete ({error!r}), so it cannot be shown. "
            "Run the benchmark again."
        ) from None


def _gathered(result: BenchmarkResult) -> BenchmarkData:
    rounds = max(problem.rounds for problem in result.problems)
    scores = [_score(result, name, rounds) for name in result.scored]
    matrices = f"{result.trials} {'matrix' if result.trials == 1 else 'matrices'} each"
    return BenchmarkData(
        title=result.name,
        headline=f"{len(result.selectors)} selectors on {result.title}",
        summary=(
            f"{len(result.problems)} problems, {matrices}, up to {rounds} policies.",
            "Performance is the mean over all targets of the best policy's return, scaled to 0..1 "
            "over a problem. The score sets random choice to 0 and the Myopic Oracle, which knows "
            "the returns before training, to 1.",
        ),
        tables=tuple(_tables(result)),
        problems=tuple(_problem(problem) for problem in result.problems),
        scores=tuple(s for s in scores if any(mean is not None for mean in s.means)),
        settings={
            "selectors": ", ".join(result.selectors),
            "numbers of policies": ", ".join(map(str, result.policies)),
            "matrices of each problem": str(result.trials),
            "seeds": result.seeds,
            "code": result.code,
        },
        versions=result.versions,
    )


def _tables(result: BenchmarkResult) -> list[TableData]:
    performance = [_table(result.performance_table(k), k) for k in result.policies]
    if any(problem.margin is not None for problem in result.problems):
        performance.append(_table(result.margin_table(), None))
    return performance


def _table(table: Table, policies: int | None) -> TableData:
    rows = [
        {
            "labels": row.labels,
            "cells": [
                None
                if cell is None
                else [cell.mean, cell.half_width, cell.published, cell.bold, cell.digits]
                for cell in row.cells
            ],
            "summary": len(row.labels) < len(table.label_headers),
        }
        for row in table.rows
    ]
    return TableData(table.title, policies, table.label_headers, table.columns, rows, table.notes)


def _problem(problem: ProblemResult) -> ProblemData:
    curves = [
        CurveData(name, found.curve, _half_widths(problem, name), found.strategies)
        for name, found in problem.selectors.items()
        if found.curve
    ]
    label = ", ".join(f"{key} {value}" for key, value in problem.labels.items())
    return ProblemData(problem.name, label, problem.all_policies, tuple(curves))


def _half_widths(problem: ProblemResult, selector: str) -> dict[int, float]:
    by_round = problem.of(selector).half_widths
    if by_round:
        return dict(enumerate(by_round, start=1))
    found = {k: at.get("final") for k, at in problem.of(selector).at.items()}
    return {k: one.half_width for k, one in found.items() if one is not None and one.half_width}


def _score(result: BenchmarkResult, selector: str, rounds: int) -> ScoreData:
    """The paper's aggregate for every number of policies; intervals where they were computed."""
    means = [_mean_score(result, selector, k) for k in range(1, rounds + 1)]
    widths = {}
    for k, by_selector in result.aggregated.items():
        found = by_selector.get(selector, {}).get("final")
        if found is not None and found.mean is not None and found.half_width is not None:
            widths[k] = found.half_width
            means[k - 1] = found.mean
    return ScoreData(selector, tuple(means), widths)


def _mean_score(result: BenchmarkResult, selector: str, k: int) -> float | None:
    """Mean over the problems that enter of (performance - Random) / (Myopic Oracle - Random)."""
    entering = [
        (problem, margin)
        for problem in result.entering(k)
        if (margin := problem.margin_at(k)) is not None and margin > 0
    ]
    scores = [
        (problem.of(selector).curve[k - 1] - problem.of("random").curve[k - 1]) / margin
        for problem, margin in entering
        if len(problem.of(selector).curve) >= k
    ]
    return float(np.mean(scores)) if scores and len(scores) == len(entering) else None
