"""From the records of selectors on variations to their result and its tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.layout import cell, choosing, marked, titles, trials_text
from sdmbtl.benchmarks.runner import MYOPIC, RANDOM, record_key
from sdmbtl.benchmarks.summary import (
    aggregated,
    provenance,
    return_range,
    statistics,
    without_trials,
)
from sdmbtl.benchmarks.tables import Table, TableRow
from sdmbtl.benchmarks.variation_benchmark import VariationBenchmark
from sdmbtl.benchmarks.variations import Variation
from sdmbtl.matrices.transfer_matrices import min_max


def summarise(benchmark: VariationBenchmark, journal: Journal) -> dict[str, Any]:
    """Everything worth keeping of a finished run, as JSON data.

    Performance is min-max normalised over all trials of a variation, after the selectors ran: they
    see raw returns.
    """
    result = {
        **benchmark.settings,
        "selectors": list(benchmark.selectors),
        **provenance(journal.heading["code"]),
        "seeds": "luck and noise of trial t: its name and t; selectors: seed t",
        "variations": [_variation(benchmark, v, journal) for v in benchmark.variations],
    }
    return without_trials(result)  # type: ignore[no-any-return]


def _variation(
    benchmark: VariationBenchmark, variation: Variation, journal: Journal
) -> dict[str, Any]:
    trials = range(benchmark.trials)
    low, high = return_range(journal, variation.name, trials)
    curves = {
        name: np.asarray(
            min_max(
                np.array([journal[record_key(variation.name, t, name)]["curve"] for t in trials]),
                low,
                high,
            )
        )
        for name in benchmark.selectors
    }
    return {
        "name": variation.name,
        "contexts": len(variation.space),
        "sizes": list(variation.sizes),
        "rounds": benchmark.rounds(variation),
        "low": low,
        "high": high,
        "margin": float(curves[MYOPIC][:, -1].mean() - curves[RANDOM][:, -1].mean()),
        "selectors": {name: _selector(curves, name) for name in benchmark.selectors},
    }


def _selector(curves: dict[str, NDArray[np.float64]], name: str) -> dict[str, Any]:
    """Score and difference from random choice after the last round; curves are (W, K)."""
    final = {which: curve[:, -1] for which, curve in curves.items()}
    random, oracle = float(final[RANDOM].mean()), float(final[MYOPIC].mean())
    return {
        "final": statistics(final[name]),
        "score": aggregated({name: final[name].tolist()}, {name: random}, {name: oracle}),
        "ahead_of_random": statistics(final[name] - final[RANDOM]),
        "curve": curves[name].mean(axis=0).tolist(),
    }


def below_random(result: dict[str, Any], selector: str) -> list[str]:
    """Variations on which a selector is below random choice, beyond its 95 % interval."""
    return [
        variation["name"]
        for variation in result["variations"]
        if _is_below_zero(variation["selectors"][selector]["ahead_of_random"])
    ]


def _is_below_zero(difference: dict[str, Any]) -> bool:
    """Whether the interval of a mean lies below zero; a single trial has none."""
    width = difference["half_width"]
    return width is not None and difference["mean"] + width < 0


def score_table(result: dict[str, Any], which: str) -> Table:
    """Score of every selector on every variation.

    Args:
        result: As `summarise` returns it.
        which: What the set of variations is called.
    """
    return _table(
        result,
        "score",
        title=f"Score on the {which} set, {trials_text(result['trials'])}",
        notes=(
            "Score: (performance - Random) / (Myopic Oracle - Random) after K policies; margin: "
            "Myopic Oracle less Random. Intervals are 95 % bootstrap over the trials.",
        ),
    )


def difference_table(result: dict[str, Any], which: str) -> Table:
    """How far every selector is ahead of random choice on every variation, trial by trial."""
    return _table(
        result,
        "ahead_of_random",
        title=f"Performance less that of Random on the {which} set, "
        f"{trials_text(result['trials'])}",
        notes=("Random is its exact expectation in the same trial.",),
    )


def _table(result: dict[str, Any], key: str, *, title: str, notes: tuple[str, ...]) -> Table:
    names = choosing(result["selectors"])
    rows = []
    for variation in result["variations"]:
        cells = [cell(variation["selectors"][name][key], None) for name in names]
        rows.append(TableRow(_labels(variation), marked(cells, names)))
    return Table(title, ("variation", "grid", "K", "margin"), titles(names), tuple(rows), notes)


def _labels(variation: dict[str, Any]) -> tuple[str, ...]:
    grid = "x".join(map(str, variation["sizes"]))
    return (variation["name"], grid, str(variation["rounds"]), f"{variation['margin']:.3f}")
