"""What every result table has in common: names of selectors, their order, cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sdmbtl.benchmarks.published import PublishedValue
from sdmbtl.benchmarks.runner import INDEPENDENT, MYOPIC, RANDOM, SEQUENTIAL
from sdmbtl.benchmarks.summary import half_width_key
from sdmbtl.benchmarks.tables import Cell, mark_best

MULTI_TASK = "multi-task"
TITLES = {
    "random": "Random",
    "gp-mbtl": "GP-MBTL",
    "gp-mbtl-original": "GP-MBTL (original)",
    "m-mbtl": "M-MBTL",
    "m/gp-mbtl": "M/GP-MBTL",
    "m+random": "M+Random",
    "gp+random": "GP+Random",
    INDEPENDENT: "Independent",
    MULTI_TASK: "Multi-task",
    MYOPIC: "Myopic Oracle",
    SEQUENTIAL: "Sequential Oracle",
}
ORACLES = (MYOPIC, SEQUENTIAL)
#: What stands for the trials, as the beginning of a title.
STATISTICS = {"mean": "", "median": "Median of ", "iqm": "Interquartile mean of "}
METRICS = {"final": "Performance", "auc": "Area under the performance curve"}


def titles(names: Iterable[str]) -> tuple[str, ...]:
    """Headers of the columns of selectors."""
    return tuple(TITLES.get(name, name) for name in names)


def trials_text(trials: int) -> str:
    """The number of trials, in words."""
    return f"{trials} trials" if trials > 1 else "1 trial"


def metric_title(metric: str, statistic: str) -> str:
    """What a table shows."""
    return STATISTICS[statistic] + METRICS[metric]


def column_order(names: Iterable[str]) -> list[str]:
    """Baselines first and the oracles last, as the paper has it."""
    names = list(names)
    first = [n for n in (INDEPENDENT, MULTI_TASK, RANDOM) if n in names]
    last = [n for n in ORACLES if n in names]
    return [*first, *(n for n in names if n not in (*first, *last)), *last]


def choosing(names: Iterable[str]) -> list[str]:
    """Those that choose one context after another, without what only sets the scale."""
    apart = (INDEPENDENT, MULTI_TASK, RANDOM, *ORACLES)
    return [name for name in names if name not in apart]


def cell(value: dict[str, Any], printed: float | None, statistic: str = "mean") -> Cell | None:
    """A cell for a value with its interval, None if there is no value."""
    if value[statistic] is None:
        return None
    return Cell(value[statistic], value.get(half_width_key(statistic)), printed)


def marked(cells: list[Cell | None], names: list[str]) -> tuple[Cell | None, ...]:
    """The cells of a row, the best of them marked; oracles do not compete."""
    return mark_best(cells, {i for i, name in enumerate(names) if name in ORACLES})


def printed_value(values: Any, name: str) -> float | None:
    """The paper's value for a selector, None if it has none."""
    value: PublishedValue | None = values.get(name) if values else None
    return None if value is None else value.mean
