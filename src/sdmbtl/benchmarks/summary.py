"""From the records of a benchmark to numbers: statistics over trials, the paper's aggregate."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.metrics import (
    aggregated_performance,
    bootstrap_interval,
    interquartile_mean,
    rounds_to_suboptimal,
)
from sdmbtl.benchmarks.runner import RANDOM, record_key
from sdmbtl.errors import BenchmarkError

#: Performance within this share of what all policies together reach counts as near-optimal.
EPSILONS = (0.1, 0.05, 0.02)


def return_range(journal: Journal, data: str, trials: Iterable[int]) -> tuple[float, float]:
    """The lowest and the highest return of some data over the trials."""
    extents = [journal[record_key(data, trial, RANDOM)] for trial in trials]
    return min(e["low"] for e in extents), max(e["high"] for e in extents)


def without_trials(value: Any) -> Any:
    """A result without the lists of single trials.

    Nobody reads them after the aggregate, and they are most of a file.
    """
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k != "trials" or not isinstance(v, list)}
        return {key: without_trials(inner) for key, inner in kept.items()}
    if isinstance(value, list):
        return [without_trials(inner) for inner in value]
    return value


def statistics(values: NDArray[np.floating], *, alike: bool = False) -> dict[str, Any]:
    """Mean, median and interquartile mean of (W,) trials, each with half its 95 % interval.

    Args:
        values: One for each trial.
        alike: Whether all trials come from the same data, so that they say nothing about others.
    """
    several = len(values) > 1 and not alike
    data: dict[str, Any] = {}
    for name, statistic in (("mean", np.mean), ("median", np.median), ("iqm", interquartile_mean)):
        interval = bootstrap_interval(values, statistic)
        data[name] = interval.estimate
        data[half_width_key(name)] = interval.half_width if several else None
    return {**data, "trials": values.tolist()}


def half_width_key(statistic: str) -> str:
    """Where half the width of the interval of a statistic stands."""
    return "half_width" if statistic == "mean" else f"{statistic}_half_width"


def rounds_to(
    curves: NDArray[np.floating], reference: NDArray[np.floating]
) -> dict[str, dict[str, float | None]]:
    """For each epsilon, in how many trials it was reached, and after how many rounds in the mean.

    Args:
        curves: (W, K) normalised performance.
        reference: (W,) what all policies together reach.
    """
    found: dict[str, dict[str, float | None]] = {}
    for epsilon in EPSILONS:
        rounds = rounds_to_suboptimal(curves, reference, epsilon)
        reached = rounds[~np.isnan(rounds)]
        found[f"{epsilon:g}"] = {
            "reached": float(len(reached) / len(rounds)),
            "rounds": float(reached.mean()) if len(reached) else None,
            "median": _median(rounds),
        }
    return found


def _median(rounds: NDArray[np.floating]) -> float | None:
    """The median with those that never get there as the latest; None if it is one of them."""
    median = float(np.median(np.where(np.isnan(rounds), np.inf, rounds)))
    return median if np.isfinite(median) else None


def aggregated(
    trials: Mapping[str, list[float]], random: Mapping[str, float], oracle: Mapping[str, float]
) -> dict[str, Any]:
    """The paper's aggregate: mean over data of (performance - random) / (oracle - random).

    Args:
        trials: Data -> (W,) performances of a selector.
        random: Data -> performance of random choice.
        oracle: Data -> performance of the Myopic Oracle.
    """
    try:
        interval = aggregated_performance(trials, random, oracle)
    except BenchmarkError as error:
        return {"mean": None, "half_width": None, "why": str(error)}
    several = any(len(set(values)) > 1 for values in trials.values())
    return {"mean": interval.estimate, "half_width": interval.half_width if several else None}


def provenance(code: str) -> dict[str, Any]:
    """What a result was made with."""
    return {
        "code": code,
        "versions": {name: version(name) for name in ("sdmbtl", "numpy", "scipy")},
        "python": platform.python_version(),
    }
