"""The colours of the figures, which differ for every kind of colour vision."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

#: Of Okabe and Ito's set.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
GREY, LIGHT, BLACK = "#8a8a8a", "#dddddd", "#000000"
#: The map from low to high returns.
MAP = "cividis"

_MAP_SHADES, _SHADES = 192, 12


#: Colours of policies: Okabe and Ito's set, then lighter shades of it.
POLICIES = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8a8a8a"),
    *("#7fb8d8", "#f2cf7f", "#7fceb9", "#e5bcd3"),
)


def palette() -> NDArray[np.uint8]:
    """(n, 3) every colour of a figure: the map, and the others in shades towards white."""
    shades = np.linspace(0, 1, _SHADES)[:, None]
    lines = [1 - shades * (1 - np.array(to_rgb(c))) for c in (BLUE, ORANGE, GREEN, GREY, BLACK)]
    of_map = colormaps[MAP](np.linspace(0, 1, _MAP_SHADES))[:, :3]
    return np.asarray(np.rint(255 * np.concatenate([of_map, *lines])), dtype=np.uint8)
