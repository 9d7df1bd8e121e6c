"""Colours of the figures, which differ for every kind of colour vision."""

from __future__ import annotations

from sdmbtl.palette import COLOURS, GREYS

#: Of Okabe and Ito's set.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
GREY, LIGHT, BLACK = "#8a8a8a", "#dddddd", "#000000"
#: Colours of the lines of several methods, in order.
LINES = (*COLOURS, *GREYS)
#: The map from low to high returns.
MAP = "cividis"
