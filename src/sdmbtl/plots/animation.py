"""Episodes as pictures, side by side in a GIF file.

Needs Pillow, which Matplotlib brings: `pip install 'sdmbtl[plots]'`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import FamilyError
from sdmbtl.files import write_atomically
from sdmbtl.portfolio import Actor

#: Pixels: of a line of text above a picture, of its letters, between two pictures.
LINE, LETTERS, GAP = 22, 15, 6
INK, PAPER, FADED = (20, 20, 20), (255, 255, 255), (120, 120, 120)
#: Pictures that are wider than this, compared with their height, stand below each other.
WIDE = 1.6
#: Colours of a GIF, and pictures a second that programs show of one at most.
COLOURS, MOST_FPS = 64, 50

Picture = NDArray[np.uint8]


class Shot(NamedTuple):
    """A moment of an episode.

    Attributes:
        picture: (H, W, 3) the picture.
        total: Sum of the rewards so far; of several agents the mean over them.
        step: Number of steps so far.
    """

    picture: Picture
    total: float
    step: int


def film_episode(
    family: EnvironmentFamily, actor: Actor, context: Mapping[str, float], seed: int
) -> Iterator[Shot]:
    """Film an episode from its reset to its end.

    Raises:
        FamilyError: If it cannot be drawn.
    """
    vector_env, full = family.make_vector_env(), family.full_context(context)
    if vector_env is not None:
        with closing(vector_env):
            for step, (picture, total) in enumerate(vector_env.film(actor, full, seed), start=1):
                yield Shot(picture, total, step)
        return
    with closing(family.make(full, render_mode="rgb_array")) as env:
        observation, _ = env.reset(seed=seed)
        total, step, is_over = 0.0, 0, False
        while True:
            picture = np.asarray(env.render())
            if picture.ndim != 3 or picture.shape[2] != 3:
                raise FamilyError(
                    f"{family.name} must render 'rgb_array', (height, width, 3) pictures, to be "
                    f"filmed. Got shape {picture.shape} instead."
                )
            yield Shot(picture.astype(np.uint8, copy=False), total, step)
            if is_over:
                return
            observation, reward, terminated, truncated, _ = env.step(actor.act(observation))
            total, step, is_over = total + reward, step + 1, terminated or truncated


def film_side_by_side(episodes: Mapping[str, Iterable[Shot]], caption: str) -> Iterator[Picture]:
    """Join pictures of several episodes; one that has ended keeps its last picture.

    Args:
        episodes: The moments of each, by the title above it.
        caption: A line above all of them, such as the context.
    """
    last: dict[str, Shot] = {}
    for shots in zip_longest(*episodes.values()):
        now = dict(zip(episodes, shots, strict=True))
        last |= {title: shot for title, shot in now.items() if shot is not None}
        parts = []
        for title, shot in last.items():
            ended, colour = (", ended", FADED) if now[title] is None else ("", INK)
            below = f"return {shot.total:.4g}, step {shot.step}{ended}"
            parts.append(_write(shot.picture, [title, below], colour))
        yield _write(_join(parts), [caption])


def _write(picture: Picture, lines: Sequence[str], colour: tuple[int, int, int] = INK) -> Picture:
    """Write lines above a picture; those that are too long are cut."""
    height, width, _ = picture.shape
    image = Image.new("RGB", (width, height + len(lines) * LINE), PAPER)
    image.paste(Image.fromarray(picture), (0, len(lines) * LINE))
    font = ImageFont.load_default(LETTERS)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((GAP, number * LINE + 3), line, colour, font)
    return np.asarray(image)


def _join(pictures: list[Picture]) -> Picture:
    """Put pictures next to each other, or below each other if they are wide, on white."""
    height, width, _ = np.max([picture.shape for picture in pictures], axis=0)
    below = width > WIDE * height
    padded = []
    for number, picture in enumerate(pictures):
        gap = GAP if number else 0
        rows = (gap if below else 0, height - picture.shape[0])
        columns = (0 if below else gap, width - picture.shape[1])
        padded.append(np.pad(picture, (rows, columns, (0, 0)), constant_values=255))
    return np.concatenate(padded, axis=0 if below else 1)


def save_animation(pictures: Iterable[Picture], path: Path, fps: float) -> int:
    """Write pictures to a GIF file, and return their number.

    Args:
        pictures: (H, W, 3) each, all of one size.
        path: Ends with .gif.
        fps: Pictures a second.

    Raises:
        FamilyError: If the file has another ending, or there are no pictures.
    """
    if path.suffix.lower() != ".gif":
        raise FamilyError(f"The file must end with .gif. Got {str(path)!r} instead.")
    images = [Image.fromarray(picture).quantize(COLOURS) for picture in pictures]
    if not images:
        raise FamilyError(f"There are no pictures to write to {str(path)!r}.")
    content = io.BytesIO()
    first, *others = images
    pause = 1000 / min(fps, MOST_FPS)
    first.save(content, "GIF", save_all=True, append_images=others, duration=pause, loop=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.getvalue())
    return len(images)
