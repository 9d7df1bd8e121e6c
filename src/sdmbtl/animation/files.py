"""Pictures as a GIF or an MP4 file."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sdmbtl.errors import FamilyError, MissingPackageError
from sdmbtl.files import write_atomically
from sdmbtl.wording import counted

Picture = NDArray[np.uint8]

#: Colours of a GIF, and pictures a second that programs show of one at most.
COLOURS, MOST_FPS = 64, 50


def save_animation(pictures: Iterable[Picture], path: Path, fps: float) -> int:
    """Write pictures to a file; returns how many there were.

    Args:
        pictures: (H, W, 3) each, all of one size.
        path: Ends with .gif, or .mp4, which needs the program ffmpeg.
        fps: Pictures a second.

    Raises:
        FamilyError: If the file has another ending, or there are no pictures.
        MissingPackageError: If ffmpeg is missing.
    """
    kinds = {".gif": _save_gif, ".mp4": _save_mp4}
    if path.suffix.lower() not in kinds:
        raise FamilyError(
            f"An animation is written to a file that ends with {' or '.join(kinds)}. "
            f"Got {str(path)!r} instead."
        )
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise MissingPackageError(
            "MP4 files need the program ffmpeg, which was not found. Install it, or write a GIF.",
            name="ffmpeg",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    return kinds[path.suffix.lower()](pictures, path, fps)


def _save_gif(pictures: Iterable[Picture], path: Path, fps: float) -> int:
    import io

    images = [Image.fromarray(picture).quantize(COLOURS) for picture in pictures]
    if not images:
        raise FamilyError(f"There is nothing to write to {str(path)!r}: {counted(0, 'picture')}.")
    content = io.BytesIO()
    first, *others = images
    pause = 1000 / min(fps, MOST_FPS)
    first.save(content, "GIF", save_all=True, append_images=others, duration=pause, loop=0)
    write_atomically(path, content.getvalue())
    return len(images)


def _save_mp4(pictures: Iterable[Picture], path: Path, fps: float) -> int:
    process: subprocess.Popen[bytes] | None = None
    number = 0
    for picture in pictures:
        even = picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2]
        if process is None:
            process = _start_ffmpeg(even.shape[1], even.shape[0], fps, path)
        assert process.stdin is not None  # noqa: S101 - it has a pipe
        process.stdin.write(np.ascontiguousarray(even).tobytes())
        number += 1
    if process is not None:
        process.communicate()
    if process is None or process.returncode:
        raise FamilyError(f"ffmpeg could not write {str(path)!r}. Write a GIF instead.")
    return number


def _start_ffmpeg(width: int, height: int, fps: float, path: Path) -> subprocess.Popen[bytes]:
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}"]
    made = ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path.absolute())]
    command = ["ffmpeg", "-y", "-loglevel", "error", *source, "-i", "-", *made]
    return subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 - arguments, no shell
