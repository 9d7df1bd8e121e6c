"""The result file of all parts together: each is put in when it is finished, the others stay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdmbtl.benchmarks import real_scores, variation_results
from sdmbtl.benchmarks.cost_benchmark import cost_table
from sdmbtl.benchmarks.goals import REAL_BUDGET, REAL_BUDGETS, goal_table
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.results import load_result, save_result
from sdmbtl.benchmarks.selectors_benchmark import PARTS, VARIATION_PARTS, Part
from sdmbtl.benchmarks.tables import Table


def is_kept(part: Part, path: Path) -> bool:
    """Whether the file has the result of a part, made with the same settings and code."""
    kept = _parts(path).get(part.name, {}).get("made_from")
    return bool(kept == json.loads(json.dumps(part.made_from)))


def keep(part: Part, journal: Journal, path: Path) -> None:
    """Put the result of a part into the file, in place of an older one."""
    parts = _parts(path)
    parts[part.name] = {"made_from": part.made_from, "result": part.summarise(journal)}
    ordered = {name: parts[name] for name in PARTS if name in parts}
    save_result({"benchmark": "selectors", "parts": ordered}, path)


def _parts(path: Path) -> dict[str, Any]:
    """What the file has so far."""
    return dict(load_result(path)["parts"]) if path.exists() else {}


def tables(result: dict[str, Any]) -> Iterator[Table]:
    """The goals, then the parts in detail.

    Args:
        result: What the file has.
    """
    parts = {name: part["result"] for name, part in result["parts"].items()}
    goals = goal_table(parts)
    yield replace(goals, notes=goals.notes + _notes_on_code(parts))
    if "real" in parts:
        real = parts["real"]
        for budget in REAL_BUDGETS:
            yield real_scores.score_table(real, budget)
        for last in (REAL_BUDGETS[-1], real["rounds"]):
            yield real_scores.lowest_table(real, last)
        yield real_scores.behind_table(real, REAL_BUDGET)
    for name in VARIATION_PARTS:
        if name in parts:
            yield variation_results.score_table(parts[name], name)
            yield variation_results.difference_table(parts[name], name)
    if "cost" in parts:
        yield cost_table(parts["cost"])


def _notes_on_code(parts: dict[str, Any]) -> tuple[str, ...]:
    """Which parts were made by the same code, if not all were."""
    by_code: dict[str, list[str]] = {}
    for name, result in parts.items():
        by_code.setdefault(result["code"], []).append(name)
    if len(by_code) < 2:
        return ()
    groups = "; ".join(f"{', '.join(names)} ({code})" for code, names in by_code.items())
    return (f"The parts were made by different code: {groups}.",)
