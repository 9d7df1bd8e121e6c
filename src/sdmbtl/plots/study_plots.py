"""Figures of a study, each on axes of its own or on given ones.

Everything is drawn on figures of its own, never through pyplot: nothing global is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from sdmbtl.checks import known_name
from sdmbtl.errors import StudyError
from sdmbtl.plots.colours import BLUE, GREY, LIGHT, MAP, POLICIES
from sdmbtl.plots.space_map import SpaceMap
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.contexts import ContextLike
    from sdmbtl.studies import Study

#: Size of a figure that is made here, in inches.
SIZE = (6.4, 4.2)
#: Learning curves have their numbers beside them up to so many.
MOST_LABELLED = 14

Floats = NDArray[np.float64]
Order = Literal["best", "listed"]


class StudyPlots:
    """The figures of a study: `study.plot`.

    Args:
        study: The study.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def coverage(self, ax: Axes | None = None) -> Axes:
        """The coverage with the first policies; the mean best return if the range is not known.

        Args:
            ax: Where to draw; on a figure of its own if left out.

        Raises:
            StudyError: If no policy is finished.
        """
        rounds = self._finished()
        axes = _axes(ax)
        key = "performance" if self._study.return_range is None else "coverage"
        status = self._status
        at = np.arange(1, len(rounds) + 1)
        axes.plot(at, [entry[key] for entry in rounds], "o-", color=BLUE, ms=5)
        for name, text in (("random_actions", "random actions"), ("best_single", "best single")):
            if status[name] is not None:
                axes.axhline(status[name][key], color=GREY, lw=1, ls=":")
                axes.annotate(text, (at[0], status[name][key]), va="bottom", size=8)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_xlabel("policies")
        axes.set_ylabel("mean best return" if key == "performance" else "coverage")
        axes.set_title(f"{counted(len(self._study.space), 'target')}")
        return _plain(axes)

    def forecasts(self, ax: Axes | None = None) -> Axes:
        """What was expected of each policy before it was trained, and what it added.

        Args:
            ax: Where to draw; on a figure of its own if left out.

        Raises:
            StudyError: If no forecast has been tested.
        """
        pairs = [
            entry
            for entry in self._finished()
            if entry["expected_gain"] is not None and entry["gain"] is not None
        ]
        if not pairs:
            raise StudyError(
                f"No forecast of the study in {str(self._study.path)!r} has been tested: it takes "
                "a selector that makes them, and some policies."
            )
        axes = _axes(ax)
        known = self._study.return_range
        scale = 1.0 if known is None else 100 / (known[1] - known[0])
        places = np.arange(len(pairs))
        expected, came = (
            scale * np.array([entry[key] for entry in pairs]) for key in ("expected_gain", "gain")
        )
        axes.vlines(places, expected, came, color=LIGHT, lw=3, zorder=1)
        axes.plot(places, expected, "o", mfc="white", mec=GREY, label="predicted")
        axes.plot(places, came, "o", color=BLUE, label="came")
        axes.set_xticks(places, [str(entry["id"]) for entry in pairs])
        axes.set_xlabel("policy")
        axes.set_ylabel("rise of the mean best return" if known is None else "points of coverage")
        axes.legend(frameon=False)
        return _plain(axes)

    def curves(self, ax: Axes | None = None, *, policies: Iterable[int] | None = None) -> Axes:
        """The learning curves: mean return on the training contexts against the steps.

        Args:
            ax: Where to draw; on a figure of its own if left out.
            policies: Ids of the policies; all if left out.

        Raises:
            StudyError: If there are none.
        """
        wanted = None if policies is None else set(policies)
        chosen = [
            (trial.id, np.array(trial.run.curve))
            for trial in self._study.trials
            if trial.run is not None and trial.run.curve and (wanted is None or trial.id in wanted)
        ]
        if not chosen:
            which = "" if wanted is None else " of these policies"
            raise StudyError(
                f"The study in {str(self._study.path)!r} has no learning curves{which}. Those that "
                "are trained here have one once they are trained."
            )
        axes = _axes(ax)
        for place, (number, curve) in enumerate(chosen):
            colour = POLICIES[place % len(POLICIES)]
            axes.plot(curve[:, 0], curve[:, 1], ".-", color=colour, label=f"policy {number}")
            if len(chosen) <= MOST_LABELLED:
                axes.annotate(f" {number}", curve[-1], va="center", size=8, weight="bold")
        axes.set_xlabel("environment steps")
        axes.set_ylabel("mean return where it is trained")
        return _plain(axes)

    def rows(self, ax: Axes | None = None, *, order: Order = "best") -> Axes:
        """Every policy on every target, as a heat map.

        Args:
            ax: Where to draw; on a figure of its own if left out.
            order: Of the targets: by the "best" return on each, or as "listed".

        Raises:
            StudyError: If no policy is finished.
        """
        known_name("order", order, ("best", "listed"), error=StudyError)
        self._finished()
        seen = self._study.selector.rows
        columns = np.argsort(seen.best, kind="stable") if order == "best" else slice(None)
        axes = _axes(ax)
        low, high = self._study.return_range or (None, None)
        image = axes.imshow(
            seen.returns[:, columns],
            aspect="auto",
            cmap=MAP,
            vmin=low,
            vmax=high,
            interpolation="nearest",
        )
        ids = [str(trial.id) for trial in self._study.trials if trial.row is not None]
        shown = np.unique(np.linspace(0, len(ids) - 1, min(len(ids), 20)).round().astype(int))
        axes.set_yticks(shown, [ids[i] for i in shown])
        axes.set_ylabel("policy")
        axes.set_xlabel("targets by best return" if order == "best" else "targets as listed")
        figure = axes.get_figure()
        if figure is not None:
            figure.colorbar(image, ax=axes, label="return")
        return axes

    def map(
        self,
        ax: Axes | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        at: ContextLike | None = None,
    ) -> Axes:
        """Which policy serves which target, and how well; where they were trained.

        With one dimension there is a line for each policy, with a grid a slice of two, with a
        list of targets a point for each.

        Args:
            ax: Where to draw; on a figure of its own if left out.
            x: The dimension across; of three or more the second if left out.
            y: The dimension up; of three or more the third if left out.
            at: The slice, by a context in it; that of the worst target if left out.

        Raises:
            StudyError: If no policy is finished, or there is no such dimension.
        """
        self._finished()
        axes = _axes(ax)
        SpaceMap(self._study, x, y, at).draw(axes)
        return axes

    @property
    def _status(self) -> dict[str, Any]:
        return self._study.status()

    def _finished(self) -> list[Mapping[str, Any]]:
        """The rounds of the finished policies."""
        finished = [entry for entry in self._status["rounds"] if entry["status"] == "finished"]
        if not finished:
            raise StudyError(
                f"The study in {str(self._study.path)!r} has no finished policies, so there is "
                "nothing to draw yet."
            )
        return finished


def _axes(given: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    if given is not None:
        return given
    return Figure(figsize=SIZE, layout="constrained").add_subplot()


def _plain(axes: Axes) -> Axes:
    """No frame but the axes."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes
