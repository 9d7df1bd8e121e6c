"""Where values and regions are on the axes of a map, on which the levels of a grid are 0, 1, ..."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Levels, Source
from sdmbtl.contexts.regions import EDGE, unit_box

#: How far an outline stays off the edge of the map, in cells.
INSET = 0.06

Floats = NDArray[np.float64]


def levels_of(space: ContextSpace) -> list[Floats]:
    """The values of each dimension of a grid."""
    return [d.values for d in space.dimensions.values() if isinstance(d, Levels)]


def units_of(space: ContextSpace, dimension: int) -> Floats:
    """(n,) unit coordinates of the levels of a dimension."""
    return list(space.dimensions.values())[dimension].to_unit(levels_of(space)[dimension])


def span(space: ContextSpace, source: Source, dimension: int) -> tuple[float, float]:
    """Where a region begins and ends on the axis of a map, whose levels ascend."""
    low, high = (edge[dimension] for edge in unit_box(space, source))
    units = np.sort(units_of(space, dimension))
    begin, end = np.interp([low, high], units, np.arange(len(units)))
    # At the edge of the space the map continues for half a cell.
    first, last = INSET - 0.5, len(units) - 0.5 - INSET
    single = len(units) == 1
    return (first if low == 0 else float(begin), last if high == 1 or single else float(end))


def reaches(space: ContextSpace, source: Source, places: dict[int, int]) -> bool:
    """Whether a region has a part in a slice; one between two levels is in that nearest to it.

    Args:
        space: The context space, a grid.
        source: The region, or a point.
        places: Of each dimension that is not an axis, the level that is shown.
    """
    low, high = unit_box(space, source)
    center = space.to_unit(source.vector)
    for dimension, level in places.items():
        units = units_of(space, dimension)
        inside = (units >= low[dimension] - EDGE) & (units <= high[dimension] + EDGE)
        if not inside.any():
            inside[np.abs(units - center[dimension]).argmin()] = True
        if not inside[level]:
            return False
    return True


def draw_outline(
    axes: Axes, across: tuple[float, float], up: tuple[float, float], colour: str, number: int
) -> None:
    """The outline of a region, with the number of its policy."""
    (left, right), (bottom, top) = across, up
    outline = Rectangle(
        (left, bottom), right - left, top - bottom, fill=False, ec=colour, lw=2.0, zorder=3
    )
    outline.set_path_effects([withStroke(linewidth=4.2, foreground="black")])
    axes.add_patch(outline)
    draw_number(axes, number, (left, top), (4, -11))


def draw_number(
    axes: Axes, number: int, place: tuple[float, float], offset: tuple[int, int]
) -> None:
    """The number of a policy beside a place."""
    text = axes.annotate(
        str(number),
        place,
        xytext=offset,
        textcoords="offset points",
        fontsize=9,
        fontweight="bold",
        zorder=4,
    )
    text.set_path_effects([withStroke(linewidth=2.2, foreground="white")])
