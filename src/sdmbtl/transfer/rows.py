"""Rows of returns as they were observed: one for each trained policy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import RowError

#: Returns beyond this are refused: their squares, and sums of those, must be finite.
LARGEST_RETURN = 1e100

#: The arrays of `ObservedRows`, all of them with one entry for each row.
_ARRAYS = ("sources", "unit_sources", "returns", "source_positions", "source_returns")


class ObservedRows:
    """The rows J(pi_x, y_1..y_N) of the policies trained so far; never changes.

    A row may be partial (NaN = not evaluated), a source may be any context, trained once or
    several times.

    Args:
        space: The context space.
        sources: (k, D) contexts the policies were trained on.
        returns: (k, N) returns on every target, NaN where not evaluated.
        source_returns: (k,) returns on the source itself, NaN where unknown. They matter only
            where the row does not have the value: for sources that are not evaluated targets.

    Raises:
        RowError: If rows, sources and source returns do not fit together.
    """

    def __init__(
        self,
        space: ContextSpace,
        sources: Sequence[Any] | NDArray[Any] = (),
        returns: Sequence[Any] | NDArray[Any] = (),
        source_returns: ArrayLike | None = None,
    ) -> None:
        self.space = space
        given = np.full(len(returns), np.nan) if source_returns is None else source_returns
        own = np.array(given, dtype=np.float64)
        if not len(returns) == len(sources) == len(own) or np.isinf(own).any():
            raise RowError(
                "Each row needs its source, and its source return or NaN. Got "
                f"{len(sources)} sources, {len(returns)} rows and source returns {short_text(own)}."
            )
        k, width = len(returns), space.n_dimensions
        self.returns = np.array([as_row(row, space) for row in returns]).reshape(k, len(space))
        self.sources = np.array([space.vector(x) for x in sources]).reshape(k, width)
        self.unit_sources = space.to_unit(self.sources)
        found = [space.find(x) for x in self.sources]
        positions = [
            space.nearest_to_unit(unit) if index is None else index
            for index, unit in zip(found, self.unit_sources, strict=True)
        ]
        #: (k,) for each row the target nearest to its source.
        self.source_positions: NDArray[np.intp] = np.array(positions, dtype=np.intp)
        nearest = self.returns[np.arange(len(self)), self.source_positions]
        is_target = np.array([index is not None for index in found], dtype=bool)
        own = np.where(is_target & ~np.isnan(nearest), nearest, own)
        #: (k,) J(pi_x, x): from the row if the source is a target, otherwise as given, otherwise
        #: the return on the nearest target; NaN where that was not evaluated.
        self.source_returns: NDArray[np.float64] = np.where(np.isnan(own), nearest, own)
        for name in _ARRAYS:  # selectors keep what they derive from rows
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        return len(self.returns)

    def added(
        self, source: ContextLike, row: ArrayLike, source_return: float | None = None
    ) -> ObservedRows:
        """Return these rows and one more."""
        own = [np.nan if source_return is None else source_return]
        one = ObservedRows(self.space, [source], [row], own)
        rows = object.__new__(ObservedRows)  # these are checked already
        rows.space = self.space
        for name in _ARRAYS:
            array = np.concatenate([getattr(self, name), getattr(one, name)])
            array.setflags(write=False)
            setattr(rows, name, array)
        return rows

    def continues(self, earlier: ObservedRows) -> bool:
        """Return whether these are the earlier rows, unchanged, and perhaps some more."""
        k = len(earlier)
        return (
            self.space is earlier.space
            and k <= len(self)
            and np.array_equal(self.sources[:k], earlier.sources)
            # To the last bit, NaN included.
            and np.array_equal(self.returns[:k].view(np.int64), earlier.returns.view(np.int64))
            and np.array_equal(self.source_returns[:k], earlier.source_returns, equal_nan=True)
        )

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """(N,) best return so far on each target, NaN where nothing was evaluated."""
        if not len(self):
            return np.full(len(self.space), np.nan)
        return np.asarray(np.fmax.reduce(self.returns, axis=0))

    @cached_property
    def target_means(self) -> NDArray[np.float64]:
        """(N,) mean return on each target over the policies: its difficulty, up to a constant."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # targets without any evaluation
            return np.asarray(np.nanmean(self.returns, axis=0))

    @cached_property
    def relative(self) -> NDArray[np.float64]:
        """(k, N) relative returns: each target's mean over the policies removed (J bar)."""
        return self.returns - self.target_means

    def __repr__(self) -> str:
        return f"ObservedRows({len(self)} rows, {len(self.space)} targets)"


def as_row(row: ArrayLike, space: ContextSpace) -> NDArray[np.float64]:
    """Check one row of returns.

    Args:
        row: N numbers, NaN or None = not evaluated. A pandas Series is put in the order of the
            targets by its index: their numbers, or their values by the names of the dimensions.
        space: The context space with its N targets.

    Returns:
        (N,) returns, a copy that cannot be changed.

    Raises:
        RowError: If the length is wrong, a value is too large or not a number, or nothing was
            evaluated at all.
    """
    array = _numbers(row, space)
    if array.shape != (len(space),):
        hint = " Average over episodes first." if array.ndim > 1 else ""
        raise RowError(
            f"A row must have shape ({len(space)},), one return for each target, NaN where not "
            f"evaluated. Got shape {array.shape} instead.{hint}"
        )
    return array


def as_episodes(returns: ArrayLike, space: ContextSpace) -> NDArray[np.float64]:
    """Check the returns of a policy: a row, or the return of each episode.

    Args:
        returns: (N,) numbers, or (N, E) of E >= 1 episodes on each target; NaN or None where none
            was played.
        space: The context space with its N targets.

    Returns:
        (N, E) returns, a copy that cannot be changed; of a row, E = 1.
    """
    array = _numbers(returns, space)
    if array.ndim not in (1, 2) or len(array) != len(space):
        raise RowError(
            f"Returns must have shape ({len(space)},), one for each target, NaN where not "
            f"evaluated, or ({len(space)}, episodes), one for each episode on each target. "
            f"Got shape {array.shape} instead."
        )
    return array.reshape(len(space), -1)


def mean_of(values: NDArray[np.floating], weights: NDArray[np.float64] | None = None) -> float:
    """Return the mean, perhaps by weights, of those that are not NaN; NaN if all are."""
    there = ~np.isnan(values)
    if not there.any():
        return float("nan")
    if weights is None:
        return float(values[there].mean())
    return float(np.average(values[there], weights=weights[there]))


def mean_over_episodes(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) means of (N, E) returns over the episodes that were played; NaN if none was."""
    played = ~np.isnan(returns)
    number = np.where(played.any(axis=1), played.sum(axis=1), np.nan)
    return np.asarray(np.where(played, returns, 0.0).sum(axis=1) / number)


def _numbers(given: Any, space: ContextSpace) -> NDArray[np.float64]:
    """Copy returns as floats, NaN for None and for what is masked; check their size."""
    if hasattr(given, "index") and hasattr(given, "to_numpy"):  # of pandas, not imported here
        given = _by_index(given, space)
    try:
        if isinstance(given, np.ma.MaskedArray):
            given = np.ma.filled(given.astype(np.float64), np.nan)
        # Lists as they are: a truth value among numbers would become 1.
        is_list = isinstance(given, list | tuple)
        array: NDArray[Any] = np.array(given, dtype=object) if is_list else np.asarray(given)
        if array.dtype.kind == "O":
            for value in array.ravel():
                if isinstance(value, bool | np.bool_) or not hasattr(value or 0.0, "__float__"):
                    raise TypeError("not all of them are numbers")
        elif array.dtype.kind not in "fiu":
            raise TypeError("not numbers")
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError: torch
        raise RowError(
            f"A row must hold one number for each of the {len(space)} targets. "
            f"Got {short_text(given)} instead."
        ) from None
    too_large = np.argwhere(np.abs(array) > LARGEST_RETURN)
    if array.ndim and len(too_large):
        raise RowError(
            f"Returns must be finite and within ±{LARGEST_RETURN:g}, or NaN for not evaluated. "
            f"Got {array[tuple(too_large[0])]:g} on target {too_large[0, 0]}. Divide them by "
            "a constant; if the training run diverged, tell it with status='failed'."
        )
    if array.size and np.isnan(array).all():
        raise RowError(
            "A row needs at least one evaluated target. Got only NaN. "
            "If the training run failed, tell it with status='failed'."
        )
    array.setflags(write=False)
    return array


def _by_index(series: Any, space: ContextSpace) -> NDArray[np.float64]:
    """Put a pandas object in the order of the targets, NaN for those that it leaves out."""
    names, labels = list(series.index.names), series.index.tolist()
    targets: list[Any] = labels
    if set(names) == set(space.names):
        contexts = [dict(zip(names, np.atleast_1d(label), strict=True)) for label in labels]
        targets = [space.find(context) for context in contexts]
        fits = None not in targets and len(set(targets)) == len(targets)
    else:
        fits = set(labels) == set(range(len(space))) and len(labels) == len(space)
    if not fits:
        raise RowError(
            f"The index of a row must have the levels {list(space.names)}, each target once, or "
            f"the numbers 0 to {len(space) - 1} of the targets. Got {short_text(series.index)}. "
            "Set such an index, or pass .to_numpy() if the order is that of the targets."
        )
    values = _numbers(series.to_numpy(), space)
    row = np.full((len(space), *values.shape[1:]), np.nan)
    row[np.array(targets, dtype=np.intp)] = values
    return row
