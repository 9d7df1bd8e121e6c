"""From the records of the benchmark on real matrices to its result and its tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.layout import (
    MULTI_TASK,
    ORACLES,
    cell,
    column_order,
    marked,
    metric_title,
    titles,
)
from sdmbtl.benchmarks.metrics import area_under_curve
from sdmbtl.benchmarks.published import Metric, published_benchmarks
from sdmbtl.benchmarks.real_benchmark import RealBenchmark, RealData
from sdmbtl.benchmarks.runner import INDEPENDENT, MYOPIC, RANDOM, record_key
from sdmbtl.benchmarks.summary import (
    aggregated,
    provenance,
    rounds_to,
    statistics,
    without_trials,
)
from sdmbtl.benchmarks.tables import Cell, Table, TableRow, mark_best
from sdmbtl.matrices.margins import CHOICE_MATTERS, CHOICE_ROUND, choice_margin
from sdmbtl.matrices.transfer_matrices import min_max

METRICS: tuple[Metric, ...] = ("final", "auc")
#: Data enter the aggregate for K policies while the oracle is so far above random choice.
LEAST_LEFT = 0.01
HEADERS = ("data", "N", "seeds", "margin")
#: Selectors that are shown in the ablation and not in the main table.
ABLATION = ("m+random", "gp+random")


def summarise(benchmark: RealBenchmark, journal: Journal) -> dict[str, Any]:
    """Everything worth keeping of a finished run, as JSON data.

    Performance is min-max normalised over all seeds of a data set, after the selectors ran: they
    see raw returns.
    """
    data = [_data(benchmark, each, journal) for each in benchmark.every_data()]
    names = [*benchmark.selectors, MULTI_TASK]
    result = {
        **benchmark.settings,
        "budgets": list(benchmark.budgets),
        "selectors": names,
        **provenance(journal.heading["code"]),
        "seeds": "matrix t: rows drawn with a seed derived from t; selectors: seed t",
        "margin": {"least": CHOICE_MATTERS, "round": CHOICE_ROUND, "least_left": LEAST_LEFT},
        "data": data,
        "aggregated": {
            str(budget): {
                name: {metric: _aggregated(data, name, budget, metric) for metric in METRICS}
                for name in names
            }
            for budget in benchmark.budgets
        },
    }
    return without_trials(result)  # type: ignore[no-any-return]


def _data(benchmark: RealBenchmark, data: RealData, journal: Journal) -> dict[str, Any]:
    returns = data.dataset.returns
    low, high = float(returns.min()), float(returns.max())
    trials = range(benchmark.matrices)
    every = [journal[record_key(data.name, t, RANDOM)]["all_policies"] for t in trials]
    reference = np.asarray(min_max(np.array(every), low, high))
    budgets = [k for k in benchmark.budgets if k <= len(data.space)]
    selectors = {}
    for name in benchmark.selectors:
        records = [journal[record_key(data.name, t, name)] for t in trials]
        curves = np.asarray(min_max(np.array([r["curve"] for r in records]), low, high))
        selectors[name] = {
            **_performance(curves, budgets, alike=len(returns) == 1),
            "rounds_to": rounds_to(curves, reference),
            "strategies": _shares([r["strategies"] for r in records if "strategies" in r]),
        }
    selectors[MULTI_TASK] = _multi_task(data, low, high, budgets)
    margin = choice_margin(min_max(returns, low, high))
    return {
        "name": data.name,
        "contexts": len(data.space),
        "dimensions": list(data.space.names),
        "seeds": len(returns),
        "low": low,
        "high": high,
        "all_policies": float(reference.mean()),
        "margin": margin,
        "matters": margin >= CHOICE_MATTERS,
        "margins": {
            str(k): selectors[MYOPIC]["curve"][k - 1] - selectors[RANDOM]["curve"][k - 1]
            for k in budgets
        },
        "selectors": selectors,
    }


def _performance(
    curves: NDArray[np.floating], budgets: list[int], *, alike: bool
) -> dict[str, Any]:
    """Statistics of (W, K) normalised curves for each number of policies."""
    return {
        "at": {
            str(budget): {
                "final": statistics(curves[:, budget - 1], alike=alike),
                "auc": statistics(area_under_curve(curves[:, :budget]), alike=alike),
            }
            for budget in budgets
        },
        "curve": curves.mean(axis=0).tolist(),
    }


def _shares(strategies: list[list[str]]) -> dict[str, list[float]]:
    """Strategy -> (K,) share of the trials in which it chose in each round."""
    names = sorted({name for run in strategies for name in run})
    chosen = np.array(strategies)
    return {name: (chosen == name).mean(axis=0).tolist() for name in names}


def _multi_task(data: RealData, low: float, high: float, budgets: list[int]) -> dict[str, Any]:
    """The policies trained on all targets, one for each seed; they exist for some budgets only."""
    found = {k: data.dataset.multi_task.get(k) for k in budgets}
    return {
        "at": {
            str(k): {"final": statistics(np.asarray(min_max(returns.mean(axis=1), low, high)))}
            for k, returns in found.items()
            if returns is not None
        }
    }


def _aggregated(data: list[dict[str, Any]], name: str, budget: int, metric: str) -> dict[str, Any]:
    """Over the data sets that enter; those that lack a value are left out and named."""
    entries = entering(data, budget)
    known = [d for d in entries if metric in d["selectors"][name]["at"].get(str(budget), {})]
    if not known:
        return {"mean": None, "half_width": None, "why": "It is known for no data set."}

    def each(which: str, key: str) -> dict[str, Any]:
        return {d["name"]: d["selectors"][which]["at"][str(budget)][metric][key] for d in known}

    scores = aggregated(each(name, "trials"), each(RANDOM, "mean"), each(MYOPIC, "mean"))
    without = [d["name"] for d in entries if d not in known]
    return {**scores, "without": without} if without else scores


def entering(data: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    """The data sets that enter the aggregate for so many policies.

    Those where choosing matters, as long as there is something left to gain: a score that is
    divided by nearly nothing says nothing.
    """
    return [d for d in data if d["matters"] and d["margins"].get(str(budget), 0.0) >= LEAST_LEFT]


# -- tables ------------------------------------------------------------------------------------


def performance_table(
    result: dict[str, Any],
    budget: int,
    metric: Metric = "final",
    statistic: str = "mean",
    *,
    ablation: bool = False,
) -> Table:
    """The paper's main table: a row for each data set, a column for each selector.

    Args:
        result: As `summarise` returns it.
        budget: K, one of the result's budgets.
        metric: "final" (performance with K policies) or "auc" (mean over 1..K policies).
        statistic: "mean" over the matrices, "median" or "iqm" (interquartile mean).
        ablation: Show the strategies alone and with random choice, instead of the main table.
    """
    names = _columns(result, metric, ablation=ablation)
    shown = [d for d in result["data"] if str(budget) in d["margins"]]
    rows = [_row(d, names, budget, metric, statistic) for d in shown]
    notes = _notes(result, budget)
    if statistic == "mean":
        rows.append(_aggregated_row(result["aggregated"][str(budget)], names, metric))
        rows += _paper_rows(names, budget, metric)
        notes += _notes_without(result["aggregated"][str(budget)], names, metric)
        notes += _paper_notes(budget, metric)
    return Table(
        title=f"{metric_title(metric, statistic)}, real matrices, K = {budget}, "
        f"{result['matrices']} drawn from the seeds" + (", ablation" if ablation else ""),
        label_headers=HEADERS,
        columns=titles(names),
        rows=tuple(rows),
        notes=notes,
    )


def margin_table(result: dict[str, Any]) -> Table:
    """How much there is to gain by choosing, for every data set."""
    budgets = [str(k) for k in result["budgets"]]
    rows = [
        TableRow(
            (d["name"], str(d["contexts"]), str(d["seeds"]), "yes" if d["matters"] else "no"),
            (
                Cell(d["margin"], None),
                *[Cell(d["margins"][k], None) if k in d["margins"] else None for k in budgets],
                Cell(d["all_policies"], None),
            ),
        )
        for d in result["data"]
    ]
    return Table(
        title="What choosing can gain: Myopic Oracle less Random",
        label_headers=("data", "N", "seeds", "matters"),
        columns=("margin", *[f"drawn, K = {k}" for k in budgets], "all policies"),
        rows=tuple(rows),
        notes=(
            f"Margin: with {CHOICE_ROUND} policies, on the seeds as they are; choosing matters "
            f"where it is at least {CHOICE_MATTERS:g}. Beside it, on the drawn matrices.",
            "All policies: what all N together reach, the best for each target.",
        ),
    )


def rounds_table(result: dict[str, Any], epsilon: float) -> Table:
    """Rounds until performance is within `epsilon` of what all policies together reach."""
    names = [n for n in column_order(result["selectors"]) if n not in (MULTI_TASK, INDEPENDENT)]
    rows = []
    for entry in result["data"]:
        medians = [entry["selectors"][n]["rounds_to"][f"{epsilon:g}"]["median"] for n in names]
        cells = tuple(None if median is None else Cell(median, None) for median in medians)
        rows.append(TableRow(_labels(entry, CHOICE_ROUND), cells))
    return Table(
        title=f"Rounds to {epsilon:g}-suboptimal, real matrices, median",
        label_headers=HEADERS,
        columns=titles(names),
        rows=tuple(rows),
        notes=(
            f"Empty where less than half of the matrices get there in {result['rounds']} rounds. "
            "Random: the round in which its expected performance gets there.",
        ),
    )


def strategy_table(result: dict[str, Any], selector: str) -> Table | None:
    """Which strategy chose in some of the rounds; None if the selector has one or none."""
    found = [d for d in result["data"] if len(d["selectors"][selector].get("strategies", {})) > 1]
    if not found:
        return None
    longest = max(len(d["selectors"][selector]["curve"]) for d in found)
    rounds = [k for k in (1, 5, 6, 8, 10, 12, 16, 20, 30, 40, 50) if k <= longest]
    rows = []
    for entry in found:
        for strategy, shares in entry["selectors"][selector]["strategies"].items():
            cells = tuple(Cell(shares[k - 1], None) if k <= len(shares) else None for k in rounds)
            rows.append(TableRow((entry["name"], strategy), cells))
    return Table(
        title=f"Share of the matrices in which a strategy chose, {titles([selector])[0]}",
        label_headers=("data", "strategy"),
        columns=tuple(f"round {k}" for k in rounds),
        rows=tuple(rows),
    )


def strategy_tables(result: dict[str, Any]) -> list[Table]:
    """The strategies of every selector that has several, the ablations left out."""
    names = [n for n in column_order(result["selectors"]) if n not in (*ABLATION, MULTI_TASK)]
    tables = [strategy_table(result, name) for name in names]
    return [table for table in tables if table is not None]


def _columns(result: dict[str, Any], metric: str, *, ablation: bool) -> list[str]:
    names = column_order(result["selectors"])
    if ablation:
        wanted = {RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", *ABLATION, MYOPIC}
        return [n for n in names if n in wanted]
    return [n for n in names if n not in ABLATION and (metric == "final" or n != MULTI_TASK)]


def _row(
    entry: dict[str, Any], names: list[str], budget: int, metric: Metric, statistic: str
) -> TableRow:
    values = [entry["selectors"][name]["at"].get(str(budget), {}).get(metric) for name in names]
    cells = [None if value is None else cell(value, None, statistic) for value in values]
    return TableRow(_labels(entry, budget), marked(cells, names))


def _aggregated_row(aggregate: dict[str, Any], names: list[str], metric: Metric) -> TableRow:
    """The aggregate; a column over fewer data sets does not compete with the others."""
    cells = [cell(aggregate[n][metric], None) for n in names]
    apart = {i for i, n in enumerate(names) if n in ORACLES or "without" in aggregate[n][metric]}
    return TableRow(("Aggregated",), mark_best(cells, apart))


def _notes_without(aggregate: dict[str, Any], names: list[str], metric: Metric) -> tuple[str, ...]:
    missing = [(n, aggregate[n][metric].get("without")) for n in names]
    return tuple(
        f"The aggregate of {titles([name])[0]} is without {', '.join(without)}."
        for name, without in missing
        if without
    )


def _paper_rows(names: list[str], budget: int, metric: Metric) -> list[TableRow]:
    """The paper's values for so many policies, on its own matrices."""
    table = published_benchmarks(metric)
    rows = [(f"paper: {r.name}", r.values) for r in table.rows if r.rounds == budget]
    if not rows:
        return []
    rows.append(("paper: aggregated, K = 12 and 50", table.aggregated))
    return [
        TableRow(
            (title, *[""] * (len(HEADERS) - 1)),
            tuple(Cell(*values[n]) if n in values else None for n in names),
        )
        for title, values in rows
    ]


def _paper_notes(budget: int, metric: Metric) -> tuple[str, ...]:
    table = published_benchmarks(metric)
    if all(row.rounds != budget for row in table.rows):
        return ()
    notes = ("The paper's rows are for its own matrices: to be compared in kind.",)
    return notes if table.note is None else (*notes, f"The paper: {table.note}")


def _labels(entry: dict[str, Any], budget: int) -> tuple[str, ...]:
    margin = entry["margins"].get(str(budget))
    shown = "-" if margin is None else f"{round(margin, 3) + 0.0:.3f}"  # no -0.000
    return (entry["name"], str(entry["contexts"]), str(entry["seeds"]), shown)


def _notes(result: dict[str, Any], budget: int) -> tuple[str, ...]:
    names = [d["name"] for d in entering(result["data"], budget)]
    return (
        "Performance is min-max normalised over the data set. Intervals are 95 % bootstrap over "
        "the matrices: how well the mean over matrices drawn from these seeds is known, not how "
        "other trainings would come out.",
        f"Margin: Myopic Oracle less Random with {budget} policies.",
        "Aggregated: mean of (performance - Random) / (Myopic Oracle - Random) over "
        f"{', '.join(names) or 'no data set'}: where choosing matters, and the margin is still at "
        f"least {LEAST_LEFT:g}.",
        "Independent trains a policy on every context, N instead of K. Multi-task is one policy "
        "that sees its context, trained with the steps of K.",
    )
