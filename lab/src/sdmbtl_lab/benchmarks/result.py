"""The result of a benchmark: typed, JSON there and back, and the tables that are made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sdmbtl.checks import known_name
from sdmbtl.errors import BenchmarkError
from sdmbtl.files import write_atomically
from sdmbtl.foreign import read_json
from sdmbtl.json_data import as_json, from_json
from sdmbtl.transfer.detection import MOUNTAIN
from sdmbtl.wording import counted
from sdmbtl_lab.benchmarks.columns import (
    ABLATION,
    DEFAULT,
    INDEPENDENT,
    MULTI_TASK,
    MYOPIC,
    ORACLES,
    RANDOM,
    column_order,
    titles,
    without_baselines,
)
from sdmbtl_lab.benchmarks.published import Printed, printed_beside
from sdmbtl_lab.benchmarks.tables import Cell, Table, TableRow, mark_best
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS, CHOICE_ROUND

#: What is measured with K policies: performance, its mean over 1..K policies, performance on the
#: scale where Random is 0 and the Myopic Oracle 1, and performance minus that of Random in the
#: same matrix.
METRICS = {
    "final": "Performance",
    "auc": "Area under the performance curve",
    "score": "Normalised performance",
    "ahead": "Performance minus that of Random",
}
#: What stands for the matrices, as the beginning of a title.
STATISTICS = {"mean": "", "median": "Median of ", "iqm": "Interquartile mean of "}

#: Performance within this share of what all policies together reach counts as near-optimal.
EPSILONS = (0.1, 0.05, 0.02)
#: Rounds for which tables say which strategy chose.
SHOWN_ROUNDS = (1, 5, 6, 8, 10, 12, 16, 20, 30, 40, 50)
#: Digits behind the point that a result file keeps.
DIGITS = 6


@dataclass(frozen=True)
class Statistics:
    """A number over the matrices, and half the widths of its 95 % intervals, None if unknown."""

    mean: float
    half_width: float | None = None
    median: float | None = None
    median_half_width: float | None = None
    iqm: float | None = None
    iqm_half_width: float | None = None

    def cell(self, statistic: str = "mean", published: float | None = None) -> Cell | None:
        """The cell of a table, None if the statistic is not known."""
        value = getattr(self, statistic)
        if value is None:
            return None
        key = "half_width" if statistic == "mean" else f"{statistic}_half_width"
        return Cell(value, getattr(self, key), published)


@dataclass(frozen=True)
class RoundsTo:
    """How soon selection on the matrices was near-optimal.

    Attributes:
        reached: Share of the matrices on which it got there.
        rounds: Mean number of rounds of those; None if there are none.
        median: Median with those that never get there as the latest; None if it is one of them.
    """

    reached: float
    rounds: float | None = None
    median: float | None = None


@dataclass(frozen=True)
class SelectorResult:
    """One selector on one problem.

    Attributes:
        at: Number of policies -> metric -> statistics over the matrices.
        curve: (K,) mean performance with 1..K policies.
        half_widths: (K,) half the widths of its 95 % intervals; empty if they are not known.
        rounds_to: Epsilon, as text -> rounds to epsilon-suboptimal.
        strategies: Strategy -> (K,) share of the matrices in which it chose in each round.
        structures: Structure -> share of the rounds after the fifth in which it was detected.
    """

    at: Mapping[int, Mapping[str, Statistics]]
    curve: tuple[float, ...] = ()
    half_widths: tuple[float, ...] = ()
    rounds_to: Mapping[str, RoundsTo] = field(default_factory=dict)
    strategies: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    structures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ProblemResult:
    """All selectors on one problem; performance is scaled to 0..1 over the problem.

    Attributes:
        name: Name of the problem.
        labels: Header -> text of its row in a table.
        rounds: K, the number of trained policies.
        low: The return that became 0.
        high: The return that became 1.
        selectors: Selector -> what it reached.
        mountain: Whether it is known to have the Mountain structure.
        all_policies: What all N policies together reach; None if it was not kept.
        margin: What choosing can gain on all that is known; None if that was not measured.
        matters: Whether that is enough for choosing to matter.
    """

    name: str
    labels: Mapping[str, str]
    rounds: int
    low: float
    high: float
    selectors: Mapping[str, SelectorResult]
    mountain: bool = False
    all_policies: float | None = None
    margin: float | None = None
    matters: bool = True

    def margin_at(self, k: int) -> float | None:
        """Myopic Oracle minus Random with `k` policies; None if fewer were trained."""
        if k > self.rounds:
            return None
        oracle, random = (self.selectors[name].curve[k - 1] for name in (MYOPIC, RANDOM))
        return oracle - random

    def statistics(self, selector: str, k: int, metric: str) -> Statistics | None:
        """What a selector reached with `k` policies; None if it is not known."""
        return self.of(selector).at.get(k, {}).get(metric)

    def of(self, selector: str) -> SelectorResult:
        """What a selector reached; nothing if it has no values here, as Multi-task may."""
        return self.selectors.get(selector, SelectorResult({}))


@dataclass(frozen=True)
class Aggregate:
    """The paper's aggregate of a selector: its mean normalised performance over the problems.

    Attributes:
        mean: The aggregate, None if there is none.
        half_width: Half the width of its 95 % interval, None if all matrices are equal.
        why: Why there is none.
        without: Problems that lack a value and were left out.
    """

    mean: float | None
    half_width: float | None = None
    why: str | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkResult:
    """Everything worth keeping of a finished benchmark.

    Attributes:
        name: Name of the benchmark and of its file.
        title: What it was measured on, in words.
        headers: What stands left in its tables: keys of the problems' labels, "K" or "margin".
        trials: W, the number of matrices of each problem; a key of the result files.
        policies: Numbers of trained policies that are reported.
        selectors: Selectors and baselines.
        problems: What they reached.
        aggregated: Number of policies -> selector -> metric -> the paper's aggregate.
        least_margin: Problems enter the aggregate while choosing matters and the oracle is this far
            above random choice; None if all of them do.
        settings: What the matrices depend on, as JSON data.
        seeds: Where random numbers come from, in words.
        code: Fingerprint of the code that made the numbers.
        versions: Of Python and of the packages.
        notes: What to know about the data.
    """

    name: str
    title: str
    headers: tuple[str, ...]
    trials: int
    policies: tuple[int, ...]
    selectors: tuple[str, ...]
    problems: tuple[ProblemResult, ...]
    aggregated: Mapping[int, Mapping[str, Mapping[str, Aggregate]]]
    least_margin: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: str = ""
    code: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    # -- files -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """JSON data; numbers with six digits behind the point."""
        return {key: as_json(value, DIGITS) for key, value in vars(self).items()}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """What `to_dict` returned.

        Raises:
            BenchmarkError: If something is missing or unknown.
        """
        try:
            result: Self = from_json(cls, data)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise BenchmarkError(f"This is not a result of a benchmark: {error}.") from None
        return result

    def save(self, path: Path) -> None:
        """Write a result file, atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(self.to_dict(), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a result file.

        Raises:
            BenchmarkError: If it is none.
        """
        try:
            return cls.from_dict(read_json(path))
        except (OSError, ValueError) as error:  # of JSON, of UTF-8 or ours
            raise BenchmarkError(f"{path} is not a result file: {error}") from None

    # -- numbers ---------------------------------------------------------------------------------

    def problem(self, name: str) -> ProblemResult:
        """The result on one problem.

        Raises:
            BenchmarkError: If there is no such problem.
        """
        found = {problem.name: problem for problem in self.problems}
        known_name("problem", name, found, error=BenchmarkError)
        return found[name]

    @property
    def scored(self) -> list[str]:
        """The selectors that have a score: those that choose one context after another."""
        return without_baselines(self.selectors)

    def entering(self, k: int) -> tuple[ProblemResult, ...]:
        """The problems that enter the aggregate for `k` policies.

        If there is a least margin, those where choosing matters, as long as there is something
        left to gain: what is divided by nearly nothing says nothing.
        """
        run = [(p, p.margin_at(k)) for p in self.problems]
        return tuple(
            problem
            for problem, margin in run
            if margin is not None
            and (self.least_margin is None or (problem.matters and margin >= self.least_margin))
        )

    # -- tables ----------------------------------------------------------------------------------

    def tables(self, *, auc: bool = False, statistic: str = "mean") -> Iterator[Table]:
        """The main tables, from what there is to gain to which strategy chose.

        Args:
            auc: Show the area under the curve too.
            statistic: What stands for the matrices.
        """
        if any(problem.margin is not None for problem in self.problems):
            yield self.margin_table()
        for metric in ("final", "auc") if auc else ("final",):
            for ablation in (False, True) if set(ABLATION) & set(self.selectors) else (False,):
                for k in self.policies:
                    yield self.performance_table(k, metric, statistic, ablation=ablation)
        shares = self.mountain_table()
        if shares is not None:
            yield shares
        yield from self.strategy_tables()

    def performance_table(
        self,
        k: int | None = None,
        metric: str = "final",
        statistic: str = "mean",
        *,
        ablation: bool = False,
    ) -> Table:
        """The paper's table: a row for each problem, a column for each selector, the aggregate.

        Args:
            k: K; after the last round of each problem if left out.
            metric: One of `METRICS`.
            statistic: "mean" over the matrices, "median" or "iqm" (interquartile mean).
            ablation: Show the strategies alone and with random choice, instead of the main table.
        """
        k = self._common(k)
        names = self._columns(metric, ablation=ablation)
        printed = Printed()
        if statistic == "mean" and k is not None:
            problems = [problem.name for problem in self.problems]
            printed = printed_beside(self.settings, problems, k, metric, self.trials)
        rows = [
            self._row(problem, names, k, metric, statistic, printed)
            for problem in self.problems
            if k is None or k <= problem.rounds
        ]
        notes = [
            "Performance is scaled to 0..1 over the problem; intervals are 95 % bootstrap "
            "over the matrices.",
            *self.notes,
        ]
        aggregated = self._aggregates(k, metric)
        if statistic == "mean" and aggregated:
            rows.append(_aggregated_row(aggregated, names, printed))
            rows += self._paper_rows(names, printed)
            notes.append(self._note_on_aggregate(k))
            notes += [
                f"The aggregate of {titles([n])[0]} is without {', '.join(aggregated[n].without)}."
                for n in names
                if aggregated[n].without
            ]
        title = f"{STATISTICS[statistic]}{METRICS[metric]}, {self._measured_on(k)}"
        return self._table(
            title + (", ablation" if ablation else ""), names, rows, *notes, *printed.notes
        )

    def score_table(self, k: int | None = None) -> Table:
        """Normalised performance on every problem that enters the aggregate, and the aggregate.

        Args:
            k: K; after the last round of each problem if left out.
        """
        k = self._common(k)
        names = self._columns("score")
        problems = self.problems if k is None else self.entering(k)
        rows = [self._row(p, names, k, "score", "mean", Printed()) for p in problems]
        aggregated = self._aggregates(k, "final")
        if aggregated:
            rows.append(_aggregated_row(aggregated, names, Printed()))
        least = self.least_margin
        where = "" if least is None else f", where choosing matters and the margin is >= {least:g}"
        return self._table(
            f"Normalised performance, {self._measured_on(k)}",
            names,
            rows,
            f"Normalised: (performance - Random) / (Myopic Oracle - Random){where}. Margin: Myopic "
            "Oracle minus Random. Intervals are 95 % bootstrap over the matrices.",
        )

    def margin_table(self) -> Table:
        """How much there is to gain by choosing, for every problem."""
        headers = tuple(h for h in self.headers if h != "margin")
        rows = [
            TableRow(
                (*(p.labels[h] for h in headers), "yes" if p.matters else "no"),
                tuple(
                    None if value is None else Cell(value, None)
                    for value in (p.margin, *map(p.margin_at, self.policies), p.all_policies)
                ),
            )
            for p in self.problems
        ]
        return Table(
            title="What choosing can gain: Myopic Oracle minus Random",
            label_headers=(*headers, "matters"),
            columns=("margin", *[f"drawn, K = {k}" for k in self.policies], "all policies"),
            rows=tuple(rows),
            notes=(
                f"Margin: with {CHOICE_ROUND} policies, on the seeds as they are; choosing matters "
                f"where it is at least {CHOICE_MATTERS:g}. Beside it, on the drawn matrices.",
                "All policies: what all N together reach, the best for each target.",
            ),
        )

    def rounds_table(self, epsilon: float, statistic: str = "median") -> Table:
        """Rounds until performance is within `epsilon` of what all policies together reach.

        Args:
            epsilon: One of `EPSILONS`.
            statistic: "mean" over the matrices, if it gets there on all of them, or "median".
        """
        names = [n for n in column_order(self.selectors) if n not in (MULTI_TASK, INDEPENDENT)]
        rows = []
        for problem in self.problems:
            found = [problem.of(n).rounds_to.get(f"{epsilon:g}") for n in names]
            cells = tuple(_rounds_cell(one, statistic) for one in found)
            rows.append(self._table_row(problem, CHOICE_ROUND, cells))
        mean = statistic == "mean"
        missing = "on some matrix it does not get" if mean else "on most matrices it does not get"
        return self._table(
            f"Rounds to {epsilon:g}-suboptimal, {self.title}, {'mean' if mean else 'median'}",
            names,
            rows,
            f"No value where {missing} there in {self.policies[-1]} rounds. Random: the round in "
            "which its expected performance gets there.",
        )

    def mountain_table(self) -> Table | None:
        """Share of rounds with Mountain detected, for selectors that detect; None without any."""
        # Shipped results of the default selector have models where others have structures.
        names = [
            n
            for n in self.selectors
            if n != DEFAULT and any(set(p.of(n).structures) - {"None"} for p in self.problems)
        ]
        if not names:
            return None
        shares = [
            [Cell(p.of(n).structures.get(MOUNTAIN, 0.0)) for n in names] for p in self.problems
        ]
        pairs = zip(self.problems, shares, strict=True)
        rows = [self._table_row(p, p.rounds, tuple(cells)) for p, cells in pairs]
        where = self._measured_on(self._common(None))
        title = f"Share of rounds after the fifth in which Mountain was detected, {where}"
        return self._table(title, names, rows)

    def strategy_tables(self) -> list[Table]:
        """Which strategy chose in some rounds, for every selector that has several.

        The ablations and the default selector are left out.
        """
        apart = (*ABLATION, MULTI_TASK, DEFAULT)
        names = [n for n in column_order(self.selectors) if n not in apart]
        tables = []
        for name in names:
            found = [p for p in self.problems if len(p.of(name).strategies) > 1]
            rounds = [k for k in SHOWN_ROUNDS if k <= max((p.rounds for p in found), default=0)]
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
            if rows:
                tables.append(Table(title, ("problem", "strategy"), columns, tuple(rows)))
        return tables

    # -- parts of tables -------------------------------------------------------------------------

    def _table(self, title: str, names: list[str], rows: list[TableRow], *notes: str) -> Table:
        """A column for each selector."""
        return Table(title, self.headers, titles(names), tuple(rows), notes)

    def _common(self, k: int | None) -> int | None:
        """A number of policies; if none is given, that of all problems, None if they differ."""
        rounds = {problem.rounds for problem in self.problems} or {self.policies[-1]}
        return rounds.pop() if k is None and len(rounds) == 1 else k

    def _measured_on(self, k: int | None) -> str:
        policies = "" if k is None else f", K = {k}"
        return f"{self.title}{policies}, {counted(self.trials, 'matrix', 'matrices')}"

    def _columns(self, metric: str, *, ablation: bool = False) -> list[str]:
        if metric in ("score", "ahead"):  # without what sets their scale
            return without_baselines(self.selectors)
        names = column_order(self.selectors)
        if ablation:
            wanted = {RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", *ABLATION, MYOPIC}
            return [n for n in names if n in wanted]
        return [n for n in names if n not in ABLATION and (metric == "final" or n != MULTI_TASK)]

    def _aggregates(self, k: int | None, metric: str) -> dict[str, Aggregate]:
        """Selector -> aggregate; empty if there are none."""
        by_name = {} if k is None else self.aggregated.get(k, {})
        return {name: metrics[metric] for name, metrics in by_name.items() if metric in metrics}

    def _row(
        self,
        problem: ProblemResult,
        names: list[str],
        k: int | None,
        metric: str,
        statistic: str,
        printed: Printed,
    ) -> TableRow:
        k = problem.rounds if k is None else k
        cells: list[Cell | None] = []
        for name in names:
            found = problem.statistics(name, k, metric)
            paper = printed.cells.get(problem.name, {}).get(name)
            cells.append(None if found is None else found.cell(statistic, paper and paper.mean))
        oracles = {i for i, name in enumerate(names) if name in ORACLES}
        return self._table_row(problem, k, mark_best(cells, oracles))

    def _table_row(
        self, problem: ProblemResult, k: int, cells: tuple[Cell | None, ...]
    ) -> TableRow:
        margin = problem.margin_at(k) if "margin" in self.headers else None
        computed = {
            "K": str(k),
            "margin": "-" if margin is None else f"{round(margin, 3) + 0.0:.3f}",  # no -0.000
        }
        labels = {**computed, **problem.labels}
        return TableRow(tuple(labels[h] for h in self.headers), cells, shaded=problem.mountain)

    def _paper_rows(self, names: list[str], printed: Printed) -> list[TableRow]:
        """The paper's values on its own matrices."""
        return [
            TableRow(
                (title, *[""] * (len(self.headers) - 1)),
                tuple(Cell(*values[n]) if n in values else None for n in names),
            )
            for title, values in printed.rows.items()
        ]

    def _note_on_aggregate(self, k: int | None) -> str:
        over = "the rows"
        if self.least_margin is not None and k is not None:
            names = ", ".join(problem.name for problem in self.entering(k))
            over = (
                f"{names or 'no data set'}: where choosing matters, and the margin is still at "
                f"least {self.least_margin:g}"
            )
        return f"Aggregated: mean of (performance - Random) / (Myopic Oracle - Random) over {over}."


def _aggregated_row(
    aggregated: Mapping[str, Aggregate], names: list[str], printed: Printed
) -> TableRow:
    """The aggregate; a column over fewer problems does not compete with the others."""
    cells: list[Cell | None] = []
    for name in names:
        one, paper = aggregated[name], printed.aggregated.get(name)
        cell = None if one.mean is None else Cell(one.mean, one.half_width, paper and paper.mean)
        cells.append(cell)
    apart = {i for i, n in enumerate(names) if n in ORACLES or aggregated[n].without}
    return TableRow(("Aggregated",), mark_best(cells, apart))


def _rounds_cell(found: RoundsTo | None, statistic: str) -> Cell | None:
    if found is None:
        return None
    known = found.rounds if found.reached == 1 else None
    rounds = known if statistic == "mean" else found.median
    if rounds is None:
        return None
    return Cell(rounds, digits=0 if statistic != "mean" and rounds == int(rounds) else 1)
