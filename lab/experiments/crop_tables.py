"""The tables of docs/crop.md, from results/crop-models.json and results/crop-policies.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "results"
#: What was changed in the comparison of models, in words.
CHANGES = {
    "nitrogen": "nitrogen 0, 5, 15, 30 g/m²",
    "rain": "rain x 0.25, 0.5, 1",
    "temperature": "+0, +2.5, +5 K",
    "radiation": "light x 0.5, 0.75, 1, 1.25",
}
#: What of a balance is not accounted for, and of how much; None where there is no total.
BALANCES = {
    "water, mm": "rain, mm",
    "nitrogen of the crop, g/m2": "nitrogen taken up, g/m2",
    "dry matter, g/m2": None,
}


def models_table() -> str:
    """Grain of each model for each change."""
    lines = [
        "| grain, g/m² | " + " | ".join(CHANGES.values()) + " |",
        "| --- |" + " ---: |" * len(CHANGES),
    ]
    for name, answers in _models()["grain"].items():
        cells = [", ".join(f"{grain:.0f}" for grain in answers[change]) for change in CHANGES]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def balances_table() -> str:
    """What of torchcrop's water, nitrogen and dry matter is not accounted for."""
    found = _models()["torchcrop balances"]
    lines = ["| torchcrop's balances | not accounted for | of |", "| --- | ---: | ---: |"]
    for name, total in BALANCES.items():
        whole = "" if total is None else f"{found[total]:g}"
        lines.append(f"| {_squared(name)} | {found[name]:.2f} | {whole} |")
    return "\n".join(lines)


def speed_table() -> str:
    """Seasons that each model simulates in a second of a core."""
    rates = _models()["seasons for a CPU-second"]
    base = rates["PCSE LINTUL3"]
    lines = ["| model | seasons for a second of a core | ratio |", "| --- | ---: | ---: |"]
    for name in ("sdmbtl", "torchcrop", "PCSE LINTUL3"):
        rate = rates[name]
        shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        lines.append(f"| {name} | {shown} | {rate / base:,.0f} |")
    return "\n".join(lines)


def agreement_table() -> str:
    """Whether schedules that are better in one model are better in the other."""
    found = _models()["rank correlation"]
    within = found["within each year"]
    return "\n".join(
        [
            f"| rank correlation of profits, {found['schedules']} schedules of maize | |",
            "| --- | ---: |",
            f"| of the means of {found['years']} years | {found['of mean profits']:.2f} |",
            f"| within single years | {min(within):.2f} to {max(within):.2f} |",
        ]
    )


def profits_table() -> str:
    """Schedules and policies on the years kept from training."""
    return _intervals("", "profit on unseen years", _policies()["profit"])


def gains_table() -> str:
    """How much more trained policies earn than schedules, year by year."""
    return _intervals("gain", "", _policies()["gain"])


def _intervals(first: str, second: str, rows: dict[str, dict[str, float]]) -> str:
    lines = [f"| {first} | {second} |", "| --- | ---: |"]
    for name, value in rows.items():
        shown = (f"{value[part]:,.0f}" for part in ("estimate", "low", "high"))
        lines.append("| {} | {} [{}, {}] |".format(_squared(name), *shown))
    return "\n".join(lines)


def _squared(text: str) -> str:
    return text.replace("m2", "m²")


def _models() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "crop-models.json").read_text())
    return found


def _policies() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "crop-policies.json").read_text())
    return found
