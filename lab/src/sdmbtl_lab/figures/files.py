"""Figures of matrices as small files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from sdmbtl.files import write_atomically
from sdmbtl.plots.colours import BLACK, BLUE, GREEN, GREY, MAP, ORANGE

#: Dots per inch.
RESOLUTION = 100
#: Colours of the map, and shades of each other colour towards white.
MAP_SHADES, SHADES = 192, 12


def save_matrix_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file with few colours; the same figure gives the same bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=RESOLUTION)
    colours = Image.new("P", (1, 1))
    # A palette of the image's own would spend itself on the maps and change the lines' colours.
    colours.putpalette(_palette().tobytes())
    with Image.open(drawn) as image:
        indexed = image.convert("RGB").quantize(palette=colours, dither=Image.Dither.NONE)
    small = io.BytesIO()
    indexed.save(small, format="png", optimize=True)
    write_atomically(path, small.getvalue())


def _palette() -> NDArray[np.uint8]:
    """(n, 3) every colour of a figure: the map, and the others in shades towards white."""
    shades = np.linspace(0, 1, SHADES)[:, None]
    lines = [1 - shades * (1 - np.array(to_rgb(c))) for c in (BLUE, ORANGE, GREEN, GREY, BLACK)]
    of_map = colormaps[MAP](np.linspace(0, 1, MAP_SHADES))[:, :3]
    return np.asarray(np.rint(255 * np.concatenate([of_map, *lines])), dtype=np.uint8)
