"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from sdmbtl.errors import FigureError
from sdmbtl.files import write_atomically
from sdmbtl.plots.colours import palette

#: Dots per inch.
RESOLUTION = 100


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
    figure.savefig(drawn, format=kind, dpi=RESOLUTION * 1.5)
    write_atomically(path, drawn.getvalue())


def save_figure(figure: Figure, path: Path, *, reduced: bool = True) -> None:
    """Write a figure as a PNG file.

    The same figure gives the same bytes.

    Args:
        figure: The figure.
        path: The file.
        reduced: With the palette of the matrix figures, a third as large as with all colours.
    """
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=RESOLUTION)
    if not reduced:
        write_atomically(path, drawn.getvalue())
        return
    drawn.seek(0)
    colours = Image.new("P", (1, 1))
    # A palette of the image's own would spend itself on the maps and change the lines' colours.
    colours.putpalette(palette().tobytes())
    with Image.open(drawn) as image:
        indexed = image.convert("RGB").quantize(palette=colours, dither=Image.Dither.NONE)
    small = io.BytesIO()
    indexed.save(small, format="png", optimize=True)
    write_atomically(path, small.getvalue())
