"""The table of docs/comparison.md with tools of others, from results/compare-tools.json."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

RESULT = Path(__file__).parents[2] / "results" / "compare-tools.json"
#: Name in the result file -> title of its column.
COLUMNS = {
    "random": "random",
    "Optuna QMC": "QMC",
    "Optuna TPE": "TPE",
    "Optuna TPE, told the gain": "TPE, gain",
    "Optuna CMA-ES": "CMA-ES",
    "Optuna GP": "GP",
    "Optuna GP, told the gain": "GP, gain",
    "m/gp-mbtl": "`m/gp-mbtl`",
    "auto": "`auto`",
    "myopic-oracle": "oracle",
}
BEST, WORST = "myopic-oracle", "random"
#: Data on which the oracle is no further above random choice say nothing of choosing.
MATTERS = 0.01


def tools_table() -> str:
    """Performance with the most policies; the share of the way to the oracle with each number."""
    found = json.loads(RESULT.read_text())["samplers"]
    policies, measured = found["policies"], found["performance"]
    lines = [
        f"| {policies[-1]} policies | " + " | ".join(COLUMNS.values()) + " |",
        "| --- |" + " ---: |" * len(COLUMNS),
    ]
    for data, values in measured.items():
        cells = [f"{values[name][-1]:.3f}" for name in COLUMNS]
        shown = data if _margin(values, -1) >= MATTERS else f"({data})"
        lines.append("| " + " | ".join([shown, *cells]) + " |")
    for number, count in enumerate(policies):
        counted = [v for v in measured.values() if _margin(v, number) >= MATTERS]
        scores = [
            np.mean([(v[name][number] - v[WORST][number]) / _margin(v, number) for v in counted])
            for name in COLUMNS
        ]
        cells = [f"{round(float(score), 2) + 0.0:.2f}" for score in scores]
        lines.append(f"| **share, {count} policies** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def replay_table() -> str:
    """How far our draws are from Syllabus's weights."""
    found = json.loads(RESULT.read_text())["replay"]
    return "\n".join(
        [
            f"| prioritised level replay, {found['levels']} levels, temperature "
            f"{found['temperature']:g} | |",
            "| --- | ---: |",
            f"| distance of Syllabus's weights and {found['draws']:,} draws of ours "
            f"| {found['total variation distance']:.4f} |",
        ]
    )


def _margin(values: dict[str, list[float]], number: int) -> float:
    return values[BEST][number] - values[WORST][number]
