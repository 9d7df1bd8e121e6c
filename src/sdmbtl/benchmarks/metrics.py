"""Numbers that sum up benchmark runs: means, intervals and shares.

A run gives a *curve*: the performance after k = 1..K trained policies. Curves of several trials
are stacked as an array of shape (W, K), W the number of trials.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, overload

import numpy as np
import numpy.typing as npt

from sdmbtl.errors import BenchmarkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FloatArray = npt.NDArray[np.float64]

_RELATIVE_ROUNDING = 1e-12
"""Two performances that differ by less than this, relatively, are the same up to rounding."""


class Statistic(Protocol):
    """A statistic along one axis, such as `np.mean`, `np.median` or `interquartile_mean`."""

    def __call__(self, values: FloatArray, /, *, axis: int) -> npt.ArrayLike:
        """Return the statistic of `values` along `axis`, with that axis removed."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An estimate with the ends of its confidence interval.

    Attributes:
        estimate: The statistic of the sample itself.
        low: Lower end.
        high: Upper end.
    """

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends: what the tables print after the ± sign.

        >>> ConfidenceInterval(estimate=0.5, low=0.25, high=1.0).half_width
        0.375
        """
        return (self.high - self.low) / 2


@overload
def interquartile_mean(values: npt.ArrayLike, axis: None = None) -> float: ...


@overload
def interquartile_mean(values: npt.ArrayLike, axis: int) -> FloatArray: ...


def interquartile_mean(values: npt.ArrayLike, axis: int | None = None) -> float | FloatArray:
    """Mean of the middle half of the values.

    The definition is 2 * (integral of the empirical quantile function from 1/4 to 3/4): each of n
    sorted values carries the mass 1/n, the lowest and the highest quarter of the mass are cut off,
    and a value that straddles a cut counts with the fraction that remains. For n divisible by four
    this is `scipy.stats.trim_mean(values, 0.25)`, which for other n cuts whole values only and
    therefore keeps more than half of the sample.

    Args:
        values: Sample of any shape, finite and not empty.
        axis: Axis to average along; None takes all values as one sample.

    Returns:
        A float for `axis=None`, else an array with the axis removed.

    Raises:
        BenchmarkError: If there is no value, or one is not finite.

    >>> interquartile_mean([0.0, 1.0, 2.0, 1000.0])
    1.5
    >>> interquartile_mean([0.0, 1.0, 5.0])  # weights 1/6, 4/6, 1/6
    1.5
    """
    sample = _finite(values, "interquartile_mean")
    if axis is None:
        return float(_mean_of_middle(np.sort(sample, axis=None)))
    return _mean_of_middle(np.moveaxis(np.sort(sample, axis=axis), axis, -1))


def _mean_of_middle(ordered: FloatArray) -> FloatArray:
    """Interquartile mean (...) of values (..., n) that are sorted along the last axis."""
    size = ordered.shape[-1]
    quarters_kept = np.diff(np.clip(4 * np.arange(size + 1), size, 3 * size))
    return np.asarray(ordered @ quarters_kept / (2 * size))


def bootstrap_interval(
    values: npt.ArrayLike,
    statistic: Statistic = np.mean,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> ConfidenceInterval:
    """Percentile bootstrap interval of a statistic of one sample.

    Args:
        values: One value for each trial, shape (W,). A single value gives an interval of width
            zero.
        statistic: Function with an `axis` keyword, such as `np.mean` or `interquartile_mean`.
        level: Confidence level, between 0 and 1.
        resamples: Number of bootstrap samples.
        seed: Seed of the resampling.

    Returns:
        The statistic of the sample with its interval.

    Raises:
        BenchmarkError: If the sample is not one-dimensional, empty or not finite, or if `level` or
            `resamples` is out of range.

    >>> bootstrap_interval([0.25])
    ConfidenceInterval(estimate=0.25, low=0.25, high=0.25)
    """
    sample = _finite(values, "bootstrap_interval")
    if sample.ndim != 1:
        raise BenchmarkError(
            f"bootstrap_interval takes one value for each trial, shape (W,), but got shape "
            f"{sample.shape}."
        )
    _check_bootstrap(level, resamples)
    draws = _resampled(sample, statistic, resamples, np.random.default_rng(seed))
    return _interval(np.asarray(statistic(sample, axis=0)), draws, level)


def _check_bootstrap(level: float, resamples: int) -> None:
    """Refuse a confidence level or a number of resamples that makes no sense."""
    if not 0 < level < 1:
        raise BenchmarkError(f"The confidence level must lie between 0 and 1, but is {level}.")
    if resamples < 1:
        raise BenchmarkError(f"The bootstrap needs at least one resample, but got {resamples}.")


def _resampled(
    sample: FloatArray, statistic: Statistic, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Statistics (B,) of B bootstrap samples of (W,) values."""
    chosen = rng.integers(len(sample), size=(resamples, len(sample)))
    return np.asarray(statistic(sample[chosen], axis=1), dtype=np.float64)


def _interval(estimate: float | FloatArray, draws: FloatArray, level: float) -> ConfidenceInterval:
    """An estimate with the percentiles of its (B,) bootstrap statistics."""
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return ConfidenceInterval(float(estimate), float(low), float(high))


def area_under_curve(curves: npt.ArrayLike) -> FloatArray:
    """Mean performance over the rounds.

    Args:
        curves: Performance after each round, shape (..., K).

    Returns:
        Mean over the last axis, shape (...).

    Raises:
        BenchmarkError: If there is no round.

    >>> area_under_curve([[0.0, 0.5, 1.0], [1.0, 1.0, 1.0]])
    array([0.5, 1. ])
    """
    return np.asarray(_curves(curves, "area_under_curve").mean(axis=-1))


def normalised_performance(
    performance: npt.ArrayLike, random: npt.ArrayLike, oracle: npt.ArrayLike
) -> FloatArray:
    """Place a performance on the scale where random choice is 0 and the oracle is 1.

    The score is (performance - random) / (oracle - random). It may lie below 0 or above 1.

    Args:
        performance: Performances, any shape.
        random: Performance of random choice; broadcast against `performance`.
        oracle: Performance of the oracle; broadcast against `performance`.

    Returns:
        Scores of the broadcast shape.

    Raises:
        BenchmarkError: If random and oracle agree up to rounding, for then the score has no scale.

    >>> normalised_performance([0.5, 0.75, 1.0], random=0.5, oracle=1.0)
    array([0. , 0.5, 1. ])
    """
    value, low, high = (np.asarray(x, dtype=np.float64) for x in (performance, random, oracle))
    _refuse_equal(low, high)
    return np.asarray((value - low) / (high - low))


def _refuse_equal(random: FloatArray, oracle: FloatArray) -> None:
    """Raise where random choice and oracle perform the same."""
    low, high = np.broadcast_arrays(random, oracle)
    same = np.isclose(low, high, rtol=_RELATIVE_ROUNDING, atol=0.0)
    if same.any():
        where = tuple(np.argwhere(same)[0])
        raise BenchmarkError(
            f"Cannot normalise: random choice performs {float(low[where])!r} and the oracle "
            f"{float(high[where])!r}. Which sources are chosen does not matter there, so leave "
            "this configuration (or round) out."
        )


def aggregated_performance(
    per_configuration: Mapping[str, npt.ArrayLike],
    random: Mapping[str, float],
    oracle: Mapping[str, float],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> ConfidenceInterval:
    """Mean over configurations of the normalised performance, with a stratified bootstrap interval.

    Each configuration counts the same, however many trials it has. The bootstrap resamples the
    trials within each configuration and holds the two ends of its scale, random and oracle, fixed.
    The order of the mappings does not matter.

    Args:
        per_configuration: Performance of one selector: configuration -> trials, shape (W_j,).
        random: Mean performance of random choice in each of these configurations.
        oracle: Mean performance of the oracle in each of these configurations.
        level: Confidence level, between 0 and 1.
        resamples: Number of bootstrap samples.
        seed: Seed of the resampling.

    Returns:
        The aggregated performance with its interval.

    Raises:
        BenchmarkError: If there is no configuration, if random or oracle lack one or are equal in
            one, or if trial values are missing or not finite.

    >>> aggregated_performance({"a": [0.5], "b": [0.75]}, {"a": 0, "b": 0.5}, {"a": 1, "b": 1})
    ConfidenceInterval(estimate=0.5, low=0.5, high=0.5)
    """
    _check_bootstrap(level, resamples)
    scores = _scores(per_configuration, random, oracle)
    rng = np.random.default_rng(seed)
    draws = np.zeros(resamples)
    for sample in scores:
        draws += _resampled(sample, np.mean, resamples, rng) / len(scores)
    return _interval(float(np.mean([sample.mean() for sample in scores])), draws, level)


def _scores(
    per_configuration: Mapping[str, npt.ArrayLike],
    random: Mapping[str, float],
    oracle: Mapping[str, float],
) -> list[FloatArray]:
    """Normalised trial values, one array (W_j,) for each configuration, sorted by name."""
    if not per_configuration:
        raise BenchmarkError("There is no configuration to aggregate over.")
    for name, ends in (("random", random), ("oracle", oracle)):
        missing = sorted(set(per_configuration) - set(ends))
        if missing:
            raise BenchmarkError(f"The {name} performance is missing for: {', '.join(missing)}.")
    return [
        _configuration_scores(name, per_configuration[name], random[name], oracle[name])
        for name in sorted(per_configuration)
    ]


def _configuration_scores(
    name: str, trials: npt.ArrayLike, random: float, oracle: float
) -> FloatArray:
    """Normalised trial values (W_j,) of one configuration; errors name the configuration."""
    try:
        sample = _finite(trials, "aggregated_performance")
        if sample.ndim != 1:
            raise BenchmarkError(f"trial values need the shape (W,), but have {sample.shape}.")
        return normalised_performance(sample, random, oracle)
    except BenchmarkError as error:
        raise BenchmarkError(f"Configuration {name!r}: {error}") from error


def rounds_to_suboptimal(
    curves: npt.ArrayLike, reference: npt.ArrayLike, epsilon: float
) -> FloatArray:
    """First round in which each curve is epsilon-suboptimal.

    A performance is epsilon-suboptimal when it is at least (1 - epsilon) * reference, where the
    reference is the best known performance, such as that of all sources trained. Curves are
    min-max-normalised to 0..1, hence the reference must not be negative: the rule is relative, and
    below zero a smaller share would ask for more. Rounding in the last digits does not decide.

    Args:
        curves: Performance after each round, shape (..., K).
        reference: Best known performance, one for all curves or of shape (...).
        epsilon: Accepted relative loss, 0 <= epsilon <= 1.

    Returns:
        Round numbers counted from 1, shape (...); NaN where a curve never gets there.

    Raises:
        BenchmarkError: If there is no round, if a reference is negative or not finite, or if
            epsilon is out of range.

    >>> rounds_to_suboptimal([[0.5, 0.9, 1.0], [0.5, 0.6, 0.7]], reference=1.0, epsilon=0.1)
    array([ 2., nan])
    """
    paths = _curves(curves, "rounds_to_suboptimal")
    best = np.asarray(reference, dtype=np.float64)
    if not (np.isfinite(best) & (best >= 0)).all():
        raise BenchmarkError(
            "The reference performance must be finite and not negative (curves are normalised to "
            f"0..1), but is {best.tolist()}."
        )
    if not 0 <= epsilon <= 1:
        raise BenchmarkError(f"epsilon must lie in 0..1, but is {epsilon}.")
    threshold = (1 - epsilon) * best * (1 - _RELATIVE_ROUNDING)
    reached = paths >= threshold[..., None]
    return np.asarray(np.where(reached.any(axis=-1), reached.argmax(axis=-1) + 1.0, np.nan))


def strategy_shares(strategies: Sequence[Sequence[str]], skip: int = 0) -> dict[str, float]:
    """Share of the rounds that each strategy decided.

    Args:
        strategies: For each trial the name of the strategy used in round 1, 2, ...
        skip: How many first rounds of each trial to leave out, such as those before detection.

    Returns:
        Strategy -> share of all remaining rounds, sorted by name; the shares add up to one.

    Raises:
        BenchmarkError: If `skip` is negative, if no round remains, or if a trial is a single string
            instead of a sequence of names.

    >>> strategy_shares([["m", "gp", "gp"], ["m", "m", "gp"]], skip=1)
    {'gp': 0.75, 'm': 0.25}
    """
    if skip < 0:
        raise BenchmarkError(f"skip must not be negative, but is {skip}.")
    if any(isinstance(trial, str) for trial in strategies):
        raise BenchmarkError("strategies must be one sequence of names for each trial, not names.")
    counts = Counter(name for trial in strategies for name in trial[skip:])
    total = counts.total()
    if total == 0:
        raise BenchmarkError(f"No round is left after skipping the first {skip} of each trial.")
    return {name: counts[name] / total for name in sorted(counts)}


def _finite(values: npt.ArrayLike, name: str) -> FloatArray:
    """The values as a float array that is neither empty nor holds NaN or infinity."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise BenchmarkError(f"{name}: there are no values.")
    bad = sample.size - int(np.isfinite(sample).sum())
    if bad:
        raise BenchmarkError(f"{name}: {bad} of {sample.size} values are not finite.")
    return sample


def _curves(curves: npt.ArrayLike, name: str) -> FloatArray:
    """Curves (..., K) as a float array with at least one round."""
    paths = np.asarray(curves, dtype=np.float64)
    if paths.ndim == 0 or paths.shape[-1] == 0:
        raise BenchmarkError(f"{name}: curves need at least one round, but have {paths.shape}.")
    return paths
