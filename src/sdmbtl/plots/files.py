"""Figures: new ones, and their files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sdmbtl.errors import FigureError
from sdmbtl.files import write_atomically
from sdmbtl.software import in_notebook

#: Dots per inch.
RESOLUTION = 150
#: Formats by the ending of a file.
FORMATS = ("pdf", "png", "svg")


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
