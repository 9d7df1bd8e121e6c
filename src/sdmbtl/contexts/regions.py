"""The geometry of sources: which values, targets and contexts a region has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.checks import MAX_COUNT, check_int
from sdmbtl.contexts.dimension import Categories
from sdmbtl.errors import ContextError
from sdmbtl.wording import shown_context

if TYPE_CHECKING:
    from sdmbtl.contexts.source import Source
    from sdmbtl.contexts.space import ContextSpace

#: A target may miss the edge of a region by this much in unit coordinates.
EDGE = 1e-9
#: Contexts of a grid with weights are drawn from this many times as many.
CANDIDATES = 8

#: A region with this share of a dimension is not described by it.
MOST = 0.75
#: Words for the middle of a region in a dimension, and the shares of it where they end.
PLACES, ENDS = ("lowest", "low", "middle", "high", "highest"), (0.15, 0.4, 0.6, 0.85)
#: Rounds in which a region is searched for valid contexts.
ROUNDS = 16


def unit_box(
    space: ContextSpace, source: Source
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(D,) lowest and (D,) highest places of a region in each dimension, within the space.

    Around a category there is that category only. Of width 1 is the whole space wherever the centre
    is, if not every point of the box is a context: its middle may be none.
    """
    center = space.place(source.vector)
    sides = [0.0 if isinstance(d, Categories) else source.width for d in space.dimensions.values()]
    half = np.array(sides) / 2
    if source.width == 1 and not space.is_box:
        half = np.ones(len(sides))
    low, high = center - half, center + half
    # An edge that misses that of the space by rounding is that of the space.
    low, high = np.where(low <= EDGE, 0.0, low), np.where(high >= 1 - EDGE, 1.0, high)
    return np.minimum(low, 1.0), np.maximum(high, 0.0)


def bounds_of(space: ContextSpace, source: Source) -> dict[str, tuple[Any, ...]]:
    """Lowest and highest value of each dimension in a region; of a point the value, twice.

    Of a discrete dimension both are values that exist; of categories, all that are in the region.
    """
    low, high = np.repeat(space.place(source.vector)[None], 2, axis=0)
    if not source.is_point:
        low, high = unit_box(space, source)
    found: dict[str, tuple[Any, ...]] = {}
    for place, (name, dimension) in enumerate(space.dimensions.items()):
        ends = np.array([low[place], high[place]])
        values = np.array([source.center[place]]) if source.is_point else dimension.from_unit(ends)
        if dimension.discrete:
            units = dimension.knot_units
            inside = (units >= ends[0] - EDGE) & (units <= ends[1] + EDGE)
            values = dimension.knots[inside] if inside.any() else values[:1]
        found[name] = (float(values[0]), float(values[-1]))
        if isinstance(dimension, Categories):
            found[name] = tuple(dimension.show(value) for value in values)
    return found


def is_whole(space: ContextSpace, source: Source) -> bool:
    """Return whether a region is the whole space."""
    if source.is_point:
        return False
    low, high = unit_box(space, source)
    constant = np.array([d.low == d.high for d in space.dimensions.values()])
    return bool(np.all(((low == 0) & (high == 1)) | constant))


def describe(space: ContextSpace, source: Source) -> str:
    """A source as a short text: the region, the start unless from scratch, the steps if set.

    Example:
        >>> from sdmbtl import ContextSpace, Source
        >>> space = ContextSpace(mass=[1.0, 2.0, 4.0])
        >>> space.describe(space.whole(steps=61440)), space.describe(space.source(1))
        ('whole space, 61,440 steps', 'mass=2')
        >>> space.describe(Source.at([2.0], width=0.5, parent=0))
        'mass 1.5-3, from policy 0'
    """
    if source.is_point:
        parts = [shown_context(space.context(source.vector))]
    elif is_whole(space, source):
        parts = ["whole space"]
    else:
        parts = [f"{name} {_span(ends)}" for name, ends in bounds_of(space, source).items()]
    parts += [] if source.parent is None else [f"from policy {source.parent}"]
    parts += ["sees its context"] if source.sees_context else []
    parts += [] if source.steps is None else [f"{source.steps:,} steps"]
    return ", ".join(parts)


def describe_briefly(space: ContextSpace, source: Source) -> str:
    """Describe a source in a few words, such as "low mass, highest length"; a point by its values.

    Of a region, the two dimensions in which it is furthest from the middle.
    """
    if source.is_point:
        return shown_context(space.context(source.vector))
    if is_whole(space, source):
        return "whole space"
    found = []
    for name, low, high in zip(space.names, *unit_box(space, source), strict=True):
        middle = (low + high) / 2
        if isinstance(space.dimensions[name], Categories):
            found.append((1.0, f"{name} {_span(bounds_of(space, source)[name])}"))
        elif high - low < MOST:
            found.append((abs(middle - 0.5), f"{PLACES[np.searchsorted(ENDS, middle)]} {name}"))
    furthest = sorted(found, key=lambda each: -each[0])[:2]
    return ", ".join(words for each in found if each in furthest for words in each[1:])


def _span(ends: tuple[Any, ...]) -> str:
    if isinstance(ends[0], str):
        return " or ".join(ends)
    low, high = ends
    between = "-" if low >= 0 else " to "
    return f"{low:.3g}" if low == high else f"{low:.3g}{between}{high:.3g}"


def targets_in(space: ContextSpace, source: Source) -> NDArray[np.bool_]:
    """(N,) which targets lie in a region; the nearest one if none does, and for a point."""
    inside = np.zeros(len(space), dtype=np.bool_)
    if not source.is_point:
        low, high = unit_box(space, source)
        places = space.positions
        inside = np.all((places >= low - EDGE) & (places <= high + EDGE), axis=1)
    if not inside.any():
        inside[space.nearest(source.vector)] = True
    return inside


def draw_lowest(
    returns: NDArray[np.float64],
    n: int,
    rng: np.random.Generator,
    weights: NDArray[np.float64] | None = None,
    temperature: float = 0.3,
) -> NDArray[np.intp]:
    """(n,) positions of low returns, drawn by rank as prioritised level replay does; at most all.

    They are different ones: drawn with replacement, the few lowest would be all there is. The
    lowest of the (M,) returns has rank 1; the probability of rank r is proportional to its weight
    times (1 / r) ** (1 / temperature).
    """
    ranks = np.empty(len(returns))
    ranks[np.lexsort((rng.random(len(returns)), returns))] = np.arange(1, len(returns) + 1)
    # The n largest of log(weight) + Gumbel noise are a draw without replacement.
    keys = -np.log(ranks) / temperature + rng.gumbel(size=len(returns))
    return np.argsort(-(keys if weights is None else keys + np.log(weights)))[:n]


def draw(
    space: ContextSpace,
    source: Source,
    n: int,
    rng: np.random.Generator,
    returns: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """(m, D) contexts to train on.

    A point gives its one context, a region n valid ones that fill it evenly, by the weights of the
    targets. Where a dimension is discrete, they are targets in the region, each as often as any
    other, give or take one.

    Args:
        space: The context space.
        source: The source.
        n: Number of contexts of a region.
        rng: Generator of the draw.
        returns: (N,) returns on the targets, NaN where unknown. Half of the contexts of a
            region are then targets where they are low, drawn by rank.
    """
    n = check_int("n", n, low=1, high=MAX_COUNT, error=ContextError)
    if returns is not None and not source.is_point:
        inside = np.flatnonzero(targets_in(space, source) & ~np.isnan(returns))
        weights = None if space.weights is None else space.weights[inside]
        again = inside[draw_lowest(returns[inside], n // 2, rng, weights)]
        return np.vstack([space.targets[again], draw(space, source, n - len(again), rng)])
    if space.weights is None or source.is_point:
        return _draw_evenly(space, source, n, rng)
    if space.is_grid:  # also between the targets, by the weight of the nearest one
        contexts = _draw_evenly(space, source, CANDIDATES * n, rng)
        tree = scipy.spatial.cKDTree(space.unit_targets)
        weights = space.weights[tree.query(space.to_unit(contexts), p=1)[1]]
    else:
        inside = rng.permutation(np.flatnonzero(targets_in(space, source)))
        contexts, weights = space.targets[inside], space.weights[inside]
    sums = weights.cumsum()
    chosen = np.searchsorted(sums, sums[-1] * (np.arange(n) + rng.random()) / n)
    return np.asarray(contexts[chosen])


def _draw_evenly(
    space: ContextSpace, source: Source, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(m, D) contexts to train on: of a point its own, of a region n that fill it evenly.

    Where values between the levels of a dimension do not exist, they are targets in the region,
    each as often as any other, give or take one. So are those that are missing after some rounds
    of looking for valid ones.
    """
    if source.is_point:
        return source.vector[None]
    drawn = np.empty((0, space.n_dimensions))
    if not space.draws_targets:
        low, high = unit_box(space, source)
        shares = []
        for _ in range(1 if space.valid is None else ROUNDS):
            # A Latin hypercube: in each dimension one context in each of n equal parts.
            parts = np.column_stack([rng.permutation(n) for _ in low])
            shares.append((parts + rng.random(parts.shape)) / n)
        drawn = space.from_unit(low + np.vstack(shares) * (high - low))
        if space.valid is None:
            return drawn
        drawn = drawn[space.allows(drawn)][:n]
    inside = rng.permutation(np.flatnonzero(targets_in(space, source)))
    # Always n: jobs that differ in their number of contexts cannot be trained together.
    targets = np.sort(np.resize(inside, n - len(drawn)))
    return np.vstack([drawn, space.targets[targets]])
