"""The context space: the best policy for each target, gaps, and what policies were trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from sdmbtl.contexts import Categories, ContextSpace, Source
from sdmbtl.contexts.regions import EDGE, unit_box
from sdmbtl.palette import BLACK, GREY, policy_colour, text_colour

#: An axis with more levels than this has labels at some of them.
MOST_NAMED = 8
#: The legend has at most this many policies.
MOST_LISTED = 12
#: Distance of an outline from the edge of the map, in cells.
INSET = 0.06

Floats = NDArray[np.float64]


def without_mathematics(text: str) -> str:
    """Return a text that Matplotlib draws as it is: dollars would begin a formula."""
    return text.replace("$", r"\$")


@dataclass(frozen=True, eq=False)
class SpaceMap:
    """A map of a context space.

    On the axes of a slice the levels of a grid are 0, 1, ... in ascending order.

    Attributes:
        space: The context space.
        serving: (N,) id of the best policy on each target; -1 if there is none.
        gaps: (N,) which targets are badly covered; they are hatched.
        sources: What each policy was trained on, by id.
    """

    space: ContextSpace
    serving: NDArray[np.intp]
    gaps: NDArray[np.bool_]
    sources: Mapping[int, Source]

    @cached_property
    def levels(self) -> list[Floats]:
        """Values of each dimension in ascending order."""
        return [np.unique(column) for column in self.space.targets.T]

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """(D, N) place of each target's value among the levels."""
        columns = zip(self.levels, self.space.targets.T, strict=True)
        return np.array([np.searchsorted(level, column) for level, column in columns])

    @property
    def served(self) -> dict[int, int]:
        """Number of targets of each policy that is the best on some, most targets first."""
        counts = {number: int((self.serving == number).sum()) for number in self.sources}
        return {n: counts[n] for n in sorted(counts, key=lambda n: -counts[n]) if counts[n]}

    def draw_slice(self, axes: Axes, x: int, y: int, hidden: Mapping[int, int]) -> None:
        """Draw a slice of a grid: dimension x across, y up, the others at these levels."""
        inside = np.ones(len(self.space), bool)
        for d, level in hidden.items():
            inside &= self.places[d] == level
        picture = np.ones((len(self.levels[y]), len(self.levels[x]), 3))
        picture[self.places[y, inside], self.places[x, inside]] = self._painted()[inside]
        axes.imshow(picture, origin="lower", aspect="auto")
        for target in np.flatnonzero(inside & self.gaps):
            across, up = self.places[[x, y], target] - 0.5
            cell = Rectangle((across, up), 1, 1, fill=False, hatch="////", lw=0)
            cell.set(ec=text_colour(policy_colour(int(self.serving[target]))), alpha=0.6)
            axes.add_patch(cell)
        for number in self.served:
            source = self.sources[number]
            if not self.space.is_whole(source) and self._reaches(source, hidden):
                self._draw_source(axes, number, x, y)
        for d, set_ticks in ((x, axes.set_xticks), (y, axes.set_yticks)):
            values = self.levels[d]
            named = np.unique(np.linspace(0, len(values) - 1, MOST_NAMED).round().astype(int))
            set_ticks(named, [self._named(d, values[i]) for i in named])
        axes.set_xlabel(self.axis_name(x))
        axes.set_ylabel(self.axis_name(y))
        names = [
            f"{self.space.names[d]} {self._named(d, self.levels[d][i])}" for d, i in hidden.items()
        ]
        axes.set_title(without_mathematics(", ".join(names)), fontsize=10)

    def draw_points(self, axes: Axes, x: int, y: int) -> None:
        """Draw targets that are a list, as points."""
        targets = self.space.targets
        edges = np.where(self.gaps[:, None], to_rgb(BLACK), to_rgb(GREY))
        axes.scatter(targets[:, x], targets[:, y], c=self._painted(), s=28, ec=edges, lw=0.6)
        for number in self.served:
            source = self.sources[number]
            if source.is_point:
                draw_star(axes, number, (source.center[x], source.center[y]))
        self.scale_axes(axes, x, y)
        axes.set_xlabel(self.axis_name(x))
        axes.set_ylabel(self.axis_name(y))

    def scale_axes(self, axes: Axes, x: int, y: int | None = None) -> None:
        """Give axes of values the scale of their dimension, and the names of its categories."""
        for d, axis in ((x, "x"), (y, "y")):
            dimension = None if d is None else list(self.space.dimensions.values())[d]
            if isinstance(dimension, Categories):
                axes.set(
                    **{f"{axis}ticks": dimension.knots, f"{axis}ticklabels": dimension.categories}
                )
            elif dimension is not None and dimension.scale == "log":
                axes.set(**{f"{axis}scale": "log"})
                drawn = axes.xaxis if axis == "x" else axes.yaxis
                drawn.set_major_locator(LogLocator(subs=(1, 2, 5)))
                drawn.set_major_formatter(StrMethodFormatter("{x:g}"))
                drawn.set_minor_locator(NullLocator())

    def draw_legend(self, axes: Axes) -> None:
        """Name the colours of the policies that serve most targets, to the right."""
        most = list(self.served.items())[:MOST_LISTED]
        patches = [Patch(color=policy_colour(n), label=f"{n}: {count}") for n, count in most]
        axes.legend(
            handles=patches,
            title="policy: tasks",
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            fontsize=8,
            title_fontsize=8,
            frameon=False,
        )

    def axis_name(self, dimension: int) -> str:
        """Return the name of a dimension with its unit."""
        name = self.space.names[dimension]
        unit = self.space.dimensions[name].unit
        return without_mathematics(name if unit is None else f"{name} ({unit})")

    def _named(self, dimension: int, value: float) -> str:
        """Return a value of a dimension as text."""
        shown = self.space.dimensions[self.space.names[dimension]].show(value)
        return without_mathematics(shown) if isinstance(shown, str) else f"{shown:.3g}"

    def _units(self, dimension: int) -> Floats:
        """(n,) unit coordinates of the levels of a dimension."""
        return list(self.space.dimensions.values())[dimension].to_unit(self.levels[dimension])

    def _painted(self) -> Floats:
        """(N, 3) colours of the targets; white where there is no return."""
        painted = np.ones((len(self.space), 3))
        for number in self.served:
            painted[self.serving == number] = to_rgb(policy_colour(number))
        return painted

    def _reaches(self, source: Source, hidden: Mapping[int, int]) -> bool:
        """Tell whether a source has a part in a slice; between two levels it is in the nearest."""
        low, high = unit_box(self.space, source)
        center = self.space.place(source.vector)
        for d, level in hidden.items():
            units = self._units(d)
            inside = (units >= low[d] - EDGE) & (units <= high[d] + EDGE)
            if not inside.any():
                inside[np.abs(units - center[d]).argmin()] = True
            if not inside[level]:
                return False
        return True

    def _draw_source(self, axes: Axes, number: int, x: int, y: int) -> None:
        """Draw the outline of a region, or the star of a point, with the number of its policy."""
        source = self.sources[number]
        if source.is_point:
            unit = self.space.place(source.vector)
            away = [np.abs(self._units(d) - unit[d]) for d in (x, y)]
            draw_star(axes, number, (float(away[0].argmin()), float(away[1].argmin())))
            return
        (left, right), (bottom, top) = (self._span(source, d) for d in (x, y))
        outline = Rectangle((left, bottom), right - left, top - bottom, fill=False, zorder=3)
        outline.set(ec=policy_colour(number), lw=2.0)
        outline.set_path_effects([withStroke(linewidth=4.6, foreground="white")])
        axes.add_patch(outline)
        _draw_number(axes, number, (left, top), (4, -11))

    def _span(self, source: Source, dimension: int) -> tuple[float, float]:
        """Return the ends of a region on the axis of a slice."""
        low, high = (edge[dimension] for edge in unit_box(self.space, source))
        units = self._units(dimension)
        begin, end = np.interp([low, high], units, np.arange(len(units)))
        # At the edge of the space the map continues for half a cell.
        first, last = INSET - 0.5, len(units) - 0.5 - INSET
        single = len(units) == 1
        return (first if low == 0 else float(begin), last if high == 1 or single else float(end))


def draw_star(axes: Axes, number: int, place: tuple[float, float]) -> None:
    """Mark a context that a policy was trained on."""
    axes.plot(*place, "*", ms=14, mfc=policy_colour(number), mec="black", mew=1.1)
    _draw_number(axes, number, place, (6, 4))


def _draw_number(
    axes: Axes, number: int, place: tuple[float, float], offset: tuple[int, int]
) -> None:
    text = axes.annotate(
        str(number), place, xytext=offset, textcoords="offset points", fontsize=9, zorder=4
    )
    text.set(fontweight="bold")
    text.set_path_effects([withStroke(linewidth=2.2, foreground="white")])
