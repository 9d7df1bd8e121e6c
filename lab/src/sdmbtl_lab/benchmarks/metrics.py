"""Numbers that sum up benchmark runs: means, intervals and shares.

A run gives a *curve*: the performance after k = 1..K trained policies. Curves of several matrices
are stacked as an array of shape (W, K), W the number of matrices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sdmbtl.errors import BenchmarkError

FloatArray = npt.NDArray[np.float64]

#: Level of the confidence intervals, and the number of bootstrap samples behind them.
LEVEL, RESAMPLES = 0.95, 2000
#: Performances that differ by less than this, relatively, are the same up to rounding.
_RELATIVE_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An estimate, the statistic of the sample itself, with the ends of its confidence interval."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends: what the tables print after the ± sign."""
        return (self.high - self.low) / 2


def interquartile_mean(values: npt.ArrayLike, axis: int = -1) -> FloatArray:
    """Mean of the middle half of the values along an axis.

    Each of n sorted values carries the mass 1/n; the lowest and the highest quarter of the mass are
    cut off, and a value that straddles a cut counts with the fraction that remains.

    >>> float(interquartile_mean([0.0, 1.0, 5.0]))  # weights 1/6, 4/6, 1/6
    1.5
    """
    sample = np.asarray(values, dtype=np.float64)
    ordered = np.moveaxis(np.sort(sample, axis=axis), axis, -1)
    size = ordered.shape[-1]
    quarters_kept = np.diff(np.clip(4 * np.arange(size + 1), size, 3 * size))
    return np.asarray(ordered @ quarters_kept / (2 * size))


def bootstrap_interval(
    values: npt.ArrayLike, statistic: Callable[..., Any] = np.mean
) -> ConfidenceInterval:
    """Percentile bootstrap interval of a statistic of one sample, at the level `LEVEL`.

    Args:
        values: One value for each matrix, shape (W,).
        statistic: Function with an `axis` keyword, such as `np.mean` or `interquartile_mean`.
    """
    sample = np.asarray(values, dtype=np.float64)
    draws = _resampled(sample, statistic, np.random.default_rng(0))
    return _interval(statistic(sample, axis=0), draws)


def _resampled(
    sample: FloatArray, statistic: Callable[..., Any], rng: np.random.Generator
) -> FloatArray:
    """Statistics (B,) of B bootstrap samples of (W,) values."""
    chosen = rng.integers(len(sample), size=(RESAMPLES, len(sample)))
    return np.asarray(statistic(sample[chosen], axis=1), dtype=np.float64)


def _interval(estimate: float | FloatArray, draws: FloatArray) -> ConfidenceInterval:
    """An estimate with the percentiles of its (B,) bootstrap statistics."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return ConfidenceInterval(float(estimate), float(low), float(high))


def aggregated_performance(
    per_configuration: Mapping[str, npt.ArrayLike],
    random: Mapping[str, float],
    oracle: Mapping[str, float],
) -> ConfidenceInterval:
    """Mean over configurations of the normalised performance, with a stratified bootstrap interval.

    Normalised, a performance is (performance - random) / (oracle - random): random choice is 0 and
    the oracle 1. Each configuration counts the same, however many matrices it has. The bootstrap
    resamples the matrices within each configuration and keeps both ends of its scale fixed.

    Args:
        per_configuration: Performance of one selector: configuration -> values, shape (W_j,).
        random: Mean performance of random choice in each of these configurations.
        oracle: Mean performance of the oracle in each of these configurations.

    Raises:
        BenchmarkError: If random and oracle agree up to rounding, for then there is no scale.

    >>> aggregated_performance({"a": [0.5], "b": [0.75]}, {"a": 0, "b": 0.5}, {"a": 1, "b": 1})
    ConfidenceInterval(estimate=0.5, low=0.5, high=0.5)
    """
    rng = np.random.default_rng(0)
    means, draws = [], np.zeros(RESAMPLES)
    for name in sorted(per_configuration):
        low, high = random[name], oracle[name]
        if np.isclose(low, high, rtol=_RELATIVE_ROUNDING, atol=0.0):
            raise BenchmarkError(
                f"Configuration {name!r}: random choice performs {low!r} and the oracle {high!r}. "
                "Leave it out: the choice of sources does not matter there."
            )
        scores = (np.asarray(per_configuration[name]) - low) / (high - low)
        means.append(scores.mean())
        draws += _resampled(scores, np.mean, rng) / len(per_configuration)
    return _interval(float(np.mean(means)), draws)


def rounds_to_suboptimal(
    curves: npt.ArrayLike, reference: npt.ArrayLike, epsilon: float
) -> FloatArray:
    """First round, from 1 on, in which each of (..., K) curves is epsilon-suboptimal; NaN if none.

    A performance is epsilon-suboptimal when it is at least (1 - epsilon) * reference, up to
    rounding. Curves are min-max-normalised to 0..1, so the reference must not be negative.

    >>> rounds_to_suboptimal([[0.5, 0.9, 1.0], [0.5, 0.6, 0.7]], reference=1.0, epsilon=0.1)
    array([ 2., nan])
    """
    threshold = (1 - epsilon) * np.asarray(reference) * (1 - _RELATIVE_ROUNDING)
    reached = np.asarray(curves) >= threshold[..., None]
    return np.asarray(np.where(reached.any(axis=-1), reached.argmax(axis=-1) + 1.0, np.nan))


def shares_of_rounds(names: Sequence[Sequence[object]], skip: int = 0) -> dict[str, float]:
    """Share of the rounds that each name has, such as of a structure, sorted by name.

    Args:
        names: For each matrix what was used or found in round 1, 2, ...
        skip: Number of first rounds on each matrix to leave out, such as those before detection.

    >>> shares_of_rounds([["m", "gp", "gp"], ["m", "m", None]], skip=1)
    {'None': 0.25, 'gp': 0.5, 'm': 0.25}
    """
    counts = Counter(str(name) for trial in names for name in trial[skip:])
    return {name: counts[name] / counts.total() for name in sorted(counts)}
