"""Colours of the figures, which differ for every kind of colour vision."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from sdmbtl.palette import COLOURS, GREYS

#: Of Okabe and Ito's set.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
GREY, LIGHT, BLACK = "#8a8a8a", "#dddddd", "#000000"
#: Colours of the lines of several methods, in order.
LINES = (*COLOURS, *GREYS)
#: The map from low to high returns.
MAP = "cividis"

_MAP_SHADES, _SHADES = 192, 12


def palette() -> NDArray[np.uint8]:
    """Return (n, 3) every colour of a figure: the map, and the others in shades towards white."""
    shades = np.linspace(0, 1, _SHADES)[:, None]
    lines = [1 - shades * (1 - np.array(to_rgb(c))) for c in (BLUE, ORANGE, GREEN, GREY, BLACK)]
    of_map = colormaps[MAP](np.linspace(0, 1, _MAP_SHADES))[:, :3]
    return np.asarray(np.rint(255 * np.concatenate([of_map, *lines])), dtype=np.uint8)
