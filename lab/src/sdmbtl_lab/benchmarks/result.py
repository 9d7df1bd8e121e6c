"""Result of a benchmark: typed, and JSON there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sdmbtl.errors import BenchmarkError
from sdmbtl.files import write_atomically
from sdmbtl.foreign import read_json
from sdmbtl.json_data import as_json
from sdmbtl_lab.benchmarks.columns import MYOPIC, RANDOM
from sdmbtl_lab.from_json import from_json

#: Performance within this share of what all policies together reach counts as near-optimal.
EPSILONS = (0.1, 0.05, 0.02)
#: Digits after the decimal point that a result file keeps.
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

    def interval(self, statistic: str = "mean") -> tuple[float | None, float | None]:
        """Return the mean, median or iqm, and half the width of its interval."""
        key = "half_width" if statistic == "mean" else f"{statistic}_half_width"
        return getattr(self, statistic), getattr(self, key)


@dataclass(frozen=True)
class RoundsTo:
    """Rounds until selection on the matrices was near-optimal.

    Attributes:
        reached: Share of the matrices on which it got there.
        rounds: Mean number of rounds of those; None if there are none.
        median: Median over all; None if it never gets there.
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
        mountain: True if it is known to have the Mountain structure.
        all_policies: Performance of all N policies together; None if it was not kept.
        margin: Possible gain of choosing on all known seeds; None if that was not measured.
        matters: True if that is enough for choosing to matter.
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
        """Return Myopic Oracle minus Random with `k` policies; None if fewer were trained."""
        if k > self.rounds:
            return None
        oracle, random = (self.selectors[name].curve[k - 1] for name in (MYOPIC, RANDOM))
        return oracle - random

    def statistics(self, selector: str, k: int, metric: str) -> Statistics | None:
        """Return the statistics of a selector with `k` policies; None if they are not known."""
        return self.of(selector).at.get(k, {}).get(metric)

    def of(self, selector: str) -> SelectorResult:
        """Return the result of a selector; empty if it has no values here, as Multi-task may."""
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
        title: Description of the problems.
        headers: Label headers of its tables: keys of the problems' labels, "K" or "margin".
        trials: W, the number of matrices of each problem; a key of the result files.
        policies: Numbers of trained policies that are reported.
        selectors: Selectors and baselines.
        problems: Results on each problem.
        aggregated: Number of policies -> selector -> metric -> the paper's aggregate.
        least_margin: Problems enter the aggregate while choosing matters and the oracle is this far
            above random choice; None if all of them do.
        settings: Data that the matrices depend on, as JSON.
        seeds: Sources of random numbers, in words.
        code: Fingerprint of the code that made the numbers.
        versions: Of Python and of the packages.
        notes: Remarks on the data.
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

    def save(self, path: Path) -> None:
        """Write a result file, atomically; numbers with six digits after the point."""
        path.parent.mkdir(parents=True, exist_ok=True)
        data = {key: as_json(value, DIGITS) for key, value in vars(self).items()}
        write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a result file."""
        try:
            result: Self = from_json(cls, read_json(path))
        except (OSError, AttributeError, LookupError, TypeError, ArithmeticError, ValueError) as e:
            raise BenchmarkError(
                f"{path} is not the result of a benchmark ({e}). Give a file of 'sdmbtl lab bench'."
            ) from None
        return result

    def entering(self, k: int) -> tuple[ProblemResult, ...]:
        """Return the problems that enter the aggregate for `k` policies.

        With a least margin, these are the ones where choosing matters and something is left to
        gain: a quotient of nearly nothing carries no information.
        """
        run = [(p, p.margin_at(k)) for p in self.problems]
        return tuple(
            problem
            for problem, margin in run
            if margin is not None
            and (self.least_margin is None or (problem.matters and margin >= self.least_margin))
        )
