"""Selectors on problems: the one experiment behind every table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError, SelectorError
from sdmbtl.machine import versions
from sdmbtl.selectors.make import make_selector
from sdmbtl_lab.benchmarks.columns import MULTI_TASK, MYOPIC, ORACLES, RANDOM, with_both_ends
from sdmbtl_lab.benchmarks.journal import Journal, Progress
from sdmbtl_lab.benchmarks.metrics import (
    aggregated_performance,
    bootstrap_interval,
    interquartile_mean,
    rounds_to_suboptimal,
    shares_of_rounds,
)
from sdmbtl_lab.benchmarks.problem import Problem
from sdmbtl_lab.benchmarks.records import Unit, record_key, units_of
from sdmbtl_lab.benchmarks.result import (
    EPSILONS,
    Aggregate,
    BenchmarkResult,
    ProblemResult,
    RoundsTo,
    SelectorResult,
    Statistics,
)
from sdmbtl_lab.fingerprint import code_fingerprint
from sdmbtl_lab.matrices.dataset import min_max
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS

#: Shares of structures leave out the rounds in which the paper's detector is not asked yet.
SKIPPED_ROUNDS = 5
#: Code that makes the numbers, besides problems and selectors.
_NUMBERS = (
    *("sdmbtl.contexts", "sdmbtl.transfer", "sdmbtl.selectors", "sdmbtl.seeds"),
    *(f"sdmbtl_lab.matrices.{name}" for name in ("dataset", "margins", "storage")),
    *(f"sdmbtl_lab.benchmarks.{name}" for name in ("metrics", "problem", "records", "simulate")),
)
#: Kind of a benchmark, in its settings -> module of its problems.
PROBLEM_MODULES = {
    "synthetic": "sdmbtl_lab.benchmarks.synthetic",
    "real": "sdmbtl_lab.benchmarks.problem",
    "variations": "variations",
}

Floats = NDArray[np.floating]
#: Selector, number of policies and metric -> (W,) values, one for each matrix.
Values = dict[tuple[str, int, str], Floats]


@dataclass(frozen=True)
class Benchmark:
    """Selectors and the problems they run on; further attributes are those of `BenchmarkResult`.

    Attributes:
        problems: The problems; each has another name.
        selectors: Names; random and the Myopic Oracle always take part, they set the scale.
        trials: W, the number of matrices of each problem. The paper calls them trials, and so do
            the result files; elsewhere a trial is one source, see `selectors.Trial`.
        policies: Numbers of trained policies that are reported; on smaller problems fewer of them.
    """

    problems: tuple[Problem, ...]
    selectors: tuple[str, ...]
    trials: int
    policies: tuple[int, ...]
    name: str = "benchmark"
    title: str = "own problems"
    headers: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: str = ""
    notes: tuple[str, ...] = ()
    least_margin: float | None = None

    def __post_init__(self) -> None:
        names = [problem.name for problem in self.problems]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BenchmarkError(
                f"Two problems are called {twice[0]!r}. Give each of them once, and own data sets "
                "their own names: the name of their directory."
            )
        check_int("trials", self.trials, low=1, error=BenchmarkError)
        if not self.policies:
            raise BenchmarkError("There is no number of policies to report: give at least one.")
        for k in self.policies:
            check_int("policies", k, low=1, error=BenchmarkError)
        object.__setattr__(self, "policies", tuple(sorted(set(self.policies))))
        object.__setattr__(self, "selectors", with_both_ends(self.selectors))
        object.__setattr__(self, "headers", self.headers or tuple(self.problems[0].labels))

    @property
    def code(self) -> str:
        """Fingerprint of the code that makes the numbers: selectors, problems and metrics."""
        return _code_of(self.selectors, {type(problem).__module__ for problem in self.problems})

    @property
    def heading(self) -> dict[str, Any]:
        """Everything the records of a run depend on."""
        return {
            "benchmark": self.name,
            "trials": self.trials,
            "rounds": self.policies[-1],
            "settings": dict(self.settings),
            "problems": {problem.name: problem.settings for problem in self.problems},
            "code": self.code,
        }

    def rounds(self, problem: Problem) -> int:
        """K of a problem: as many policies as are reported, or as it has."""
        return min(self.policies[-1], problem.rounds)

    def journal(self, out: Path) -> Journal:
        """The records of an unfinished run in a folder."""
        return Journal(out / f"{self.name}.partial.jsonl", self.heading)

    def run(
        self,
        journal: Journal | None = None,
        *,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> BenchmarkResult:
        """Do all work that the journal does not hold yet."""
        if journal is None:
            journal = Journal(None, self.heading)
        journal.complete(self._units(), jobs=jobs, progress=progress)
        return self.result(journal)

    def result(self, journal: Journal) -> BenchmarkResult:
        """The result of a finished run.

        Performance is scaled to 0..1 over all matrices of a problem, after the selectors ran:
        they see raw returns.
        """
        values: dict[str, Values] = {}
        problems = []
        for problem in self.problems:
            found, values[problem.name] = self._problem(problem, journal)
            problems.append(found)
        several = any(MULTI_TASK in problem.selectors for problem in problems)
        result = BenchmarkResult(
            name=self.name,
            title=self.title,
            headers=self.headers,
            trials=self.trials,
            policies=self.policies,
            selectors=(*self.selectors, MULTI_TASK) if several else self.selectors,
            problems=tuple(problems),
            aggregated={},
            least_margin=self.least_margin,
            settings={
                **self.settings,
                "problems": {problem.name: problem.settings for problem in self.problems},
            },
            seeds=self.seeds,
            code=journal.heading["code"],
            versions=versions(),
            notes=self.notes,
        )
        return replace(result, aggregated=_aggregated(result, values))

    def _units(self) -> Iterator[Unit]:
        for problem in self.problems:
            yield from units_of(problem, self.trials, self.selectors, self.rounds(problem))

    def _problem(self, problem: Problem, journal: Journal) -> tuple[ProblemResult, Values]:
        """The result on one problem, and the values on its matrices behind it."""
        trials, rounds = range(self.trials), self.rounds(problem)
        records = {
            name: [journal[record_key(problem.name, t, name)] for t in trials]
            for name in self.selectors
        }
        low, high = problem.return_range or (
            min(record["low"] for record in records[RANDOM]),
            max(record["high"] for record in records[RANDOM]),
        )

        def scaled(raw: list[Any]) -> Floats:
            return np.asarray(min_max(np.array(raw), low, high))

        reference = scaled([record["all_policies"] for record in records[RANDOM]])
        curves = {name: scaled([r["curve"] for r in some]) for name, some in records.items()}
        policies = sorted({k for k in self.policies if k <= rounds} | {rounds})
        values = _values(curves, policies)
        selectors = {
            name: SelectorResult(
                at=_statistics(values, name, policies, one_matrix=problem.one_matrix),
                curve=tuple(curves[name].mean(axis=0).tolist()),
                half_widths=_half_widths(curves[name], one_matrix=problem.one_matrix),
                rounds_to=_rounds_to(curves[name], reference),
                strategies=_shares_by_round([r["strategies"] for r in some if "strategies" in r]),
                structures=shares_of_rounds(
                    [r["structures"] for r in some if "structures" in r], skip=SKIPPED_ROUNDS
                ),
            )
            for name, some in records.items()
        }
        for k in policies:
            returns = problem.multi_task(k)
            if returns is not None:
                values[MULTI_TASK, k, "final"] = np.asarray(min_max(returns, low, high))
        multi_task = _statistics(values, MULTI_TASK, policies, one_matrix=False)
        if multi_task:
            selectors[MULTI_TASK] = SelectorResult(multi_task)
        margin = problem.choice_margin()
        found = ProblemResult(
            name=problem.name,
            labels=dict(problem.labels),
            rounds=rounds,
            low=low,
            high=high,
            selectors=selectors,
            mountain=problem.is_mountain,
            all_policies=float(reference.mean()),
            margin=margin,
            matters=margin is None or margin >= CHOICE_MATTERS,
        )
        return found, values


def made_by_older_code(result: BenchmarkResult) -> bool:
    """Return whether the code that made a result has changed; False if that is not known."""
    module = PROBLEM_MODULES.get(result.settings.get("kind", ""), "")
    if not module or find_spec(module) is None:
        return False
    try:
        return result.code != _code_of(result.selectors, {module})
    except SelectorError:  # a selector that there was
        return True


def _code_of(selectors: Iterable[str], modules: set[str]) -> str:
    """Return the fingerprint of selectors, of modules of problems, and of the metrics."""
    space = ContextSpace(any=[0.0, 1.0])
    chosen = (name for name in selectors if name not in (*ORACLES, MULTI_TASK))
    types = {type(make_selector(name, space)).__module__ for name in chosen}
    return code_fingerprint(*types, *modules, *_NUMBERS)


def _values(curves: Mapping[str, Floats], policies: list[int]) -> Values:
    """Values of every selector for every number of policies; curves are (W, K), 0 to 1."""
    values: Values = {}
    for name, curve in curves.items():
        for k in policies:
            values[name, k, "final"] = curve[:, k - 1]
            values[name, k, "auc"] = curve[:, :k].mean(axis=1)
            values[name, k, "ahead"] = curve[:, k - 1] - curves[RANDOM][:, k - 1]
    return values


def _statistics(
    values: Values, name: str, policies: list[int], *, one_matrix: bool
) -> dict[int, dict[str, Statistics]]:
    """Number of policies -> metric -> statistics of a selector."""
    found: dict[int, dict[str, Statistics]] = {}
    for k in policies:
        for metric in ("final", "auc", "ahead"):
            trials = values.get((name, k, metric))
            if trials is not None:
                found.setdefault(k, {})[metric] = _over_trials(trials, one_matrix=one_matrix)
        if k in found and (RANDOM, k, "final") in values:
            random, oracle = (float(values[n, k, "final"].mean()) for n in (RANDOM, MYOPIC))
            if oracle > random:
                found[k]["score"] = _score(found[k]["final"], random, oracle)
    return found


def _half_widths(curves: Floats, *, one_matrix: bool) -> tuple[float, ...]:
    """Half the width of the interval of the mean in each round of (W, K) curves."""
    if len(curves) < 2 or one_matrix:
        return ()
    return tuple(bootstrap_interval(curve).half_width for curve in curves.T)


def _over_trials(trials: Floats, *, one_matrix: bool) -> Statistics:
    """Mean, median and interquartile mean of (W,) values, each with half its 95 % interval.

    Runs on one matrix do not generalise to others: there are no intervals.
    """
    several = len(trials) > 1 and not one_matrix
    found = []
    for statistic in (np.mean, np.median, interquartile_mean):
        interval = bootstrap_interval(trials, statistic)
        found += [interval.estimate, interval.half_width if several else None]
    return Statistics(*found)  # type: ignore[arg-type]


def _score(final: Statistics, random: float, oracle: float) -> Statistics:
    """A performance on the scale where random choice is 0 and the oracle 1."""
    width = None if final.half_width is None else final.half_width / (oracle - random)
    return Statistics((final.mean - random) / (oracle - random), width)


def _rounds_to(curves: Floats, reference: Floats) -> dict[str, RoundsTo]:
    """For each epsilon how soon (W, K) curves get near what all policies reach, (W,)."""
    found = {}
    for epsilon in EPSILONS:
        rounds = rounds_to_suboptimal(curves, reference, epsilon)
        reached = rounds[~np.isnan(rounds)]
        median = float(np.median(np.where(np.isnan(rounds), np.inf, rounds)))
        found[f"{epsilon:g}"] = RoundsTo(
            reached=len(reached) / len(rounds),
            rounds=float(reached.mean()) if len(reached) else None,
            median=median if np.isfinite(median) else None,
        )
    return found


def _shares_by_round(strategies: list[list[str]]) -> dict[str, tuple[float, ...]]:
    """Strategy -> (K,) share of the matrices in which it chose in each round."""
    names = sorted({name for run in strategies for name in run})
    chosen = np.array(strategies)
    return {name: tuple((chosen == name).mean(axis=0).tolist()) for name in names}


def _aggregated(
    result: BenchmarkResult, values: Mapping[str, Values]
) -> dict[int, dict[str, dict[str, Aggregate]]]:
    """The paper's aggregate for every number of policies, selector and metric."""
    return {
        k: {
            name: {
                metric: _aggregate([p.name for p in result.entering(k)], values, name, k, metric)
                for metric in ("final", "auc")
            }
            for name in result.selectors
        }
        for k in result.policies
    }


def _aggregate(
    problems: list[str], values: Mapping[str, Values], name: str, k: int, metric: str
) -> Aggregate:
    """Over the problems that enter; those that lack a value are left out and named."""
    known = [p for p in problems if (name, k, metric) in values[p]]
    if not known:
        return Aggregate(None, why="It is known for no problem that enters.")

    def means(which: str) -> dict[str, float]:
        return {p: float(values[p][which, k, metric].mean()) for p in known}

    trials = {p: values[p][name, k, metric] for p in known}
    without = tuple(p for p in problems if p not in known)
    try:
        interval = aggregated_performance(trials, means(RANDOM), means(MYOPIC))
    except BenchmarkError as error:
        return Aggregate(None, why=str(error), without=without)
    several = any(len(set(one.tolist())) > 1 for one in trials.values())
    return Aggregate(interval.estimate, interval.half_width if several else None, without=without)
