"""Colours of figures and of the page: one permanent colour for each policy, the same everywhere."""

from __future__ import annotations

#: Six colours near Okabe and Ito's, further apart for every kind of colour vision.
COLOURS = ("#005ba8", "#eaa010", "#469b6b", "#c36de0", "#66d7df", "#b74006")
#: The same six, lighter: all colours of policies, and of the lines of several methods, in order.
LINES = (*COLOURS, "#94bada", "#f6d79b", "#b1d5c1", "#e6c2f2", "#bfeef2", "#e1af96")
#: Single colours of figures; the first three are of Okabe and Ito's set.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
GREY, LIGHT, BLACK = "#8a8a8a", "#dddddd", "#000000"
#: The map from low to high returns.
MAP = "cividis"


def policy_colour(number: int) -> str:
    """Return the colour of the policy with this id; ids twelve apart share one."""
    return LINES[number % len(LINES)]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as "#005ba8", 0 to 1 (WCAG 2)."""
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def text_colour(ground: str) -> str:
    """Return black or white, the one with more contrast to a ground: at least 4.5 to 1."""
    return "#000000" if luminance(ground) > 0.179 else "#ffffff"
