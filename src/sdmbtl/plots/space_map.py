"""The context space of a study: which policy serves which target, and how well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from numpy.typing import NDArray

from sdmbtl.checks import known_name
from sdmbtl.errors import StudyError
from sdmbtl.plots.colours import GREY, POLICIES
from sdmbtl.plots.grid_axes import draw_number, draw_outline, levels_of, reaches, span, units_of

if TYPE_CHECKING:
    from sdmbtl.contexts import ContextLike, ContextSpace, Dimension
    from sdmbtl.selectors import Trial
    from sdmbtl.studies import Study

#: How much of its colour a target keeps that no policy does well on.
PALEST = 0.14
#: With more levels than this, some of them are named on an axis.
MOST_NAMED = 8

Floats = NDArray[np.float64]


class SpaceMap:
    """A map of a study's context space; see `StudyPlots.map`.

    Args:
        study: The study, with a finished policy.
        x: The dimension across.
        y: The dimension up.
        at: A context in the slice.

    Raises:
        StudyError: If there is no such dimension, or both are the same.
    """

    def __init__(
        self,
        study: Study,
        x: str | None = None,
        y: str | None = None,
        at: ContextLike | None = None,
    ) -> None:
        self.study, self.space = study, study.space
        self.x, self.y = _axes_of(self.space, x, y)
        self.best: Floats = np.asarray(study.selector.rows.best)
        self.who = study.selector.best_trials
        self.target = int(np.nanargmin(self.best)) if at is None else self.space.nearest(at)
        served = [t for t in study.trials if (self.who == t.id).any()]
        self.colours = {t.id: POLICIES[i % len(POLICIES)] for i, t in enumerate(served)}

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        if self.space.n_dimensions == 1:
            self._draw_lines(axes)
            return
        if self.space.is_grid:
            self._draw_slice(axes)
        else:
            self._draw_points(axes)
        self._draw_legend(axes)

    @property
    def _serving(self) -> list[Trial]:
        return [trial for trial in self.study.trials if trial.id in self.colours]

    def _strengths(self) -> Floats:
        """(N,) how much of its colour each target keeps."""
        low, high = self.study.return_range or (np.nanmin(self.best), np.nanmax(self.best))
        shares = (self.best / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
        return np.nan_to_num(np.clip(PALEST + (1 - PALEST) * shares, 0, 1))

    def _painted(self) -> Floats:
        """(N, 3) colours of the targets; white where there is no return."""
        strengths = self._strengths()
        painted = np.ones((len(self.space), 3))
        for number, colour in self.colours.items():
            mine = self.who == number
            painted[mine] = 1 - strengths[mine, None] * (1 - np.array(to_rgb(colour)))
        return painted

    def _draw_slice(self, axes: Axes) -> None:
        space, shape = self.space, self.space.shape
        place = np.unravel_index(self.target, shape)
        hidden = {d: int(place[d]) for d in range(len(shape)) if d not in (self.x, self.y)}
        grid = self._painted().reshape(*shape, 3)
        shown = grid[tuple(hidden.get(d, slice(None)) for d in range(len(shape)))]
        if self.x < self.y:  # rows of a picture are up
            shown = shown.transpose(1, 0, 2)
        orders = [np.argsort(units_of(space, d)) for d in (self.y, self.x)]
        axes.imshow(shown[np.ix_(*orders)], origin="lower", aspect="auto")
        for trial in self._serving:
            if space.is_whole(trial.source) or not reaches(space, trial.source, hidden):
                continue
            if trial.source.is_point:
                self._draw_star(axes, trial, *self._cell(trial))
            else:
                across, up = (span(space, trial.source, d) for d in (self.x, self.y))
                draw_outline(axes, across, up, self.colours[trial.id], trial.id)
        for d, set_ticks in ((self.x, axes.set_xticks), (self.y, axes.set_yticks)):
            values = np.sort(levels_of(space)[d])
            named = np.unique(np.linspace(0, len(values) - 1, MOST_NAMED).round().astype(int))
            set_ticks(named, [f"{values[i]:.3g}" for i in named])
        self._name_axes(axes)
        names = [f"{space.names[d]} {levels_of(space)[d][i]:.3g}" for d, i in hidden.items()]
        axes.set_title(", ".join(names), fontsize=10)

    def _cell(self, trial: Trial) -> tuple[float, float]:
        """The cell, across and up, in which a point is."""
        units = self.space.to_unit(trial.source.vector)
        away = [np.abs(np.sort(units_of(self.space, d)) - units[d]) for d in (self.x, self.y)]
        return float(away[0].argmin()), float(away[1].argmin())

    def _draw_points(self, axes: Axes) -> None:
        targets, colours = self.space.targets, self._painted()
        axes.scatter(targets[:, self.x], targets[:, self.y], c=colours, s=28, ec=GREY, lw=0.4)
        for trial in self._serving:
            if trial.source.is_point:
                across, up = (trial.source.center[d] for d in (self.x, self.y))
                self._draw_star(axes, trial, across, up)
        for d, set_scale in ((self.x, axes.set_xscale), (self.y, axes.set_yscale)):
            if self._dimension(d).scale == "log":
                set_scale("log")
        self._name_axes(axes)

    def _draw_legend(self, axes: Axes) -> None:
        """The colours of the policies that serve most targets."""
        counts = {number: int((self.who == number).sum()) for number in self.colours}
        most = sorted(counts, key=lambda number: -counts[number])[: len(POLICIES)]
        patches = [Patch(color=self.colours[n], label=f"{n}: {counts[n]}") for n in most]
        axes.legend(
            handles=patches,
            title="policy: targets",
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            fontsize=8,
            title_fontsize=8,
            frameon=False,
        )

    def _draw_lines(self, axes: Axes) -> None:
        values = self.space.targets[:, 0]
        order = np.argsort(values)
        bottom = axes.get_xaxis_transform()
        rows = {t.id: t.row for t in self._serving if t.row is not None}
        for trial in self._serving:
            colour = self.colours[trial.id]
            row = rows[trial.id][order]
            axes.plot(values[order], row, color=colour, label=f"policy {trial.id}")
            if trial.source.is_point:
                star: dict[str, Any] = {
                    "ms": 12,
                    "mfc": colour,
                    "mec": "black",
                    "transform": bottom,
                }
                axes.plot(trial.source.center[0], 0.03, "*", **star)
        axes.plot(values[order], self.best[order], "k--", lw=1, label="best")
        if self._dimension(0).scale == "log":
            axes.set_xscale("log")
        axes.set_xlabel(self._name(0))
        axes.set_ylabel("return")
        axes.legend(frameon=False, fontsize=8)

    def _draw_star(self, axes: Axes, trial: Trial, across: float, up: float) -> None:
        colour = self.colours[trial.id]
        axes.plot(across, up, "*", ms=14, mfc=colour, mec="black", mew=1.1)
        draw_number(axes, trial.id, (across, up), (6, 4))

    def _dimension(self, number: int) -> Dimension:
        return list(self.space.dimensions.values())[number]

    def _name(self, number: int) -> str:
        unit = self._dimension(number).unit
        name = self.space.names[number]
        return name if unit is None else f"{name} ({unit})"

    def _name_axes(self, axes: Axes) -> None:
        axes.set_xlabel(self._name(self.x))
        axes.set_ylabel(self._name(self.y))


def _axes_of(space: ContextSpace, x: str | None, y: str | None) -> tuple[int, int]:
    """The dimensions across and up; those of a line are both the first."""
    names = list(space.names)
    for given in (x, y):
        if given is not None:
            known_name("dimension", given, names, error=StudyError)
    if len(names) == 1:
        return 0, 0
    usual = names if len(names) == 2 else [*names[1:], names[0]]
    across = x if x is not None else next(name for name in usual if name != y)
    up = y if y is not None else next(name for name in usual if name != across)
    if across == up:
        raise StudyError(
            f"A map has two different dimensions. Got {across!r} for both 'x' and 'y'. "
            f"There are {', '.join(names)}."
        )
    return names.index(across), names.index(up)
