"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.axes import Axes

from sdmbtl.errors import FigureError
from sdmbtl.files import write_atomically

#: Dots per inch.
RESOLUTION = 150
#: Formats by the ending of a file.
FORMATS = ("pdf", "png", "svg")


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
