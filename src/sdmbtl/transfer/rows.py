"""Rows of returns as they were observed: one for each trained policy."""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import RowError
from sdmbtl.transfer.scale import mean_of, scale_of
from sdmbtl.transfer.storage import Shape, load_arrays, save_arrays

#: What a number of rows consists of, row by row.
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
    """

    def __init__(
        self,
        space: ContextSpace,
        sources: ArrayLike | None = None,
        returns: ArrayLike | None = None,
        source_returns: ArrayLike | None = None,
    ) -> None:
        self.space = space
        given_rows = _listed(returns, "rows")
        given_sources = _listed(sources, "sources")
        given_own = (
            [np.nan] * len(given_rows)
            if source_returns is None
            else _listed(source_returns, "source returns")
        )
        if not len(given_rows) == len(given_sources) == len(given_own):
            raise RowError(
                f"Each row needs its source. Got {len(given_sources)} sources, "
                f"{len(given_rows)} rows and {len(given_own)} source returns."
            )
        self.returns = _stacked([as_row(row, space) for row in given_rows], len(space))
        self.sources = _stacked([space.vector(x) for x in given_sources], space.n_dimensions)
        self.unit_sources = self.space.to_unit(self.sources)
        found = [self.space.find(x) for x in self.sources]
        positions = [
            self.space.nearest_to_unit(unit) if index is None else index
            for index, unit in zip(found, self.unit_sources, strict=True)
        ]
        #: (k,) for each row the target nearest to its source.
        self.source_positions: NDArray[np.intp] = np.array(positions, dtype=np.intp)
        nearest = self.returns[np.arange(len(self)), self.source_positions]
        is_target = np.array([index is not None for index in found], dtype=bool)
        own = np.where(is_target & ~np.isnan(nearest), nearest, _check_own(given_own))
        #: (k,) J(pi_x, x): from the row if the source is a target, otherwise as given, otherwise
        #: the return on the nearest target; NaN where that was not evaluated.
        self.source_returns: NDArray[np.float64] = np.where(np.isnan(own), nearest, own)
        self._freeze()

    def __len__(self) -> int:
        return len(self.returns)

    def added(
        self, source: ContextLike, row: ArrayLike, source_return: float | None = None
    ) -> ObservedRows:
        """These rows and one more."""
        one = ObservedRows(
            self.space,
            [self.space.vector(source)],
            as_row(row, self.space)[None],
            [np.nan if source_return is None else source_return],
        )
        more = object.__new__(ObservedRows)  # the rows so far are checked already
        more.space = self.space
        for name in _ARRAYS:
            setattr(more, name, np.concatenate([getattr(self, name), getattr(one, name)]))
        more._freeze()
        return more

    def first(self, count: int) -> ObservedRows:
        """The first `count` of these rows."""
        return self.only(slice(count))

    def only(self, which: slice | NDArray[np.bool_]) -> ObservedRows:
        """Some of these rows."""
        fewer = object.__new__(ObservedRows)
        fewer.space = self.space
        for name in _ARRAYS:
            setattr(fewer, name, getattr(self, name)[which])
        fewer._freeze()
        return fewer

    def continues(self, earlier: ObservedRows) -> bool:
        """Whether these are the earlier rows, unchanged, and perhaps some more."""
        k = len(earlier)
        return (
            self.space is earlier.space
            and k <= len(self)
            and np.array_equal(self.sources[:k], earlier.sources)
            and _same_bits(self.returns[:k], earlier.returns)
            and np.array_equal(self.source_returns[:k], earlier.source_returns, equal_nan=True)
        )

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """(N,) best return so far on each target, NaN where nothing was evaluated."""
        if not len(self):
            return np.full(len(self.space), np.nan)
        return np.asarray(np.fmax.reduce(self.returns, axis=0))

    @cached_property
    def best_policy(self) -> NDArray[np.intp]:
        """(N,) row number of the best policy for each target, -1 where nothing was evaluated."""
        if not len(self):
            return np.full(len(self.space), -1, dtype=np.intp)
        filled = np.where(np.isnan(self.returns), -np.inf, self.returns)
        return np.where(np.isnan(self.best), -1, filled.argmax(axis=0))

    @property
    def performance(self) -> float:
        """Mean over the evaluated targets of the best return so far; NaN before any row."""
        return mean_of(self.best)

    @cached_property
    def scale(self) -> float:
        """What these returns are to be divided by for computing with them: 1 for usual ones."""
        return scale_of(self.returns, self.source_returns)

    def scaled(self) -> ObservedRows:
        """The rows as detectors and models can compute with them, divided by their `scale`."""
        if self.scale == 1.0:
            return self
        returns, own = self.returns / self.scale, self.source_returns / self.scale
        return ObservedRows(self.space, self.sources, returns, own)

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

    def _freeze(self) -> None:
        """Selectors keep what they derive from rows, so rows must not change."""
        for name in _ARRAYS:
            getattr(self, name).setflags(write=False)

    def __repr__(self) -> str:
        return f"ObservedRows({len(self)} rows, {len(self.space)} targets)"

    def save(self, path: str | Path) -> None:
        """Write the rows and their space to an npz file, atomically."""
        save_arrays(
            path,
            kind="rows",
            space=self.space,
            arrays={
                "sources": self.sources,
                "returns": self.returns,
                "source_returns": self.source_returns,
            },
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read rows from an npz file written by `save`."""
        shapes: dict[str, Shape] = {
            "sources": ("rows", "dimensions"),
            "returns": ("rows", "targets"),
            "source_returns": ("rows",),
        }
        space, arrays = load_arrays(path, kind="rows", arrays=shapes)
        return cls(space, *(arrays[name] for name in shapes))


def as_row(row: ArrayLike, space: ContextSpace) -> NDArray[np.float64]:
    """Check one row of returns.

    Args:
        row: N numbers, NaN or None = not evaluated.
        space: The context space with its N targets.

    Returns:
        (N,) returns, a copy that cannot be changed.

    Raises:
        RowError: If the length is wrong, a value is infinite or not a number, or nothing was
            evaluated at all.
    """
    array = _numbers(row, space)
    if array.shape != (len(space),):
        hint = " Average over episodes first." if array.ndim > 1 else ""
        raise RowError(
            f"A row must have shape ({len(space)},), one return for each target, NaN where not "
            f"evaluated. Got shape {array.shape} instead.{hint}"
        )
    return _evaluated(array, space)


def as_episodes(returns: ArrayLike, space: ContextSpace) -> NDArray[np.float64]:
    """Check the returns of a policy: a row, or the return of each episode.

    Args:
        returns: (N,) numbers, or (N, E) of E >= 1 episodes on each target; NaN or None where none
            was played.
        space: The context space with its N targets.

    Returns:
        (N, E) returns, a copy that cannot be changed; of a row, E = 1.

    Raises:
        RowError: As `as_row`.
    """
    array = _numbers(returns, space)
    if array.ndim not in (1, 2) or len(array) != len(space) or not array.size:
        raise RowError(
            f"Returns must have shape ({len(space)},), one for each target, NaN where not "
            f"evaluated, or ({len(space)}, episodes), one for each episode on each target. "
            f"Got shape {array.shape} instead."
        )
    return _evaluated(array.reshape(len(space), -1), space)


def _evaluated(array: NDArray[np.float64], space: ContextSpace) -> NDArray[np.float64]:
    """Returns, the targets along the first axis, that are finite where evaluated, somewhere."""
    if np.isinf(array).any():
        index = int(np.argwhere(np.isinf(array))[0, 0])
        value = array[index][np.isinf(array[index])].flat[0] if array.ndim > 1 else array[index]
        raise RowError(
            f"Returns must be finite, or NaN for not evaluated. Got {value} on target "
            f"{index} ({space.target(index)}). If the training run diverged, tell it with "
            "status='failed'."
        )
    if np.isnan(array).all():
        raise RowError(
            "A row needs at least one evaluated target. Got only NaN. "
            "If the training run failed, tell it with status='failed'."
        )
    array.setflags(write=False)
    return array


def _numbers(given: ArrayLike, space: ContextSpace) -> NDArray[np.float64]:
    """A copy as floats, NaN for None and for what is masked.

    Raises:
        RowError: If something in it is not a number, such as a text or a truth value.
    """
    try:
        if isinstance(given, list | tuple):
            array: NDArray[Any] = np.array(given, dtype=object)  # as it is: True would become 1
        else:
            array = given if isinstance(given, np.ndarray) else np.asarray(given)
        usable = array.dtype.kind in "fiu" or (
            array.dtype.kind == "O" and all(map(_is_number, array.ravel()))
        )
        if not usable:
            raise TypeError("not all of them are numbers")
        if isinstance(given, np.ma.MaskedArray):
            return np.array(np.ma.filled(given.astype(np.float64), np.nan))
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError: torch
        raise RowError(
            f"A row must hold one number for each of the {len(space)} targets. "
            f"Got {short_text(given)} instead."
        ) from None


def _is_number(value: object) -> bool:
    """Whether this is one number, or None; a truth value is none."""
    return value is None or (hasattr(value, "__float__") and not isinstance(value, bool | np.bool_))


def _listed(given: Any, what: str) -> list[Any]:
    try:
        return [] if given is None else list(given)
    except TypeError:
        raise RowError(
            f"The {what} must be a list, one for each policy. Got {short_text(given)} instead."
        ) from None


def _check_own(given: list[Any]) -> NDArray[np.float64]:
    """Returns on the sources themselves, NaN where unknown; (k,)."""
    try:
        own = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise RowError(
            f"Source returns must be numbers. Got {short_text(given)} instead."
        ) from None
    if own.shape != (len(given),) or np.isinf(own).any():
        raise RowError(
            "Source returns must be finite numbers, one for each policy, NaN where unknown. "
            f"Got {short_text(given)} instead."
        )
    return own


def _stacked(rows: list[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _same_bits(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether two arrays are the same to the last bit, NaN included."""
    return np.array_equal(one.view(np.int64), other.view(np.int64))
