"""Tables of a benchmark result, as the paper prints them."""

from __future__ import annotations

from collections.abc import Iterator

from sdmbtl.transfer.detection import MOUNTAIN
from sdmbtl.wording import counted
from sdmbtl_lab.benchmarks.columns import (
    ABLATION,
    MULTI_TASK,
    MYOPIC,
    ORACLES,
    PREDICTIVE,
    RANDOM,
    column_order,
    titles,
    without_baselines,
)
from sdmbtl_lab.benchmarks.published import Printed, printed_next_to
from sdmbtl_lab.benchmarks.result import BenchmarkResult, ProblemResult
from sdmbtl_lab.benchmarks.tables import Cell, Table, TableRow, mark_best
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS, CHOICE_ROUND

#: With K policies: performance, its mean over 1..K policies, performance on the scale where Random
#: is 0 and the Myopic Oracle 1, and performance minus that of Random on the same matrix.
METRICS = {
    "final": "Performance",
    "auc": "Area under the performance curve",
    "score": "Normalised performance",
    "ahead": "Performance minus that of Random",
}
#: Rounds for which tables show the strategy that chose.
SHOWN_ROUNDS = (1, 5, 6, 8, 10, 12, 16, 20, 30, 40, 50)


def paper_tables(result: BenchmarkResult, *, auc: bool = False) -> Iterator[Table]:
    """Yield the main tables, from the possible gain to the strategies."""
    if any(problem.margin is not None for problem in result.problems):
        yield margin_table(result)
    for metric in ("final", "auc") if auc else ("final",):
        for ablation in (False, True) if set(ABLATION) & set(result.selectors) else (False,):
            for k in result.policies:
                yield performance_table(result, k, metric, ablation=ablation)
    shares = mountain_table(result)
    if shares is not None:
        yield shares
    yield from strategy_tables(result)


def performance_table(
    result: BenchmarkResult, k: int | None = None, metric: str = "final", *, ablation: bool = False
) -> Table:
    """Make the paper's table: a row per problem, a column per selector, the aggregate.

    Args:
        result: The result.
        k: K; after the last round of each problem if left out.
        metric: One of `METRICS`.
        ablation: Show the paper's ablation instead of all selectors.
    """
    k = _common(result, k)
    names = _columns(result, metric, ablation=ablation)
    printed = Printed()
    if k is not None:
        problems = [problem.name for problem in result.problems]
        printed = printed_next_to(result.settings, problems, k, metric, result.trials)
    rows = [
        _performance_row(result, problem, names, k, metric, printed)
        for problem in result.problems
        if k is None or k <= problem.rounds
    ]
    notes = [
        "Performance is scaled to 0..1 over the problem; intervals are 95 % bootstrap over the "
        "matrices.",
        *result.notes,
    ]
    by_name = {} if k is None else result.aggregated.get(k, {})
    aggregated = {name: metrics[metric] for name, metrics in by_name.items() if metric in metrics}
    if aggregated:
        cells: list[Cell | None] = []
        for name in names:
            one, paper = aggregated[name], printed.aggregated.get(name)
            published = None if paper is None else paper.mean
            known = one.mean
            cells.append(None if known is None else Cell(known, one.half_width, published))
        # A column over fewer problems does not compete with the others.
        apart = {i for i, n in enumerate(names) if n in ORACLES or aggregated[n].without}
        rows.append(TableRow(("Aggregated",), mark_best(cells, apart)))
        rows += [
            TableRow(
                (title, *[""] * (len(result.headers) - 1)),
                tuple(Cell(*values[n]) if n in values else None for n in names),
            )
            for title, values in printed.rows.items()
        ]
        notes.append(_note_on_aggregate(result, k))
        notes += [
            f"The aggregate of {titles([n])[0]} is without {', '.join(aggregated[n].without)}."
            for n in names
            if aggregated[n].without
        ]
    title = f"{METRICS[metric]}, {_measured_on(result, k)}{', ablation' if ablation else ''}"
    notes += printed.notes
    return Table(title, result.headers, titles(names), tuple(rows), tuple(notes))


def margin_table(result: BenchmarkResult) -> Table:
    """Make the table of the possible gain of choosing, for every problem."""
    headers = tuple(h for h in result.headers if h != "margin")
    rows = [
        TableRow(
            (*(p.labels[h] for h in headers), "yes" if p.matters else "no"),
            tuple(
                None if value is None else Cell(value)
                for value in (p.margin, *map(p.margin_at, result.policies), p.all_policies)
            ),
        )
        for p in result.problems
    ]
    return Table(
        title="Possible gain of choosing: Myopic Oracle minus Random",
        label_headers=(*headers, "matters"),
        columns=("margin", *[f"drawn, K = {k}" for k in result.policies], "all policies"),
        rows=tuple(rows),
        notes=(
            f"Margin: with {CHOICE_ROUND} policies, on the seeds as they are; choosing matters "
            f"where it is at least {CHOICE_MATTERS:g}. Drawn: on the drawn matrices.",
            "All policies: all N together, the best for each target.",
        ),
    )


def mountain_table(result: BenchmarkResult) -> Table | None:
    """Make the table of the share of rounds with Mountain detected; None without a detector."""
    # Shipped results of the default selector have models where others have structures.
    names = [
        n
        for n in result.selectors
        if n != PREDICTIVE and any(set(p.of(n).structures) - {"None"} for p in result.problems)
    ]
    if not names:
        return None
    rows = [
        _row(
            result,
            problem,
            problem.rounds,
            tuple(Cell(problem.of(n).structures.get(MOUNTAIN, 0.0)) for n in names),
        )
        for problem in result.problems
    ]
    where = _measured_on(result, _common(result, None))
    title = f"Share of rounds after the fifth in which Mountain was detected, {where}"
    return Table(title, result.headers, titles(names), tuple(rows))


def strategy_tables(result: BenchmarkResult) -> Iterator[Table]:
    """Yield the strategies in some rounds, for every selector that has several.

    The ablations and the default selector are left out.
    """
    for name in column_order(result.selectors):
        found = [p for p in result.problems if len(p.of(name).strategies) > 1]
        if name in (*ABLATION, MULTI_TASK, PREDICTIVE) or not found:
            continue
        rounds = [k for k in SHOWN_ROUNDS if k <= max(p.rounds for p in found)]
        rows = [
            TableRow(
                (problem.name, strategy),
                tuple(Cell(shares[k - 1]) if k <= len(shares) else None for k in rounds),
            )
            for problem in found
            for strategy, shares in problem.of(name).strategies.items()
        ]
        title = f"Share of the matrices in which a strategy chose, {titles([name])[0]}"
        columns = tuple(f"round {k}" for k in rounds)
        yield Table(title, ("problem", "strategy"), columns, tuple(rows))


def _common(result: BenchmarkResult, k: int | None) -> int | None:
    """Return a number of policies; by default that of all problems, None if they differ."""
    rounds = {problem.rounds for problem in result.problems} or {result.policies[-1]}
    return rounds.pop() if k is None and len(rounds) == 1 else k


def _measured_on(result: BenchmarkResult, k: int | None) -> str:
    policies = "" if k is None else f", K = {k}"
    return f"{result.title}{policies}, {counted(result.trials, 'matrix', 'matrices')}"


def _columns(result: BenchmarkResult, metric: str, *, ablation: bool) -> list[str]:
    if metric in ("score", "ahead"):  # without the ends of their scale
        return without_baselines(result.selectors)
    names = column_order(result.selectors)
    if ablation:
        wanted = {RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", *ABLATION, MYOPIC}
        return [n for n in names if n in wanted]
    return [n for n in names if n not in ABLATION and (metric == "final" or n != MULTI_TASK)]


def _performance_row(
    result: BenchmarkResult,
    problem: ProblemResult,
    names: list[str],
    k: int | None,
    metric: str,
    printed: Printed,
) -> TableRow:
    k = problem.rounds if k is None else k
    cells: list[Cell | None] = []
    for name in names:
        found = problem.statistics(name, k, metric)
        paper = printed.cells.get(problem.name, {}).get(name)
        published = None if paper is None else paper.mean
        cells.append(None if found is None else Cell(found.mean, found.half_width, published))
    oracles = {i for i, name in enumerate(names) if name in ORACLES}
    return _row(result, problem, k, mark_best(cells, oracles))


def _row(
    result: BenchmarkResult, problem: ProblemResult, k: int, cells: tuple[Cell | None, ...]
) -> TableRow:
    margin = problem.margin_at(k) if "margin" in result.headers else None
    computed = {
        "K": str(k),
        "margin": "-" if margin is None else f"{round(margin, 3) + 0.0:.3f}",  # no -0.000
    }
    labels = {**computed, **problem.labels}
    return TableRow(tuple(labels[h] for h in result.headers), cells, shaded=problem.mountain)


def _note_on_aggregate(result: BenchmarkResult, k: int | None) -> str:
    over = "the rows"
    if result.least_margin is not None and k is not None:
        names = ", ".join(problem.name for problem in result.entering(k))
        over = (
            f"{names or 'no data set'}: where choosing matters, and the margin is still at least "
            f"{result.least_margin:g}"
        )
    return f"Aggregated: mean of (performance - Random) / (Myopic Oracle - Random) over {over}."
