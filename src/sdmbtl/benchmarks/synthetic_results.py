"""From the records of the synthetic benchmark to its result, and from that to the paper's table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.layout import (
    cell,
    column_order,
    marked,
    metric_title,
    printed_value,
    titles,
    trials_text,
)
from sdmbtl.benchmarks.metrics import area_under_curve, strategy_shares
from sdmbtl.benchmarks.published import PublishedTable, published_table
from sdmbtl.benchmarks.runner import MYOPIC, RANDOM, record_key
from sdmbtl.benchmarks.summary import (
    aggregated,
    provenance,
    return_range,
    rounds_to,
    statistics,
)
from sdmbtl.benchmarks.synthetic import GRIDS, SyntheticConfiguration
from sdmbtl.benchmarks.synthetic_benchmark import SyntheticBenchmark
from sdmbtl.benchmarks.tables import Cell, Table, TableRow
from sdmbtl.detection import MOUNTAIN
from sdmbtl.matrices.transfer_matrices import min_max

#: Strategy shares leave out the rounds in which the paper's detector is not asked yet.
SKIPPED_ROUNDS = 5

H_TITLES = {"l1": "L1 norm", "non-distance": "Non-distance"}


def summarise(benchmark: SyntheticBenchmark, journal: Journal) -> dict[str, Any]:
    """Everything worth keeping of a finished run, as JSON data.

    Performance is min-max normalised over all trials of a configuration, after the selectors
    ran: they see raw returns.
    """
    configurations = [_configuration(benchmark, c, journal) for c in benchmark.configurations]
    return {
        **benchmark.settings,
        "selectors": list(benchmark.selectors),
        **provenance(journal.heading["code"]),
        "seeds": "noise of trial t: np.random.RandomState(t); selectors: seed t",
        "configurations": configurations,
        "aggregated": {
            name: {
                "final": _aggregated(configurations, name, "final"),
                "auc": _aggregated(configurations, name, "auc"),
            }
            for name in benchmark.selectors
        },
    }


def performance_table(
    result: dict[str, Any], metric: str = "final", statistic: str = "mean"
) -> Table:
    """The paper's table: a row for each configuration, a column for each selector.

    Args:
        result: As `summarise` returns it.
        metric: "final" (performance after the last round) or "auc" (mean over the rounds).
        statistic: "mean" over the trials, "median" or "iqm" (interquartile mean).
    """
    published = _published(result) if (metric, statistic) == ("final", "mean") else None
    names = column_order(result["selectors"])
    rows = [_table_row(c, names, metric, statistic, published) for c in result["configurations"]]
    if statistic == "mean":
        cells = [
            cell(
                result["aggregated"][n][metric],
                printed_value(published and published.aggregated, n),
            )
            for n in names
        ]
        rows.append(TableRow(("Aggregated",), marked(cells, names)))
    notes = [
        "J = f(x) + g(y) + h(x,y) + 500 + noise: policy quality, task difficulty, dissimilarity.",
        "Performance is min-max normalised; intervals are 95 % bootstrap over the trials.",
        "Aggregated: mean of (performance - Random) / (Myopic Oracle - Random) over the rows.",
        "Random is the exact expectation over all random choices; the oracle knows the matrices.",
    ]
    if published is not None:
        paper_trials = GRIDS[result["dim"]][3]
        if result["noise"] > 0 and result["trials"] != paper_trials:
            notes.append(
                f"The paper has {paper_trials} trials: oracle and aggregate differ with it."
            )
        if published.note:
            notes.append(published.note)
    return Table(
        title=f"{metric_title(metric, statistic)}, {_data(result)}",
        label_headers=("f(x)", "g(y)", "h(x,y)"),
        columns=titles(names),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def share_table(result: dict[str, Any]) -> Table | None:
    """Share of rounds after the fifth with Mountain detected, for selectors that detect."""
    names = [
        n
        for n in result["selectors"]
        if any(
            set(c["selectors"][n].get("structures", {})) - {"None"}
            for c in result["configurations"]
        )
    ]
    if not names:
        return None
    rows = [
        TableRow(
            _labels(c),
            tuple(Cell(c["selectors"][n]["structures"].get(MOUNTAIN, 0.0), None) for n in names),
            shaded=c["mountain"],
        )
        for c in result["configurations"]
    ]
    return Table(
        title=f"Share of rounds after the fifth in which Mountain was detected, {_data(result)}",
        label_headers=("f(x)", "g(y)", "h(x,y)"),
        columns=titles(names),
        rows=tuple(rows),
    )


def rounds_table(result: dict[str, Any], epsilon: float) -> Table:
    """Rounds until performance is within `epsilon` of what all policies together reach.

    Args:
        result: As `summarise` returns it.
        epsilon: One of `EPSILONS`.
    """
    names = column_order(result["selectors"])
    rows = []
    for configuration in result["configurations"]:
        reached = [configuration["selectors"][n]["rounds_to"][f"{epsilon:g}"] for n in names]
        cells = tuple(
            None if r["rounds"] is None or r["reached"] < 1 else Cell(r["rounds"], None)
            for r in reached
        )
        rows.append(TableRow(_labels(configuration), cells, shaded=configuration["mountain"]))
    return Table(
        title=f"Rounds to {epsilon:g}-suboptimal, {_data(result)}",
        label_headers=("f(x)", "g(y)", "h(x,y)"),
        columns=titles(names),
        rows=tuple(rows),
        notes=("Empty where some trial did not get there.",),
    )


def _data(result: dict[str, Any]) -> str:
    """What a result was measured on, in words."""
    kinds = list(dict.fromkeys(c["f"] for c in result["configurations"]))
    further = f" with {', '.join(kinds)} f" if "quadratic" in kinds else ""
    return (
        f"{result['dim']}D synthetic data{further}, noise {result['noise']:g}, "
        f"K = {result['rounds']}, {trials_text(result['trials'])}"
    )


def _configuration(
    benchmark: SyntheticBenchmark, configuration: SyntheticConfiguration, journal: Journal
) -> dict[str, Any]:
    trials = range(benchmark.n_trials)
    low, high = return_range(journal, configuration.name, trials)
    every = [journal[record_key(configuration.name, t, RANDOM)]["all_policies"] for t in trials]
    reference = min_max(np.array(every), low, high)
    return {
        "name": configuration.name,
        "f": configuration.f,
        "g": configuration.g,
        "h": configuration.h,
        "mountain": configuration.is_mountain,
        "low": low,
        "high": high,
        "selectors": {
            name: _selector(
                [journal[record_key(configuration.name, t, name)] for t in trials],
                low,
                high,
                reference,
            )
            for name in benchmark.selectors
        },
    }


def _selector(
    records: list[dict[str, Any]], low: float, high: float, reference: NDArray[np.floating]
) -> dict[str, Any]:
    curves = np.asarray(min_max(np.array([r["curve"] for r in records]), low, high))
    finals, areas = curves[:, -1], area_under_curve(curves)
    data: dict[str, Any] = {
        "final": statistics(finals),
        "auc": statistics(areas),
        "curve": curves.mean(axis=0).tolist(),
        "rounds_to": rounds_to(curves, reference),
    }
    for key, name in (("strategies", "shares"), ("structures", "structures")):
        chosen = [[str(c) for c in r[key]] for r in records if key in r]
        if chosen and len(chosen[0]) > SKIPPED_ROUNDS:
            data[name] = strategy_shares(chosen, skip=SKIPPED_ROUNDS)
    return data


def _aggregated(configurations: list[dict[str, Any]], name: str, metric: str) -> dict[str, Any]:
    def means(which: str) -> dict[str, float]:
        return {c["name"]: c["selectors"][which][metric]["mean"] for c in configurations}

    values = {c["name"]: c["selectors"][name][metric]["trials"] for c in configurations}
    return aggregated(values, means(RANDOM), means(MYOPIC))


def _table_row(
    configuration: dict[str, Any],
    names: list[str],
    metric: str,
    statistic: str,
    published: PublishedTable | None,
) -> TableRow:
    printed = published and published.row(
        configuration["f"], configuration["g"], configuration["h"]
    )
    cells = [
        cell(
            configuration["selectors"][n][metric],
            printed_value(printed and printed.values, n),
            statistic,
        )
        for n in names
    ]
    return TableRow(_labels(configuration), marked(cells, names), shaded=configuration["mountain"])


def _labels(configuration: dict[str, Any]) -> tuple[str, ...]:
    h = configuration["h"]
    title = H_TITLES.get(h, h.replace("non-distance", "Non-distance"))
    return (configuration["f"].capitalize(), configuration["g"].capitalize(), title)


def _published(result: dict[str, Any]) -> PublishedTable | None:
    table = published_table(result["dim"], result["noise"])
    if table is None or table.rounds != result["rounds"]:
        return None
    rows = [table.row(c["f"], c["g"], c["h"]) for c in result["configurations"]]
    return table if None not in rows else None
