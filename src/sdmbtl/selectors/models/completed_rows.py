"""Rows without holes, as the models see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.slopes import PairSums

#: A return that was not evaluated is interpolated from this many targets of the same row.
NEIGHBOURS = 8


@dataclass(frozen=True)
class CompletedRows:
    """Observed rows, the returns that were not evaluated filled in.

    Attributes:
        space: The context space.
        sources: (k, D) contexts the policies were trained on, in unit coordinates.
        returns: (k, N) returns on every target.
        own: (k,) the return of each policy on its own context.
        observed: The rows they were made from.
        gaps: Sums of differences and returns over all pairs.
    """

    space: ContextSpace
    sources: NDArray[np.float64]
    returns: NDArray[np.float64]
    own: NDArray[np.float64]
    observed: ObservedRows
    gaps: PairSums = field(repr=False)

    @classmethod
    def of(
        cls,
        rows: ObservedRows,
        earlier: CompletedRows | None = None,
        expected: NDArray[np.float64] | None = None,
    ) -> CompletedRows:
        """Complete some rows.

        Args:
            rows: At least one row.
            earlier: What was made of fewer of these rows; only what is new is then computed.
            expected: (N,) what a model predicts for the new rows; without it, what policies get
                on each target on average.
        """
        if earlier is None or not rows.continues(earlier.observed):
            earlier = None
        known = 0 if earlier is None else len(earlier)
        if earlier is not None and known == len(rows):
            return earlier
        new = complete_returns(rows, known, expected)
        returns = new if earlier is None else np.concatenate([earlier.returns, new])
        own = rows.source_returns
        if np.isnan(own).any():
            nearest = returns[np.arange(len(rows)), rows.source_positions]
            own = np.where(np.isnan(own), nearest, own)
        sums = PairSums.empty(rows.space) if earlier is None else earlier.gaps
        sums = sums.extended(rows.unit_sources[known:], new)
        return cls(rows.space, rows.unit_sources, returns, own, rows, sums)

    def __len__(self) -> int:
        return len(self.returns)

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """(N,) best return so far on each target."""
        return np.asarray(self.returns.max(axis=0))

    @cached_property
    def ceiling(self) -> float:
        """The largest return seen: what no policy is expected to exceed."""
        return float(self.returns.max())

    @cached_property
    def width(self) -> float:
        """The range of the returns: the largest minus the smallest."""
        return float(np.ptp(self.returns))


def complete_returns(
    rows: ObservedRows, start: int = 0, expected: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """(k - start, N) the returns from row `start` on, without NaN.

    Where a policy was not evaluated, it gets what is expected there, plus the difference from the
    expected return on the nearest targets on which it was evaluated.

    Args:
        rows: The rows.
        start: The first one to complete.
        expected: (N,) what is expected on each target; by default what policies get there on
            average.
    """
    returns = rows.returns[start:]
    if not np.isnan(returns).any():
        return returns
    difficulty = _difficulty(rows) if expected is None else expected
    filled = returns.copy()
    for row in filled:
        holes = np.isnan(row)
        if holes.any():
            relative = (row - difficulty)[~holes]
            row[holes] = difficulty[holes] + _interpolate(
                rows.space.unit_targets[~holes], relative, rows.space.unit_targets[holes]
            )
    return filled


def _difficulty(rows: ObservedRows) -> NDArray[np.float64]:
    """(N,) mean return on each target, corrected for who was evaluated there."""
    policy_means = np.nanmean(rows.returns, axis=1, keepdims=True)
    relative = rows.returns - policy_means
    counts = (~np.isnan(relative)).sum(axis=0)
    known = counts > 0
    effect = np.zeros(len(rows.space))
    # One policy cannot separate run-to-run variance from the target's difficulty: shrink.
    effect[known] = np.nansum(relative[:, known], axis=0) / (counts[known] + 0.5)
    if not known.all():
        units = rows.space.unit_targets
        effect[~known] = _interpolate(units[known], effect[known], units[~known])
    return effect + float(np.nanmean(policy_means))


def _interpolate(
    points: NDArray[np.float64], values: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(m,) means of the values at the nearest points, weighted by inverse squared distance."""
    count = min(NEIGHBOURS, len(points))
    result = np.empty(len(wanted))
    for start in range(0, len(wanted), 1024):  # blocks keep the distances small
        part = wanted[start : start + 1024]
        squares = ((part[:, None] - points) ** 2).sum(axis=2)
        farthest = np.partition(squares, count - 1, axis=1)[:, count - 1, None]
        nearer, tied = squares < farthest, squares == farthest
        # Of points equally far away the first ones, on every machine.
        places = count - nearer.sum(axis=1, keepdims=True)
        nearest = nearer | (tied & (tied.cumsum(axis=1) <= places))
        weights = np.where(nearest, 1.0 / (squares + 1e-6), 0.0)
        result[start : start + 1024] = (weights * values).sum(axis=1) / weights.sum(axis=1)
    return result
