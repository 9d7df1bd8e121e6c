"""Numbers and tables from results/generalists.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from experiment import markdown_table, mean_and_interval, read_result

OURS = "generalist-first"
#: Rows of the tables: name in the result file and in words.
TITLES = {
    OURS: "**`generalist-first`** (default)",
    "generalist": "generalist: one policy, whole space",
    "multi-task": "multi-task: the same, sees the context",
    "prioritised": "prioritised: the same, contexts as PLR",
    "plain-sb3": "stable-baselines3: PPO with its defaults, whole space",
}
#: Marks of the tables of data sets, and of the table of leads.
SHOWN_MARKS = (1, 2, 4, 8, 12)
LEAD_MARKS = (2, 4, 8, 12)
#: Columns of the README's table.
FIRST_DATA = ("Drone", "Pendulum", "CartPole forces")
FIRST_TITLES = {
    OURS: "**sdmbtl**, defaults",
    "prioritised": "one policy, extra practice where it fails",
    "multi-task": "one policy that sees the task's values",
    "generalist": "one policy on random tasks",
}

Quantity = Literal["coverage", "worst_tenth", "near_best"]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half width of its 95 % interval, NaN for one seed.

    As a text, both are in %.
    """

    mean: float
    half_width: float

    def __str__(self) -> str:
        more = "" if np.isnan(self.half_width) else f" ± {100 * self.half_width:.1f}"
        return f"{100 * self.mean:.1f}{more}"


class Comparison:
    """Everything that was measured.

    Args:
        result: The content of results/generalists.json.
    """

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.marks: list[int] = list(result["marks"])
        self.data: Mapping[str, Mapping[str, Any]] = result["data"]

    @classmethod
    def load(cls) -> Comparison:
        """Read the result file."""
        return cls(read_result("generalists"))

    def keep_best(self) -> Comparison:
        """Return the comparison as if each baseline kept its best policy so far, at no cost.

        The policy is chosen among those of the marks by the reported episodes themselves: no
        choice of a checkpoint can do better at these marks.
        """
        data = {
            name: {**of_data, "methods": {**of_data["methods"]}}
            for name, of_data in self.data.items()
        }
        for of_data in data.values():
            for method in set(of_data["methods"]) - {OURS}:
                of_data["methods"][method] = {
                    seed: {"coverage": _best_so_far(found["coverage"])}
                    for seed, found in of_data["methods"][method].items()
                }
        return Comparison({"marks": self.marks, "data": data})

    def methods(self, data: str) -> list[str]:
        """Return the methods measured on a data set, in the order of the tables."""
        return [name for name in TITLES if name in self.data[data]["methods"]]

    def seeds(self, data: str) -> list[int]:
        """Return the numbers of seeds with which methods were measured on a data set."""
        return sorted({len(seeds) for seeds in self.data[data]["methods"].values()})

    def values(
        self, data: str, method: str, mark: int, quantity: Quantity = "coverage"
    ) -> list[float]:
        """Return the value of each seed; none unless all were measured at this mark."""
        seeds = self.data[data]["methods"].get(method, {}).values()
        found = [seed.get(quantity, {}).get(str(mark)) for seed in seeds]
        return [] if None in found else found

    def estimate(
        self, data: str, method: str, mark: int, quantity: Quantity = "coverage"
    ) -> Estimate | None:
        """Return mean and interval over seeds; None if it was not measured."""
        values = self.values(data, method, mark, quantity)
        return Estimate(*mean_and_interval(values)) if values else None

    @property
    def compared(self) -> list[str]:
        """Data sets on which ours and a baseline were measured."""
        measured = {data: self.methods(data) for data in self.data}
        return [data for data, names in measured.items() if OURS in names and len(names) > 1]

    def marks_of(self, data: str) -> list[int]:
        """Return the marks at which a method was measured on a data set, with every seed."""
        names = self.methods(data)
        return [m for m in self.marks if any(self.values(data, name, m) for name in names)]

    def end(self, data: str) -> int:
        """Return the largest mark of a data set."""
        return max(self.marks_of(data), default=self.marks[-1])

    def best_baseline(self, data: str, mark: int) -> str | None:
        """Return the baseline with the highest mean at a mark; None if none was measured."""
        means = {
            name: found.mean
            for name in self.methods(data)
            if name != OURS and (found := self.estimate(data, name, mark)) is not None
        }
        return max(means, key=means.__getitem__, default=None)

    def lead(self, data: str, mark: int) -> Estimate | None:
        """Return the lead of ours over the best baseline at a mark, with Welch's interval."""
        best = self.best_baseline(data, mark)
        ours = self.values(data, OURS, mark)
        if best is None or not ours:
            return None
        other = self.values(data, best, mark)
        mean = float(np.mean(ours) - np.mean(other))
        parts = [scipy.stats.sem(v) ** 2 if len(v) > 1 else np.nan for v in (ours, other)]
        if not sum(parts) > 0:
            return Estimate(mean, float("nan") if np.isnan(sum(parts)) else 0.0)
        counts = [len(v) - 1 for v in (ours, other)]
        freedom = sum(parts) ** 2 / sum(p**2 / n for p, n in zip(parts, counts, strict=True))
        return Estimate(mean, float(scipy.stats.t.ppf(0.975, freedom) * np.sqrt(sum(parts))))

    def units_needed(self, data: str) -> int | None:
        """Return the first mark at which ours reaches the best baseline's end; None if never."""
        end = self.end(data)
        best = self.best_baseline(data, end)
        wanted = None if best is None else self.estimate(data, best, end)
        for mark in self.marks:
            ours = self.estimate(data, OURS, mark)
            if wanted is not None and ours is not None and ours.mean >= wanted.mean:
                return mark
        return None


def _best_so_far(coverage: Mapping[str, float]) -> dict[str, float]:
    """Return for each mark the highest coverage up to it."""
    return {
        mark: max(value for earlier, value in coverage.items() if int(earlier) <= int(mark))
        for mark in coverage
    }


def data_tables(comparison: Comparison) -> str:
    """Show the coverage of each data set in %: methods x units, mean and 95 % interval."""
    return "\n\n".join(_data_table(comparison, data) for data in comparison.compared)


def _data_table(comparison: Comparison, data: str) -> str:
    seeds = " or ".join(str(number) for number in comparison.seeds(data))
    targets = comparison.data[data]["targets"]
    marks = [mark for mark in comparison.marks_of(data) if mark in SHOWN_MARKS]
    rows = {
        TITLES[name]: [comparison.estimate(data, name, mark) for mark in marks]
        for name in comparison.methods(data)
    }
    title = f"{data}: coverage in %, {targets} targets, {seeds} seeds, units:"
    return _table(title, [str(mark) for mark in marks], rows)


def first_table(comparison: Comparison) -> str:
    """Show the README's table: all methods on three data sets, in per cent."""
    end = comparison.marks[-1]
    found = [[comparison.estimate(data, name, end) for data in FIRST_DATA] for name in FIRST_TITLES]
    best = [max(e.mean for e in column if e is not None) for column in zip(*found, strict=True)]
    rows = []
    for name, estimates in zip(FIRST_TITLES, found, strict=True):
        cells = ["–" if e is None else str(e) for e in estimates]
        bold = [e is not None and e.mean == top for e, top in zip(estimates, best, strict=True)]
        cells = [f"**{c}**" if b else c for c, b in zip(cells, bold, strict=True)]
        rows.append([FIRST_TITLES[name], *cells])
    return markdown_table(["Coverage in %, same number of steps", *FIRST_DATA], rows)


def lead_table(comparison: Comparison) -> str:
    """Show the lead of ours over the best baseline, and the units it needs to match it."""
    rows = []
    for data in comparison.compared:
        end = comparison.end(data)
        leads = [comparison.lead(data, mark) for mark in LEAD_MARKS]
        cells = ["–" if lead is None else f"{_signed(lead)}" for lead in leads]
        best, needed = comparison.best_baseline(data, end), comparison.units_needed(data)
        reached = "–" if best is None else f"{best}: {comparison.estimate(data, best, end)}"
        units = "not reached" if needed is None else f"{needed} of {end}"
        rows.append([data, *cells, reached, units])
    heads = [f"lead, {mark} units" for mark in LEAD_MARKS]
    heads += ["best baseline at the end", "units needed for that"]
    return markdown_table(["", *heads], rows)


def kept_lead_table(comparison: Comparison) -> str:
    """Show the same if each baseline kept its best policy so far, at no cost."""
    return lead_table(comparison.keep_best())


def _signed(lead: Estimate) -> str:
    """Format a lead; in bold if it is beyond the interval, either way."""
    text = f"+{lead}" if lead.mean > 0 else str(lead)
    return f"**{text}**" if abs(lead.mean) > lead.half_width else text


def _table(title: str, heads: Sequence[str], rows: Mapping[str, Sequence[Estimate | None]]) -> str:
    """Format a table; the highest mean of each column in bold, empty rows left out."""
    shown = {name: cells for name, cells in rows.items() if any(cells)}
    columns = zip(*shown.values(), strict=True)
    best = [max((e.mean for e in column if e is not None), default=None) for column in columns]
    lines = []
    for name, cells in shown.items():
        texts = [
            "–" if cell is None else f"**{cell}**" if cell.mean == highest else str(cell)
            for cell, highest in zip(cells, best, strict=True)
        ]
        lines.append([name, *texts])
    return markdown_table([title, *heads], lines)
