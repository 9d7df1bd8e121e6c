"""Figures: new ones, their files, and the parts they have in common."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from sdmbtl.errors import FigureError
from sdmbtl.files import write_atomically
from sdmbtl.machine import in_notebook
from sdmbtl.palette import BLACK, text_colour
from sdmbtl.wording import counted, coverage_text

#: Dots per inch.
RESOLUTION = 150
#: Formats by the ending of a file.
FORMATS = ("pdf", "png", "svg")
#: Points between two labels at the ends of lines.
LABEL_HEIGHT = 11.0


def new_figure(size: tuple[float, float]) -> Figure:
    """Make a figure; in a notebook one of pyplot's, which appears below the cell."""
    if in_notebook():
        from matplotlib import pyplot as plt

        return plt.figure(figsize=size, layout="constrained")
    return Figure(figsize=size, layout="constrained")


def save_axes(axes: Axes, path: Path) -> None:
    """Write the figure of some axes to a file, in the format that its name ends with.

    Raises:
        FigureError: If there is no such format.
    """
    kind = path.suffix.lstrip(".").lower()
    figure = axes.get_figure(root=True)
    if kind not in FORMATS or figure is None:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise FigureError(
            f"The name of a figure must end with one of {known}. Got {path.name!r} instead."
        )
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=RESOLUTION)
    write_atomically(path, drawn.getvalue())


def plain(axes: Axes) -> Axes:
    """Leave no frame but the axes."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def label_ends(axes: Axes, ends: Sequence[tuple[str, float, float, str]]) -> None:
    """Write names at the ends of lines, moved apart; of each its text, x, y and colour."""
    low, high = axes.get_ylim()
    tall = axes.bbox.height * 72 / axes.figure.dpi  # in points
    ends = sorted(ends, key=lambda end: end[2])
    at = [(y - low) / (high - low) * tall for _, _, y, _ in ends]
    moved = at.copy()
    for i in range(1, len(at)):
        moved[i] = max(at[i], moved[i - 1] + LABEL_HEIGHT)
    above = tall + LABEL_HEIGHT
    for i in reversed(range(len(at))):
        moved[i] = above = min(moved[i], above - LABEL_HEIGHT)
    for (text, x, y, colour), place, drawn in zip(ends, at, moved, strict=True):
        offset = (7, drawn - place)
        name = axes.annotate(text, (x, y), offset, textcoords="offset points", va="center", size=8)
        name.set(weight="bold", color=text_colour(colour))
        name.set_bbox({"boxstyle": "round,pad=0.15", "fc": colour, "ec": "none"})


def draw_levels(
    axes: Axes, levels: NDArray[np.float64], whole: NDArray[np.bool_], *, is_share: bool
) -> None:
    """Draw the (k,) coverage, or mean best return, with the first policies.

    Generalists, of which (k,) `whole` is true, are squares.
    """
    shown, at = 100 * levels if is_share else levels, np.arange(1, len(levels) + 1)
    axes.plot(at, shown, "-", color=BLACK, lw=1.2)
    if whole.any():
        axes.plot(at[whole], shown[whole], "s", ms=5, color=BLACK, label="generalist")
    if not whole.all():
        axes.plot(at[~whole], shown[~whole], "o", ms=5, mfc="white", mec=BLACK, label="specialist")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    axes.set_xlabel("policies")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.set_ylabel("coverage (%)" if is_share else "mean best return")
    if is_share:
        covered = counted(len(levels), "policy covers", "policies cover")
        axes.set_title(f"{covered} {coverage_text(levels[-1])}")
    plain(axes)
