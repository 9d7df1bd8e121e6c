"""Expected improvement: what a new policy should add to the best returns, and where most.

One closed form for all selectors: GP-MBTL's gain by the upper bound is its limit for a deviation
of 0, `predictive` uses all of it. Of very many targets the best is searched from coarse to fine.
Ties break the same way on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.contexts import Source
from sdmbtl.contexts.weights import weighted_mean
from sdmbtl.selectors.history import History

Sources = Literal["targets", "box"]

#: Values closer than this share of their range count as equal: their order is rounding.
TIE = 1e-9
#: The targets of this many parts of the sample are compared, those with the largest gains, and of
#: all of them together at most this many.
PARTS, MOST_TARGETS = 8, 1024


def expected_improvement(
    above: NDArray[np.floating],
    deviation: NDArray[np.floating] | float = 0.0,
    beyond: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """(m, n) expected improvements E[(min(J, ceiling) - best)+] for a normal J, in closed form.

    A normal distribution puts gains above the highest return there is; counted for every covered
    target, they would outweigh the real ones. So what lies above the ceiling is subtracted.

    Args:
        above: (m, n) how far the expected returns lie above the best so far, E[J] - best.
        deviation: Standard deviation of J, one for all or (m, 1) or (m, n); 0 for certainty.
        beyond: (m, n) how far the expected returns lie above the ceiling, which is nowhere below
            the best so far; None if there is no ceiling.
    """
    gain = _mean_positive_part(above, deviation)
    if beyond is not None:
        gain -= _mean_positive_part(beyond, deviation)
    return gain


def mean_improvement(
    blocks: Iterable[tuple[slice, NDArray[np.float64]]],
    sources: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Mean over the targets of certain improvements, as `SeparableGap.advantages` yields them."""
    means = np.empty(sources)
    for where, above in blocks:
        means[where] = weighted_mean(expected_improvement(above), weights)
    return means


def _mean_positive_part(
    mean: NDArray[np.floating], deviation: NDArray[np.floating] | float
) -> NDArray[np.floating]:
    """E[max(Z, 0)] for Z normal; max(mean, 0) where it has no deviation."""
    if isinstance(deviation, float) and deviation == 0.0:
        return np.asarray(np.maximum(mean, 0.0))
    certain = np.equal(deviation, 0.0)
    if np.any(certain):
        spread = _mean_positive_part(mean, np.where(certain, 1.0, deviation))
        return np.where(certain, np.maximum(mean, 0.0), spread)
    # deviation · (z Φ(z) + φ(z)), in two arrays: these are large, and a cache is small.
    z = mean / deviation
    gain = np.asarray(scipy.special.ndtr(z))
    gain *= z
    z *= z
    z *= -0.5
    np.exp(z, out=z)
    z *= 1.0 / np.sqrt(2.0 * np.pi)
    gain += z
    gain *= deviation
    return gain


#: The gaining targets are high or low in a dimension if their mean differs from that of all targets
#: by this many standard deviations. A gain that grows evenly from one end to the other has 0.58.
SHIFTED = 0.5


def where_gained(
    gains: NDArray[np.floating], targets: NDArray[np.float64], names: Sequence[str]
) -> str | None:
    """Name the one or two coordinates in which the gaining targets differ most from all targets.

    Both (N,) gains, none of them negative, and (N, U) unit coordinates are of all targets. None if
    the gain is spread evenly, or there is none.

    >>> line = np.linspace(0.0, 1.0, 5)
    >>> targets = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    >>> where_gained(targets[:, 0] * (targets[:, 1] < 0.3), targets, ["length", "mass"])
    'high length and low mass'
    >>> where_gained(np.ones(25), targets, ["length", "mass"])
    """
    total = float(gains.sum())
    if not total > 0:
        return None
    varied = np.flatnonzero(np.ptp(targets, axis=0) > 0)
    some = targets[:, varied]
    standard = (some - some.mean(axis=0)) / some.std(axis=0)
    shifts = (np.asarray(gains, dtype=np.float64) / total) @ standard
    most = np.argsort(-np.abs(shifts), kind="stable")[:2]
    found = []
    for d in sorted(int(d) for d in most if abs(shifts[d]) >= SHIFTED):
        name, high = names[varied[d]], shifts[d] > 0
        if "=" in name:  # a category
            found.append(name if high else name.replace("=", " other than "))
        else:
            found.append(f"{'high' if high else 'low'} {name}")
    return " and ".join(found) or None


def best_target(
    values: NDArray[np.float64], free: NDArray[np.bool_], tie_rank: NDArray[np.intp]
) -> int:
    """Index of the free target with the highest value; of equal ones the most central.

    Args:
        values: (N,) finite values.
        free: (N,) which targets may be chosen, at least one.
        tie_rank: (N,) the space's preference among equals.
    """
    allowed = np.flatnonzero(free)
    chosen = values[allowed]
    ties = allowed[chosen >= chosen.max() - tie_margin(values)]
    return int(ties[np.argmin(tie_rank[ties])])


def tie_margin(values: NDArray[np.floating]) -> float:
    """Return how far two of these values may be apart and still count as equal."""
    low, high = float(values.min()), float(values.max())
    rounding = 8 * np.finfo(np.float64).eps * max(abs(low), abs(high))
    return TIE * (high - low) + float(rounding)


class SourceChoice(NamedTuple):
    """A target to train on, in unit coordinates too, and what it would gain."""

    source: Source
    unit: NDArray[np.float64]
    gain: float


def best_source(
    history: History,
    gains: NDArray[np.float64],
    gains_of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    allowed: NDArray[np.bool_],
) -> SourceChoice:
    """Choose the best target; with a sample, of all those that its best ones stand for.

    Args:
        history: The history that the choice is made from.
        gains: (n,) what each target of its space would gain.
        gains_of: Gives the (m,) gains of any (m, U) sources in unit coordinates.
        allowed: (n,) which targets of its space may be chosen.
    """
    sample, space = history.sample, history.space
    if sample is not None:
        parts = np.argsort(-gains, kind="stable")[:PARTS]
        near = np.sort(np.concatenate([sample.members[part] for part in parts]))
        near = near[history.whole.free_targets()[near]]
        near = near[:: -(-len(near) // MOST_TARGETS) or 1]
        if len(near):
            units = sample.of.unit_targets[near]
            found = gains_of(units)
            best = best_target(found, np.ones(len(near), bool), sample.of.rank_ties(near))
            return SourceChoice(sample.of.source(int(near[best])), units[best], float(found[best]))
    index = best_target(gains, allowed, space.tie_rank)
    return SourceChoice(space.source(index), space.unit_targets[index], float(gains[index]))
