"""Figures of a study, each on new or given axes.

Everything is drawn on new figures, never through pyplot: nothing global is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sdmbtl.errors import StudyError
from sdmbtl.palette import BLACK, GREY, policy_colour
from sdmbtl.plots.files import draw_levels, label_ends, new_figure, plain
from sdmbtl.plots.space_map import SpaceMap, draw_star
from sdmbtl.wording import short_count

if TYPE_CHECKING:
    from sdmbtl.studies import Study
    from sdmbtl.studies.snapshot import PolicySnapshot, StudySnapshot

#: Size of a figure that is made here, in inches.
SIZE = (6.4, 4.2)
#: Up to this many learning curves have their numbers next to them.
MOST_LABELLED = 14

Floats = NDArray[np.float64]


class StudyPlots:
    """The figures of a study: `study.plot`.

    Args:
        study: The study.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def coverage(self, ax: Axes | None = None) -> Axes:
        """Draw the coverage with the first policies, or the mean best return.

        Args:
            ax: Where to draw; on a new figure if left out.

        Raises:
            StudyError: If no policy is finished.
        """
        snapshot, policies = self._finished()
        axes, is_share = _axes(ax), snapshot.coverage is not None
        levels = np.array([p.coverage if is_share else p.performance for p in policies])
        whole = np.array([p.kind == "whole" for p in policies])
        draw_levels(axes, levels, whole, is_share=is_share)
        single = snapshot.best_single
        if single is not None and len(policies) > 1:
            level = single.performance if single.coverage is None else 100 * single.coverage
            axes.axhline(level, color=GREY, lw=1, ls=":")
            name, at = f"best single policy ({single.id})", axes.get_yaxis_transform()
            axes.text(0.99, level, name, transform=at, ha="right", va="top", size=8)
        return axes

    def curves(self, ax: Axes | None = None) -> Axes:
        """Draw the learning curves: mean return on the training contexts against the steps.

        Args:
            ax: Where to draw; on a new figure if left out.

        Raises:
            StudyError: If there are none.
        """
        curves = {t.id: np.array(t.run.curve) for t in self._study.trials if t.run and t.run.curve}
        if not curves:
            raise StudyError(
                f"The study in {str(self._study.path)!r} has no learning curves. Policies that "
                "are trained here have one once they are trained."
            )
        axes = _axes(ax)
        for number, curve in curves.items():
            axes.plot(*curve.T, ".-"[len(curve) > 1 :], color=policy_colour(number), lw=1.8)
        if len(curves) <= MOST_LABELLED:
            ends = {n: (float(curve[-1, 0]), float(curve[-1, 1])) for n, curve in curves.items()}
            label_ends(axes, [(f"{n}", x, y, policy_colour(n)) for n, (x, y) in ends.items()])
        axes.set_xlabel("environment steps")
        axes.xaxis.set_major_formatter(lambda steps, _: short_count(round(steps)))
        axes.set_ylabel("mean return where it is trained")
        return plain(axes)

    def map(self, ax: Axes | None = None) -> Axes:
        """Draw the best policy for each target, gaps, and what policies were trained on.

        With one dimension there is a line for each policy. With a grid of three or more there is
        the second across and the third up, through the worst target. With a list of targets there
        is a point for each.

        Args:
            ax: Where to draw; on a new figure if left out.

        Raises:
            StudyError: If no policy is finished.
        """
        snapshot, _ = self._finished()
        axes, space = _axes(ax), self._study.space
        best = self._study.selector.expected_best
        limit = snapshot.gaps.limit
        low = np.zeros(len(space), bool) if limit is None else best < limit
        sources = {trial.id: trial.source for trial in self._study.trials}
        found = SpaceMap(space, self._study.selector.best_trials, low, sources)
        across, up = (0, 1) if space.n_dimensions == 2 else (1, 2)
        if space.n_dimensions == 1:
            self._draw_lines(axes, found, best)
        elif space.is_grid:
            worst = int(np.nanargmin(best))
            others = [d for d in range(space.n_dimensions) if d not in (across, up)]
            hidden = {d: int(found.places[d, worst]) for d in others}
            found.draw_slice(axes, across, up, hidden)
        else:
            found.draw_points(axes, across, up)
        if space.n_dimensions > 1:
            found.draw_legend(axes)
        return axes

    def _draw_lines(self, axes: Axes, found: SpaceMap, best: Floats) -> None:
        """Draw the returns of each policy over the only dimension, the best ones bold."""
        values = found.space.targets[:, 0]
        order = np.argsort(values)
        finished = [trial.id for trial in self._study.trials if trial.row is not None]
        rows = dict(zip(finished, self._study.selector.expected_returns, strict=True))
        axes.plot(values[order], best[order], color=BLACK, lw=5)
        for number in found.served:
            axes.plot(values[order], rows[number][order], color=policy_colour(number), lw=1.8)
        low = axes.get_ylim()[0]
        for number in found.served:
            if found.sources[number].is_point:
                draw_star(axes, number, (found.sources[number].center[0], low))
        found.scale_axes(axes, 0)
        axes.set_xlabel(found.axis_name(0))
        axes.set_ylabel("return")
        end = values[order[-1]]
        ends = [(f"{n}", end, float(rows[n][order[-1]]), policy_colour(n)) for n in found.served]
        label_ends(axes, ends)
        axes.set_title("black: the best policy for each context", fontsize=10)
        plain(axes)

    def _finished(self) -> tuple[StudySnapshot, list[PolicySnapshot]]:
        """Return the snapshot and its finished policies."""
        snapshot = self._study.snapshot()
        if not snapshot.finished:
            raise StudyError(
                f"The study in {str(self._study.path)!r} has no finished policies, so there is "
                "nothing to draw yet."
            )
        return snapshot, snapshot.finished


def _axes(given: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    return new_figure(SIZE).add_subplot() if given is None else given
