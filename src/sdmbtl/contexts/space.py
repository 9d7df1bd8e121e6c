"""The context space: named dimensions, the targets Y to be solved, and the box X around them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import MAX_COUNT, check_int, known_name, short_text
from sdmbtl.contexts import regions
from sdmbtl.contexts.constraint import Constraint
from sdmbtl.contexts.dimension import (
    Categories,
    Dimension,
    Levels,
    Range,
    as_dimension,
    dimension_from_dict,
)
from sdmbtl.contexts.source import Source
from sdmbtl.contexts.targets import (
    SAME_CONTEXT,
    check_distinct,
    check_grid,
    first_of_each,
    listed_targets,
    row_bytes,
    targets_as_json,
    targets_from_json,
)
from sdmbtl.contexts.weights import check_weights, density_weights, frequencies, weighted_mean
from sdmbtl.errors import ContextError
from sdmbtl.wording import shown_context

ContextLike = Mapping[str, Any] | Sequence[Any] | NDArray[np.float64]

#: A sample of values that repeat is drawn from at most this many times as many points.
SAMPLE_TRIES = 64


class ContextSpace:
    """Named dimensions, the targets Y to be solved, and the box X around them.

    Without a target list the targets are the grid of all combinations of the dimensions'
    values, the last dimension varying fastest.

    Args:
        targets: Optional (N, D) array, or sequence of contexts, of the targets.
        valid: Restricts the space to valid combinations: an expression such as
            "mass * gravity < 40", or a function of a context. A grid keeps its valid targets, a
            list must have no others. A function is not stored: nothing but targets is trained on;
            True is such a function that was not stored.
        **dimensions: For each name its values (a list of numbers or of categories, an array,
            `Levels`) or its bounds (`Interval`). `Interval` needs a target list, or use
            `ContextSpace.sample`.

    Attributes:
        names: Names of the dimensions, in order.
        n_dimensions: D, the number of dimensions.
        n_units: U, the number of unit coordinates: D, and more if a dimension has categories.
        weights: (N,) importance of the targets, with sum 1; None if all are equally important. See
            `weighted`.
        draws_targets: True if there is nothing to train on but targets.
        is_box: True if every point of the box is a context.

    Raises:
        ContextError: If a dimension or a target is not usable; the message names it.

    Example:
        >>> space = ContextSpace(length=[0.5, 1.0, 2.0], mass=[0.1, 1.0])
        >>> len(space), space.names
        (6, ('length', 'mass'))
        >>> space.target(1)
        {'length': 0.5, 'mass': 1.0}
        >>> space.nearest({"length": 1.1, "mass": 0.9})
        3
        >>> ContextSpace(ground=["road", "ice"], mass=[1, 2], valid="ground != 'ice'").target(-1)
        {'ground': 'road', 'mass': 2.0}
    """

    def __init__(
        self,
        targets: ArrayLike | Iterable[Mapping[str, float]] | None = None,
        /,
        *,
        valid: Any = None,
        **dimensions: object,
    ) -> None:
        if not dimensions:
            raise ContextError(
                "A context space needs at least one dimension. Write for example "
                "ContextSpace(mass=[0.1, 1.0, 10.0])."
            )
        self.dimensions: dict[str, Dimension] = {
            name: as_dimension(name, given) for name, given in dimensions.items()
        }
        self.names = tuple(dimensions)
        self.n_dimensions = len(dimensions)
        self.n_units = sum(d.columns for d in self.dimensions.values())
        self.valid: Constraint | Callable[[dict[str, Any]], bool] | bool | None = (
            Constraint(valid, self.dimensions) if isinstance(valid, str) else valid
        )
        opaque = self.valid is not None and not isinstance(self.valid, Constraint)
        self.draws_targets = opaque or any(d.discrete for d in self.dimensions.values())
        self.is_box = self.valid is None and not self.draws_targets
        self.is_grid = targets is None
        self.targets = self._grid() if targets is None else listed_targets(self, targets)
        if self.valid is not None:
            self._keep_valid()
        self.targets.setflags(write=False)
        self.weights: NDArray[np.float64] | None = None
        if not self.is_grid:
            check_distinct(self)

    @classmethod
    def sample(
        cls, n: int, /, *, seed: int = 0, valid: Any = None, **dimensions: object
    ) -> ContextSpace:
        """Make a space whose `n` targets fill the box evenly (scrambled Sobol points).

        Args:
            n: Number of targets.
            seed: Seed of the scrambling.
            valid: As in the constructor.
            **dimensions: As in the constructor; usually an `Interval` each.
        """
        n = check_int("n", n, low=1, high=MAX_COUNT, error=ContextError)
        if not dimensions:
            return cls()  # raises, with the hint
        parsed = {name: as_dimension(name, given) for name, given in dimensions.items()}
        rule = Constraint(valid, parsed) if isinstance(valid, str) else valid
        sobol = scipy.stats.qmc.Sobol(len(parsed), rng=np.random.default_rng(seed))
        shares = sobol.random_base2(max(n - 1, 1).bit_length())
        while True:
            columns = [d.at_shares(shares[:, i]) for i, d in enumerate(parsed.values())]
            drawn = np.column_stack(columns)
            drawn = drawn[first_of_each(drawn) == np.arange(len(drawn))]
            drawn = drawn[_valid(rule, parsed, drawn)]
            if len(drawn) >= n or len(shares) >= SAMPLE_TRIES * n:
                break
            # Dimensions that are lists of values repeat themselves: more points, fewer repeats.
            shares = np.vstack([shares, sobol.random(len(shares))])
        if len(drawn) < n:
            raise ContextError(
                f"Fewer than {n} different {'' if rule is None else 'valid '}targets can be drawn "
                f"from these values: {len(drawn)} were found. Ask for fewer, or leave out the "
                "sample for the grid."
            )
        return cls(drawn[:n], valid=valid, **parsed)

    # -- weights -------------------------------------------------------------------------

    def weighted(self, by: Any) -> ContextSpace:
        """Return the same space with targets that are not equally important.

        Means over targets, choices and draws use the weights. A target of weight 0 is left out.

        Args:
            by: (N,) weights of the targets; or by dimension a density, as `[dimensions.NAME]` of a
                TOML file has it or as a function of values; or a list of logged contexts, of which
                each counts for the target nearest to it.

        Raises:
            ContextError: If these are not usable.

        Example:
            >>> space = ContextSpace(mass=[1.0, 2.0, 4.0])
            >>> space.weighted([1, 2, 1]).weights
            array([0.25, 0.5 , 0.25])
            >>> len(space.weighted({"mass": {"kind": "uniform", "high": 3.0}}))
            2
            >>> space.weighted([{"mass": 1.1}, {"mass": 3.9}, {"mass": 5.0}]).weights.round(2)
            array([0.33, 0.67])
        """
        if isinstance(by, Mapping):
            by = density_weights(self, by)
        elif isinstance(by, list) and by and isinstance(by[0], Mapping):
            by = frequencies(self, by)
        weights = check_weights(by, len(self))
        kept = np.flatnonzero(weights)
        space = self if len(kept) == len(self) else self.subset(kept)
        space, weights = copy.copy(space), weights[kept]
        total = float(weights.sum())
        space.weights = None if np.ptp(weights) == 0 else weights
        if space.weights is not None and abs(total - 1) > 1e-12:  # read back as they were stored
            space.weights = weights / total
        return space

    def subset(self, targets: NDArray[np.intp]) -> ContextSpace:
        """Return the space of some of the targets, in this order, without weights."""
        space = copy.copy(self)
        for derived in ("unit_targets", "positions", "tie_rank", "_index_of"):
            space.__dict__.pop(derived, None)
        space.targets, space.is_grid, space.weights = self.targets[targets], False, None
        space.targets.setflags(write=False)
        return space

    def mean(self, values: NDArray[np.floating]) -> Any:
        """Mean of (..., N) values over the targets, by their weights."""
        return weighted_mean(values, self.weights)

    # -- shape ---------------------------------------------------------------------------

    @property
    def unit_names(self) -> tuple[str, ...]:
        """Names of the unit coordinates, such as "mass" or "ground=ice"."""
        return tuple(
            f"{name}={category}" if category else name
            for name, d in self.dimensions.items()
            for category in (d.categories if isinstance(d, Categories) else (None,))
        )

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values per dimension of a grid; `(N,)` for a target list."""
        if not self.is_grid:
            return (len(self),)
        return tuple(len(d.values) for d in self.dimensions.values() if isinstance(d, Levels))

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The box X: lowest and highest value of each dimension."""
        return {name: (d.low, d.high) for name, d in self.dimensions.items()}

    @property
    def steps(self) -> NDArray[np.float64]:
        """(U,) grid steps that one unit of each coordinate stands for."""
        return np.array(
            [float(d.steps) for d in self.dimensions.values() for _ in range(d.columns)]
        )

    @cached_property
    def unit_targets(self) -> NDArray[np.float64]:
        """(N, U) targets in unit coordinates."""
        units = self.to_unit(self.targets)
        units.setflags(write=False)
        return units

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """(N, D) places of the targets from 0 to 1 in each dimension, also among categories."""
        return self.unit_targets if self.n_units == len(self.names) else self.place(self.targets)

    @cached_property
    def tie_rank(self) -> NDArray[np.intp]:
        """(N,) order in which equally good targets are preferred: central ones first.

        Depends on the contexts alone, not on the order in which they are listed.
        """
        return self.rank_ties(slice(None))

    def rank_ties(self, targets: NDArray[np.intp] | slice) -> NDArray[np.intp]:
        """(n,) the order of `tie_rank` among some targets, given in ascending order."""
        units = self.unit_targets[targets]
        distance = np.round(np.abs(units - 0.5).sum(axis=1), 9)
        order = np.lexsort((*np.round(units, 9).T[::-1], distance))
        rank = np.empty(len(units), dtype=np.intp)
        rank[order] = np.arange(len(units))
        return rank

    # -- conversions ---------------------------------------------------------------------

    def vector(self, context: ContextLike) -> NDArray[np.float64]:
        """Turn a context, given by name or in the order of `names`, into a (D,) vector.

        Raises:
            ContextError: If a dimension is unknown or missing, or has no such value.
        """
        if isinstance(context, str | bytes) or not isinstance(context, Iterable):
            raise ContextError(
                f"A context must be a mapping from {list(self.names)} to numbers, or a sequence "
                f"in that order. Got {context!r} instead."
            )
        values = list(context)
        if isinstance(context, Mapping):
            for name in context:
                known_name("dimension", name, self.names, error=ContextError)
            missing = [name for name in self.names if name not in context]
            if missing:
                raise ContextError(f"A context needs every dimension. {missing[0]!r} is missing.")
            values = [context[name] for name in self.names]
        if len(values) != self.n_dimensions:
            raise ContextError(
                f"A context has {self.n_dimensions} values, in the order {list(self.names)}. "
                f"Got {short_text(values)} instead."
            )
        vector = np.empty(self.n_dimensions)
        for d, (name, dimension) in enumerate(self.dimensions.items()):
            try:
                vector[d] = dimension.read(values[d])
            except ContextError as error:
                raise ContextError(f"{name!r}: {error}") from None
        return vector

    def context(self, vector: ArrayLike) -> dict[str, Any]:
        """Turn a (D,) vector into a context by name: numbers, and texts for categories."""
        values = np.asarray(vector, dtype=np.float64).tolist()
        named = zip(self.dimensions.items(), values, strict=True)
        return {name: dimension.show(value) for (name, dimension), value in named}

    def target(self, index: int) -> dict[str, Any]:
        """The target with this index, by name."""
        if not -len(self) <= index < len(self):
            raise ContextError(
                f"Target indices run from 0 to {len(self) - 1}. Got {index} instead."
            )
        return self.context(self.targets[index])

    def middle(self) -> dict[str, Any]:
        """The target nearest to the middle of the box."""
        return self.target(self.nearest_to_unit(np.full(self.n_units, 0.5)))

    def allows(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) which of (n, D) contexts are valid."""
        if isinstance(self.valid, Constraint):
            return self.valid.holds(vectors)
        if self.valid is None:
            return np.ones(len(vectors), dtype=np.bool_)
        return np.array([self.find(vector) is not None for vector in vectors], dtype=np.bool_)

    def snap(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """(D,) the context at a (U,) point; the nearest target if there is no valid one."""
        vector = self.from_unit(unit)
        if self.valid is None or self.allows(vector[None])[0]:
            return vector
        return np.asarray(self.targets[self.nearest_to_unit(unit)])

    def source(self, index: int) -> Source:
        """The target with this index, as what a policy is trained on."""
        return Source.at(self.targets[index])

    # -- regions -------------------------------------------------------------------------

    def whole(
        self, parent: int | None = None, steps: int | None = None, sees_context: bool = False
    ) -> Source:
        """The whole space, as what a policy is trained on.

        Example:
            >>> space = ContextSpace(mass=[1.0, 2.0, 4.0])
            >>> space.region(space.whole())
            {'mass': (1.0, 4.0)}
        """
        middle = self.from_unit(np.full(self.n_units, 0.5))
        if not self.is_box:
            middle = self.vector(self.middle())
        return Source.at(middle, 1.0, parent, steps, sees_context)

    is_whole = regions.is_whole
    region = regions.bounds_of
    describe = regions.describe
    targets_in = regions.targets_in
    draw = regions.draw

    # -- coordinates ---------------------------------------------------------------------

    def to_unit(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Map (..., D) contexts to (..., U) unit coordinates."""
        array = np.asarray(vectors, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != self.n_dimensions:
            raise ContextError(
                f"Contexts need {self.n_dimensions} values in their last axis. "
                f"Got an array of shape {array.shape} instead."
            )
        columns = enumerate(self.dimensions.values())
        return np.concatenate([d.encode(array[..., i]) for i, d in columns], axis=-1)

    def from_unit(self, units: ArrayLike) -> NDArray[np.float64]:
        """Map (..., U) unit coordinates to (..., D) contexts with values that exist."""
        array, decoded, first = np.asarray(units, dtype=np.float64), [], 0
        for dimension in self.dimensions.values():
            decoded.append(dimension.decode(array[..., first : first + dimension.columns]))
            first += dimension.columns
        return np.stack(decoded, axis=-1)

    def place(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Map (..., D) contexts to places from 0 to 1 in each dimension; same shape."""
        array, columns = np.asarray(vectors, dtype=np.float64), enumerate(self.dimensions.values())
        return np.stack([d.to_unit(array[..., i]) for i, d in columns], axis=-1)

    def nearest(self, context: ContextLike) -> int:
        """Index of the target nearest to a context (L1 distance in unit coordinates)."""
        vector = context if isinstance(context, np.ndarray) else self.vector(context)
        return self.nearest_to_unit(self.to_unit(vector))

    def nearest_to_unit(
        self, unit: NDArray[np.float64], among: NDArray[np.bool_] | None = None
    ) -> int:
        """Index of the target nearest to a (U,) point in unit coordinates.

        `among` are (N,) targets that may be returned; all if left out.
        """
        distance = np.round(np.abs(self.unit_targets - unit).sum(axis=1), 9)
        if among is not None:
            distance[~among] = np.inf
        ties = np.flatnonzero(distance == distance.min())
        return int(ties[np.argmin(self.rank_ties(ties))])

    def find(self, context: ContextLike) -> int | None:
        """Index of the target equal to a context, or None if it is not a target."""
        vector = context if isinstance(context, np.ndarray) else self.vector(context)
        exact = self._index_of.get((vector + 0.0).tobytes())
        if exact is not None:  # nearly all look-ups are exact
            return exact
        unit = self.to_unit(vector)
        index = self.nearest_to_unit(unit)
        same = np.all(np.abs(self.unit_targets[index] - unit) <= SAME_CONTEXT)
        return index if same and self._keeps_constants(vector) else None

    @cached_property
    def _index_of(self) -> dict[bytes, int]:
        """Index of each target by the bytes of its values."""
        return dict(zip(row_bytes(self.targets), range(len(self)), strict=True))

    def __contains__(self, context: ContextLike) -> bool:
        """Return whether a context lies in the box X and is valid."""
        vector = context if isinstance(context, np.ndarray) else self.vector(context)
        paired = zip(self.dimensions.values(), vector.tolist(), strict=True)
        if any(d.scale == "log" and v <= 0 for d, v in paired):
            return False
        unit = self.to_unit(vector)
        inside = np.all((unit >= -SAME_CONTEXT) & (unit <= 1 + SAME_CONTEXT))
        return bool(inside) and self._keeps_constants(vector) and bool(self.allows(vector[None])[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.target(i) for i in range(len(self)))

    # -- storage -------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Describe the space as JSON data; `from_dict` reads it back."""
        dimensions = [{"name": n, **d.to_dict()} for n, d in self.dimensions.items()]
        data: dict[str, Any] = {"version": 1, "dimensions": dimensions}
        if not self.is_grid:
            data["targets"] = targets_as_json(self.targets)
        if self.weights is not None:
            data["weights"] = targets_as_json(self.weights[:, None])
        if self.valid is not None:  # a function cannot be stored
            data["valid"] = self.valid.text if isinstance(self.valid, Constraint) else True
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ContextSpace:
        """Read a space back from `to_dict`."""
        if not isinstance(data, Mapping):
            raise ContextError(
                f"A context space is described by a dictionary. Got {short_text(data)} instead."
            )
        if data.get("version") != 1:
            raise ContextError(
                "This release reads what ContextSpace.to_dict() returns, of version 1. Got "
                f"{short_text(dict(data))}. Make a space with ContextSpace(name=[values], ...)."
            )
        try:
            dimensions = {d["name"]: dimension_from_dict(d) for d in data["dimensions"]}
            listed, valid = targets_from_json(data.get("targets")), data.get("valid")
            space = cls(listed, valid=valid, **dimensions)
            weights = targets_from_json(data.get("weights"))
            return space if weights is None else space.weighted(np.ravel(weights))
        except (KeyError, TypeError) as error:  # also of names that are not texts
            raise ContextError(f"This does not describe a context space: {error!r}.") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextSpace):
            return NotImplemented
        return self is other or self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.names, len(self), tuple(self.bounds.values())))

    def __repr__(self) -> str:
        dimensions = ", ".join(f"{name}={d!r}" for name, d in self.dimensions.items())
        kind = "grid" if self.is_grid else "listed"
        return f"ContextSpace({dimensions}; {len(self)} {kind} targets)"

    # -- checks --------------------------------------------------------------------------

    def _grid(self) -> NDArray[np.float64]:
        columns = [d.values for d in self.dimensions.values() if isinstance(d, Levels)]
        if len(columns) < self.n_dimensions:
            name = next(n for n, d in self.dimensions.items() if not isinstance(d, Levels))
            raise ContextError(
                f"Dimension {name!r} has bounds but no values, so there is no grid of "
                "targets. Give values, pass a target list as the first argument, or use "
                "ContextSpace.sample(n, ...)."
            )
        for name, d in self.dimensions.items():
            close = np.flatnonzero(np.diff(d.knot_units) <= SAME_CONTEXT)
            if len(close):
                below, above = d.knots[close[0] : close[0] + 2]
                raise ContextError(
                    f"Dimension {name!r}: {below:g} and {above:g} are the same on a {d.scale} "
                    f"scale from {d.low:g} to {d.high:g}. Use scale='steps' or 'log', or drop one "
                    "of them."
                )
        counts = [len(column) for column in columns]
        check_grid(counts)
        grid = np.empty((math.prod(counts), len(columns)))
        for place, column in enumerate(columns):
            repeats = math.prod(counts[place + 1 :])
            grid[:, place] = np.resize(np.repeat(column, repeats), len(grid))
        return grid

    def _keep_valid(self) -> None:
        """Keep the valid targets of a grid; refuse others in a list."""
        kept = _valid(self.valid, self.dimensions, self.targets)
        if not kept.any():
            raise ContextError("No combination of these values is valid. Check 'valid'.")
        if not self.is_grid and not kept.all():
            number = int(np.argmin(kept))
            raise ContextError(
                f"Target {number}, {shown_context(self.target(number))}, is not valid. Drop it, or "
                "correct 'valid'."
            )
        self.is_grid, self.targets = False, self.targets[kept]

    def _keeps_constants(self, vector: NDArray[np.float64]) -> bool:
        """Return whether dimensions of a single value have it; unit coordinates cannot tell."""
        return all(
            abs(v - d.low) <= SAME_CONTEXT * abs(d.low)
            for d, v in zip(self.dimensions.values(), vector.tolist(), strict=True)
            if d.low == d.high
        )


def _valid(
    rule: Constraint | Callable[[dict[str, Any]], bool] | bool | None,
    dimensions: Mapping[str, Dimension],
    vectors: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """(n,) which of (n, D) contexts obey a rule."""
    if isinstance(rule, Constraint):
        return rule.holds(vectors)
    if rule is None or rule is True:
        return np.ones(len(vectors), dtype=np.bool_)
    if not callable(rule):
        raise ContextError(
            "'valid' is an expression such as 'mass * gravity < 40', or a function of a context. "
            f"Got {short_text(rule)} instead."
        )
    shown = [[d.show(v) for v in vectors[:, i].tolist()] for i, d in enumerate(dimensions.values())]
    contexts = (dict(zip(dimensions, values, strict=True)) for values in zip(*shown, strict=True))
    return np.array([bool(rule(context)) for context in contexts])


def space_from_ranges(ranges: Mapping[str, Range], levels: int | None = None) -> ContextSpace:
    """Make the grid of all combinations of the ranges' values, or of `levels` values in each."""
    if levels is not None:
        ranges = {n: replace(r, levels=levels) for n, r in ranges.items()}
    dimensions: dict[str, Any] = {
        name: Levels(r.values, scale=r.scale, unit=r.unit) for name, r in ranges.items()
    }
    return ContextSpace(**dimensions)
