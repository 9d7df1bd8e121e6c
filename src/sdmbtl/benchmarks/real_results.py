"""From the records of the benchmark on real matrices to its result and its tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.layout import (
    MULTI_TASK,
    cell,
    column_order,
    marked,
    metric_title,
    titles,
)
from sdmbtl.benchmarks.metrics import CHOICE_MATTERS, CHOICE_ROUND, area_under_curve
from sdmbtl.benchmarks.published import Metric, published_benchmarks
from sdmbtl.benchmarks.real_benchmark import RealBenchmark, RealData
from sdmbtl.benchmarks.runner import MYOPIC, RANDOM, record_key
from sdmbtl.benchmarks.summary import aggregated, provenance, rounds_to, statistics
from sdmbtl.benchmarks.tables import Cell, Table, TableRow
from sdmbtl.structure import MOUNTAIN
from sdmbtl.transfer.matrix import min_max

METRICS: tuple[Metric, ...] = ("final", "auc")
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
        "margin": {"least": CHOICE_MATTERS, "budget": CHOICE_ROUND},
        "data": data,
        "aggregated": {
            str(budget): {
                name: {metric: _aggregated(data, name, budget, metric) for metric in METRICS}
                for name in names
            }
            for budget in benchmark.budgets
        },
    }
    _forget_trials(result)
    return result


def _data(benchmark: RealBenchmark, data: RealData, journal: Journal) -> dict[str, Any]:
    returns = data.dataset.returns
    low, high = float(returns.min()), float(returns.max())
    trials = range(benchmark.matrices)
    every = [journal[record_key(data.name, t, RANDOM)]["all_policies"] for t in trials]
    reference = np.asarray(min_max(np.array(every), low, high))
    budgets = [k for k in benchmark.budgets if k <= len(data.space)]
    selectors = {
        name: _selector(
            [journal[record_key(data.name, t, name)] for t in trials], low, high, reference, budgets
        )
        for name in benchmark.selectors
    }
    selectors[MULTI_TASK] = _multi_task(benchmark, data, low, high, budgets)
    margin = _margin(selectors)
    return {
        "name": data.name,
        "contexts": len(data.space),
        "dimensions": list(data.space.names),
        "seeds": len(returns),
        "low": low,
        "high": high,
        "all_policies": float(reference.mean()),
        "margin": margin,
        "matters": margin is not None and margin >= CHOICE_MATTERS,
        "selectors": selectors,
    }


def _selector(
    records: list[dict[str, Any]],
    low: float,
    high: float,
    reference: NDArray[np.floating],
    budgets: list[int],
) -> dict[str, Any]:
    curves = np.asarray(min_max(np.array([r["curve"] for r in records]), low, high))
    data: dict[str, Any] = {
        "at": {
            str(budget): {
                "final": statistics(curves[:, budget - 1]),
                "auc": statistics(area_under_curve(curves[:, :budget])),
            }
            for budget in budgets
        },
        "curve": curves.mean(axis=0).tolist(),
        "rounds_to": rounds_to(curves, reference),
    }
    structures = [r["structures"] for r in records if "structures" in r]
    if structures and any(s is not None for run in structures for s in run):
        chosen = np.array([[s == MOUNTAIN for s in run] for run in structures])
        data["mountain"] = chosen.mean(axis=0).tolist()
    return data


def _multi_task(
    benchmark: RealBenchmark, data: RealData, low: float, high: float, budgets: list[int]
) -> dict[str, Any]:
    """The policy trained on all targets; it exists at some budgets, so it has no curve."""
    found = {k: data.multi_task(k, benchmark.matrices) for k in budgets}
    return {
        "at": {
            str(k): {"final": statistics(np.asarray(min_max(values, low, high)))}
            for k, values in found.items()
            if values is not None
        }
    }


def _margin(selectors: dict[str, Any]) -> float | None:
    """How far the oracle is above random choice, of the normalised range; None if unknown."""
    curves = [selectors[name]["curve"] for name in (MYOPIC, RANDOM)]
    if len(curves[0]) < CHOICE_ROUND:
        return None
    oracle, random = (curve[CHOICE_ROUND - 1] for curve in curves)
    return float(oracle - random)


def _aggregated(data: list[dict[str, Any]], name: str, budget: int, metric: str) -> dict[str, Any]:
    """Over the data sets where choosing matters."""

    def at(entry: dict[str, Any], which: str) -> dict[str, Any] | None:
        found: dict[str, Any] = entry["selectors"][which]["at"].get(str(budget), {})
        return found.get(metric)

    entries = [d for d in data if d["matters"] and at(d, name) and at(d, RANDOM)]
    if not entries:
        return {"mean": None, "half_width": None, "why": "There is no such data set."}

    def means(which: str) -> dict[str, float]:
        return {
            d["name"]: d["selectors"][which]["at"][str(budget)][metric]["mean"] for d in entries
        }

    trials = {d["name"]: d["selectors"][name]["at"][str(budget)][metric]["trials"] for d in entries}
    return {
        **aggregated(trials, means(RANDOM), means(MYOPIC)),
        "data": len(entries),
    }


def _forget_trials(value: Any) -> None:
    """Drop single trials, which nobody reads after the aggregate: they are most of the file."""
    if isinstance(value, dict):
        value.pop("trials", None)
        for inner in value.values():
            _forget_trials(inner)
    elif isinstance(value, list):
        for inner in value:
            _forget_trials(inner)


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
    shown = [d for d in result["data"] if str(budget) in d["selectors"][RANDOM]["at"]]
    rows = [_row(d, names, budget, metric, statistic) for d in shown]
    if statistic == "mean":
        cells = [cell(result["aggregated"][str(budget)][n][metric], None) for n in names]
        rows.append(TableRow(("Aggregated",), marked(cells, names)))
        rows += _paper_rows(names, budget, metric)
    return Table(
        title=f"{metric_title(metric, statistic)}, real matrices, K = {budget}, "
        f"{result['matrices']} drawn from the seeds" + (", ablation" if ablation else ""),
        label_headers=("data", "N", "margin"),
        columns=titles(names),
        rows=tuple(rows),
        notes=_notes(result),
    )


def margin_table(result: dict[str, Any]) -> Table:
    """How much there is to gain by choosing, for every data set."""
    rows = [
        TableRow(
            (d["name"], str(d["contexts"]), str(d["seeds"]), "yes" if d["matters"] else "no"),
            (
                Cell(d["selectors"][RANDOM]["curve"][CHOICE_ROUND - 1], None),
                Cell(d["selectors"][MYOPIC]["curve"][CHOICE_ROUND - 1], None),
                None if d["margin"] is None else Cell(d["margin"], None),
                Cell(d["all_policies"], None),
            ),
        )
        for d in result["data"]
    ]
    return Table(
        title=f"What choosing can gain at K = {CHOICE_ROUND}",
        label_headers=("data", "N", "seeds", "matters"),
        columns=("Random", "Myopic Oracle", "margin", "all policies"),
        rows=tuple(rows),
        notes=(f"Data with a margin of at least {CHOICE_MATTERS:g} enter the aggregate.",),
    )


def rounds_table(result: dict[str, Any], epsilon: float) -> Table:
    """Rounds until performance is within `epsilon` of what all policies together reach."""
    names = [n for n in column_order(result["selectors"]) if n != MULTI_TASK]
    rows = []
    for entry in result["data"]:
        reached = [entry["selectors"][n]["rounds_to"][f"{epsilon:g}"] for n in names]
        cells = tuple(
            None if r["rounds"] is None or r["reached"] < 1 else Cell(r["rounds"], None)
            for r in reached
        )
        rows.append(TableRow(_labels(entry), cells))
    return Table(
        title=f"Rounds to {epsilon:g}-suboptimal, real matrices",
        label_headers=("data", "N", "margin"),
        columns=titles(names),
        rows=tuple(rows),
        notes=(f"Empty where some matrix did not get there in {result['rounds']} rounds.",),
    )


def strategy_table(result: dict[str, Any], selector: str = "m/gp-mbtl") -> Table | None:
    """In which share of the matrices Mountain was detected before each of some rounds."""
    found = [d for d in result["data"] if "mountain" in d["selectors"].get(selector, {})]
    if not found:
        return None
    longest = max(len(d["selectors"][selector]["mountain"]) for d in found)
    rounds = [k for k in (5, 6, 8, 10, 12, 16, 20, 30, 40, 50) if k <= longest]
    rows = []
    for entry in found:
        shares = entry["selectors"][selector]["mountain"]
        cells = tuple(Cell(shares[k - 1], None) if k <= len(shares) else None for k in rounds)
        rows.append(TableRow(_labels(entry), cells))
    return Table(
        title=f"Share of the matrices in which {titles([selector])[0]} took the Mountain strategy",
        label_headers=("data", "N", "margin"),
        columns=tuple(f"round {k}" for k in rounds),
        rows=tuple(rows),
    )


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
    return TableRow(_labels(entry), marked(cells, names))


def _paper_rows(names: list[str], budget: int, metric: Metric) -> list[TableRow]:
    """The paper's values for so many policies, on its own matrices."""
    table = published_benchmarks(metric)
    rows = [(f"paper: {r.name}", r.values) for r in table.rows if r.rounds == budget]
    if not rows:
        return []
    rows.append(("paper: aggregated", table.aggregated))
    return [
        TableRow(
            (title, "", ""),
            tuple(Cell(*values[n]) if n in values else None for n in names),
        )
        for title, values in rows
    ]


def _labels(entry: dict[str, Any]) -> tuple[str, str, str]:
    margin = "-" if entry["margin"] is None else f"{entry['margin']:.3f}"
    return (entry["name"], str(entry["contexts"]), margin)


def _notes(result: dict[str, Any]) -> tuple[str, ...]:
    count = sum(d["matters"] for d in result["data"])
    return (
        "Performance is min-max normalised over the data set; intervals are 95 % bootstrap over "
        "the matrices.",
        "Margin: Myopic Oracle - Random with 6 policies. Aggregated: mean of (performance - "
        f"Random) / (Myopic Oracle - Random) over the {count} data set(s) with a margin of at "
        f"least {CHOICE_MATTERS:g}.",
        "Independent trains a policy on every context, N instead of K. Multi-task is one policy "
        "that sees its context, trained with the steps of K.",
        "The paper's rows are for its own matrices, and its aggregate for all four of its "
        "benchmarks: to be compared in kind.",
    )
