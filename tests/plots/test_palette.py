"""Colours of policies, as people with each kind of colour vision see them."""

from itertools import combinations

import numpy as np
import pytest

from sdmbtl.palette import COLOURS, LINES, luminance, text_colour

#: Machado, Oliveira and Fernandes (2009), full severity, for linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def seen(colour, vision):
    """CIELAB of a colour such as "#005ba8"."""
    shares = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.asarray(VISION[vision]) @ linear, 0, 1) / WHITE
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    c1, c2 = np.hypot(a1 * stretch, b1), np.hypot(a2 * stretch, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    hue, light, chroma = h1 + turn / 2, (l1 + l2) / 2, (c1 + c2) / 2
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1 + sum(f * np.cos(np.radians(n * hue + shift)) for f, n, shift in waves)
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    around = np.radians(60 * np.exp(-((((hue % 360) - 275) / 25) ** 2)))
    twist = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * np.sin(around)
    return float(np.sqrt(dl**2 + dc**2 + dh**2 + twist * dc * dh))


def test_the_formula_gives_published_values():
    """Sharma, Wu and Dalal (2005)."""
    pairs = {
        2.0425: ((50, 2.6772, -79.7751), (50, 0, -82.7485)),
        4.3065: ((50, 2.5, 0), (50, 0, -2.5)),
        27.1492: ((50, 2.5, 0), (73, 25, -18)),
    }
    for expected, (one, other) in pairs.items():
        assert difference(one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("vision", VISION)
def test_policies_differ_for_every_kind_of_colour_vision(vision):
    found = {
        pair: difference(*(seen(c, vision) for c in pair)) for pair in combinations(COLOURS, 2)
    }
    assert min(found.values()) > 15, min(found, key=found.get)


def test_text_on_a_colour_can_be_read():
    for ground in LINES:
        levels = sorted((luminance(ground), luminance(text_colour(ground))))
        assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 4.5
