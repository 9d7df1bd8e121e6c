"""Several episodes in one picture, each with a line of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sdmbtl.animation.episodes import Shot

#: Pixels: of a line of text above a picture, of its letters, between two pictures.
LINE, LETTERS, GAP = 22, 15, 6
INK, PAPER, FADED = (20, 20, 20), (255, 255, 255), (120, 120, 120)
#: Pictures that are wider than this, compared with their height, stand below each other.
WIDE = 1.6


def film_side_by_side(episodes: Mapping[str, Iterable[Shot]]) -> Iterator[NDArray[np.uint8]]:
    """Pictures of several episodes; one that has ended keeps its last picture.

    Args:
        episodes: The moments of each, by what is written above it.
    """
    last: dict[str, Shot] = {}
    for shots in zip_longest(*episodes.values()):
        now = dict(zip(episodes, shots, strict=True))
        last |= {title: shot for title, shot in now.items() if shot is not None}
        yield _join([_write(title, shot, now[title] is None) for title, shot in last.items()])


def _write(title: str, shot: Shot, has_ended: bool) -> NDArray[np.uint8]:
    """A picture with its title, and the return so far."""
    height, width, _ = shot.picture.shape
    image = Image.new("RGB", (width, height + 2 * LINE), PAPER)
    image.paste(Image.fromarray(shot.picture), (0, 2 * LINE))
    font = ImageFont.load_default(LETTERS)
    ended = ", ended" if has_ended else ""
    lines = _fit(title, font, width - 2 * GAP), f"return {shot.total:.4g}, step {shot.step}{ended}"
    for number, line in enumerate(lines):
        colour = FADED if has_ended else INK
        ImageDraw.Draw(image).text((GAP, number * LINE + 3), line, colour, font)
    return np.asarray(image)


def _fit(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> str:
    """As much of a text as there is room for."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"


def _join(pictures: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Beside each other, or below each other if they are wide; on white, of one size."""
    height, width, _ = np.max([picture.shape for picture in pictures], axis=0)
    below = width > WIDE * height
    padded = []
    for number, picture in enumerate(pictures):
        gap = GAP if number else 0
        size = (height + gap, width, 3) if below else (height, width + gap, 3)
        page = np.full(size, 255, np.uint8)
        top, left = (gap, 0) if below else (0, gap)
        page[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
        padded.append(page)
    return np.concatenate(padded, axis=0 if below else 1)
