"""What the default selector is to reach, and whether it does."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from scoreboard import real_scores
from scoreboard.cost_benchmark import DIGITS, CostResult
from sdmbtl.wording import counted
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.columns import MYOPIC, RANDOM, titles, without_baselines
from sdmbtl_lab.benchmarks.result import ProblemResult
from sdmbtl_lab.benchmarks.synthetic import GRIDS
from sdmbtl_lab.benchmarks.tables import Cell, Table, TableRow

#: The selector that has goals, and the paper's, which it is to beat.
SUBJECT, RIVAL = "auto", "m/gp-mbtl"

Comparison = Literal[">=", ">", "<=", "<"]
_HOLDS: dict[Comparison, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
#: Part -> how it is called, and the goals for its aggregates.
SYNTHETIC = {
    "synthetic-3d-noise0": ("synthetic 3D, noise 0", {"final": 1.00, "auc": 0.83}),
    "synthetic-3d-noise5": ("synthetic 3D, noise 5", {"final": 1.00, "auc": 0.85}),
    "synthetic-3d-noise30": ("synthetic 3D, noise 30", {"final": 0.93, "auc": 0.78}),
    "synthetic-5d": ("synthetic 5D, noise 5", {"final": 0.95}),
    "synthetic-7d": ("synthetic 7D, noise 5", {"final": 0.95}),
    "further": ("quadratic, smooth and random f, g", {"final": 0.90}),
}
#: A quality that is a number for each context shows only where a policy is trained; these are
#: the configurations of `further` in which it can be learnt.
LEARNABLE = ("quadratic", "smooth")
METRICS = {"final": "K = {rounds}", "auc": "mean over k = 1..{rounds}"}
#: On each real matrix: lowest score with each of these numbers of policies, and with all from 3
#: to the last.
REAL_POLICIES, REAL_SCORE, REAL_LOWEST = (6, 12), 0.8, 0.0
#: Over all of them: number of policies, aggregate, farthest behind another on any of them.
REAL_K, REAL_AGGREGATED, REAL_BEHIND = 12, 0.85, 0.05
#: Number of targets -> milliseconds per round; and the memory on the most of them in MiB.
MILLISECONDS = {512: 30.0, 3125: 300.0, 16384: 5000.0}
MEMORY_TARGETS, MEMORY_MIB = 16384, 2048.0
#: Figure of the cost -> what to call it.
COSTS = {"median_ms": "ms per round", "peak_mib": "peak MiB"}


@dataclass(frozen=True)
class Goal:
    """A number that is to be reached.

    Attributes:
        text: What is measured.
        comparison: How the value is to stand to the bound.
        bound: The number.
        values: Selector -> its value; None or missing where it is not known.
        digits: How many of its digits behind the point are printed.
    """

    text: str
    comparison: Comparison
    bound: float
    values: Mapping[str, float | None]
    digits: int = 4

    @property
    def wanted(self) -> str:
        """The goal as a short text, such as ">= 0.9"."""
        return f"{self.comparison} {self.bound:g}"

    def reached(self, selector: str = SUBJECT) -> bool | None:
        """Whether a selector reaches it; None if its value is not known."""
        value = self.values.get(selector)
        return None if value is None else _HOLDS[self.comparison](value, self.bound)

    def verdict(self, selector: str = SUBJECT) -> str:
        """Whether a selector reaches it, or how much is missing.

        >>> Goal("score", ">=", 0.9, {"auto": 0.75}).verdict()
        'no, by 0.15'
        """
        value, reached = self.values.get(selector), self.reached(selector)
        if value is None or reached is None:
            return "-"
        return "yes" if reached else f"no, by {round(abs(value - self.bound), 4):g}"


def goals(results: Mapping[str, BenchmarkResult], cost: CostResult | None = None) -> list[Goal]:
    """The goals for those parts that were run.

    Args:
        results: Name of a part -> its result.
        cost: What a round costs, if it was measured.
    """
    found = [
        goal
        for part, (text, bounds) in SYNTHETIC.items()
        if part in results
        for goal in _synthetic_goals(results[part], _with_trials(text, part, results[part]), bounds)
    ]
    if "further" in results:
        found.append(_learnable_goal(results["further"]))
    if "real" in results:
        found += _real_goals(results["real"])
    found += [
        _variation_goal(results[part], part) for part in ("development", "check") if part in results
    ]
    return found if cost is None else [*found, *_cost_goals(cost)]


def _aggregates(result: BenchmarkResult, k: int, metric: str) -> dict[str, float | None]:
    """Selector -> the paper's aggregate."""
    aggregated = result.aggregated[k]
    return {name: aggregated[name][metric].mean for name in without_baselines(result.selectors)}


def _synthetic_goals(
    result: BenchmarkResult, text: str, bounds: Mapping[str, float]
) -> Iterator[Goal]:
    rounds = result.policies[-1]
    for metric, bound in bounds.items():
        values = _aggregates(result, rounds, metric)
        name = f"{text}: aggregated, {METRICS[metric].format(rounds=rounds)}"
        yield Goal(name, ">=", bound, values)
        if metric == "auc":
            yield Goal(f"{name}: ahead of {titles([RIVAL])[0]}", ">", 0.0, _ahead_of_rival(values))


def _with_trials(text: str, part: str, result: BenchmarkResult) -> str:
    """What is measured, with the number of matrices if it is not the paper's."""
    usual = GRIDS[result.settings["dim"]][3]
    if part == "further" or not result.settings["noise"] or result.trials == usual:
        return text
    return f"{text}, {counted(result.trials, 'matrix', 'matrices')}"


def _learnable_goal(result: BenchmarkResult) -> Goal:
    """The aggregate over the configurations in which the quality can be learnt."""
    rounds = result.policies[-1]
    some = [p for p in result.problems if p.labels["f(x)"].lower() in LEARNABLE]

    def final(problem: ProblemResult, name: str) -> float:
        found = problem.statistics(name, rounds, "final")
        return math.nan if found is None else found.mean

    def score(problem: ProblemResult, name: str) -> float:
        random = final(problem, RANDOM)
        return (final(problem, name) - random) / (final(problem, MYOPIC) - random)

    values = {
        name: sum(score(problem, name) for problem in some) / len(some) if some else None
        for name in without_baselines(result.selectors)
    }
    text, bounds = SYNTHETIC["further"]
    text = f"{text}: without random f, {METRICS['final'].format(rounds=rounds)}"
    return Goal(text, ">=", bounds["final"], values)


def _ahead_of_rival(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """How far each selector is ahead of the paper's; unknown for itself."""
    rival = values.get(RIVAL)
    return {
        name: None if value is None or rival is None or name == RIVAL else value - rival
        for name, value in values.items()
    }


def _real_goals(result: BenchmarkResult) -> Iterator[Goal]:
    names = without_baselines(result.selectors)
    lowest: dict[str, float | None]
    for k in REAL_POLICIES:
        lowest = {n: _lowest(real_scores.scores_at(result, n, k)) for n in names}
        yield Goal(f"real: lowest of the data sets, K = {k}", ">=", REAL_SCORE, lowest)
    last = REAL_POLICIES[-1]
    lowest = {n: _lowest(real_scores.lowest_scores(result, n, last)) for n in names}
    every = f"any k = {real_scores.FIRST}..{last}"
    yield Goal(f"real: lowest of the data sets, {every}", ">=", REAL_LOWEST, lowest)
    values = _aggregates(result, REAL_K, "final")
    text = f"real: aggregated, K = {REAL_K}"
    yield Goal(text, ">=", REAL_AGGREGATED, values)
    yield Goal(f"{text}: ahead of the others and Random", ">", 0.0, _ahead_of_others(values))
    behind = {
        n: max(real_scores.behind_best(result, n, REAL_K).values(), default=None) for n in names
    }
    text = f"real: farthest behind the best of the others, K = {REAL_K}"
    yield Goal(text, "<=", REAL_BEHIND, behind)


def _lowest(scores: Mapping[str, float]) -> float | None:
    return min(scores.values(), default=None)


def _ahead_of_others(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """How far each selector is ahead of the best of the others and of random choice, which is 0."""
    leads: dict[str, float | None] = {}
    for name, value in values.items():
        others = [v for other, v in values.items() if other != name and v is not None]
        leads[name] = None if value is None else value - max([0.0, *others])
    return leads


def _variation_goal(result: BenchmarkResult, part: str) -> Goal:
    names = without_baselines(result.selectors)
    counts: dict[str, float | None] = dict.fromkeys(names)
    if result.trials > 1:  # a single matrix has no interval
        counts = {n: float(len(below_random(result, n))) for n in names}
    text = f"{part}: variations below Random, beyond the 95 % interval"
    return Goal(f"{text}, of {len(result.problems)}", "<=", 0.0, counts, digits=0)


def below_random(result: BenchmarkResult, selector: str) -> list[str]:
    """Problems on which a selector is below random choice, beyond its 95 % interval."""
    ahead = {p.name: p.statistics(selector, p.rounds, "ahead") for p in result.problems}
    return [
        name
        for name, found in ahead.items()
        if found is not None and found.half_width is not None and found.mean + found.half_width < 0
    ]


def _cost_goals(cost: CostResult) -> Iterator[Goal]:
    for measured in cost.measured:
        bounds = {"median_ms": MILLISECONDS.get(measured.targets)}
        if measured.targets == MEMORY_TARGETS:
            bounds["peak_mib"] = MEMORY_MIB
        for figure, bound in bounds.items():
            if bound is not None:
                values = {n: measured.highest(n, figure) for n in cost.selectors}
                text = f"cost, {measured.targets} targets: {COSTS[figure]}"
                yield Goal(text, "<", bound, values, digits=DIGITS[figure])


def goal_table(results: Mapping[str, BenchmarkResult], cost: CostResult | None = None) -> Table:
    """A row for each goal: what is wanted, whether it is reached, the value of every selector.

    Args:
        results: Name of a part -> its result.
        cost: What a round costs, if it was measured.
    """
    every = goals(results, cost)
    names = list(dict.fromkeys(name for goal in every for name in goal.values))
    rows = []
    for goal in every:
        values = [goal.values.get(name) for name in names]
        cells = tuple(
            None if value is None else Cell(value, digits=goal.digits) for value in values
        )
        rows.append(TableRow((goal.text, goal.wanted, goal.verdict()), cells))
    return Table(
        title=f"Goals of the default selector, {SUBJECT!r}",
        label_headers=("goal", "wanted", "reached"),
        columns=titles(names),
        rows=tuple(rows),
        notes=(
            "Normalised and aggregated performance: 0 is Random, 1 is the Myopic Oracle. Costs are "
            "those of the matrix on which they are higher.",
        ),
    )
