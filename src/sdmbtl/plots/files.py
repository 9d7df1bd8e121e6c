"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from sdmbtl.files import write_atomically
from sdmbtl.plots.colours import palette

#: Dots per inch.
RESOLUTION = 100


def save_figure(figure: Figure, path: Path, colours: NDArray[np.uint8] | None = None) -> None:
    """Write a figure as a PNG file with a palette, a third as large as with all colours.

    The same figure gives the same bytes.

    Args:
        figure: The figure.
        path: The file.
        colours: (n, 3) the palette, at most 256 colours; that of the matrix figures if left out.
    """
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=RESOLUTION)
    drawn.seek(0)
    reference = Image.new("P", (1, 1))
    # A palette of the image's own would spend itself on the maps and change the lines' colours.
    reference.putpalette((palette() if colours is None else colours).tobytes())
    with Image.open(drawn) as image:
        reduced = image.convert("RGB").quantize(palette=reference, dither=Image.Dither.NONE)
    small = io.BytesIO()
    reduced.save(small, format="png", optimize=True)
    write_atomically(path, small.getvalue())
