"""Convolutions over the image at the beginning of a network's inputs, with NumPy or JAX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from sdmbtl.errors import PolicyError

#: Images with a shorter side than this are seen as they are: they may be tables of a few rows.
SMALLEST = 5
#: Side from which images have large kernels -> kernel size and channels of each convolution.
CONVOLUTIONS = {
    36: ((8, 16), (4, 32), (3, 32)),
    20: ((4, 16), (3, 32)),
    SMALLEST: ((3, 16),),
}


@dataclass(frozen=True)
class ImageShape:
    """Shape of the image that the first entries of an observation are, after it was flattened.

    The channels are colours, stacked frames or categories.
    """

    height: int
    width: int
    channels: int
    channels_first: bool = False

    @property
    def size(self) -> int:
        """Numbers of the image."""
        return self.height * self.width * self.channels

    def n_features(self, kernels: Sequence[tuple[int, ...]]) -> int:
        """Return the numbers that convolutions with (k, k, channels, outputs) kernels give.

        Raises:
            PolicyError: If the kernels do not fit the image, or each other.
        """
        height, width, channels = self.height, self.width, self.channels
        for shape in kernels:
            if shape[:3] != (shape[0], shape[0], channels) or shape[0] > min(height, width):
                raise PolicyError(f"A kernel of shape {shape} does not fit {self}.")
            height, width = (count_places(side, shape[0]) for side in (height, width))
            channels = shape[3]
        return height * width * channels


def image_shape(space: spaces.Space[Any]) -> ImageShape | None:
    """Return the shape of observations that are images; None for others."""
    match space:
        case spaces.MultiDiscrete() if len(space.shape) == 3 and len(set(space.nvec.flat)) == 1:
            height, width, each = space.shape
            found = ImageShape(height, width, each * int(space.nvec.flat[0]))
        case spaces.Box(shape=(height, width), dtype=np.uint8):
            found = ImageShape(height, width, 1)
        case spaces.Box(shape=(first, second, third)) if first < third:
            found = ImageShape(second, third, first, channels_first=True)
        case spaces.Box(shape=(height, width, channels)):
            found = ImageShape(height, width, channels)
        case _:
            return None
    return found if min(found.height, found.width) >= SMALLEST else None


def choose_kernels(image: ImageShape) -> list[tuple[int, int, int, int]]:
    """Choose the (k, k, channels, outputs) kernels for an image."""
    side, channels, kernels = min(image.height, image.width), image.channels, []
    for size, outputs in next(c for least, c in CONVOLUTIONS.items() if side >= least):
        kernels.append((size, size, channels, outputs))
        channels = outputs
    return kernels


def stride(kernel: int) -> int:
    """Return the step between two places of a kernel: half of a large one."""
    return max(kernel // 2, 1) if kernel > 3 else 1


def count_places(side: int, kernel: int) -> int:
    """Count the places of a kernel along a side."""
    return (side - kernel) // stride(kernel) + 1


def convolve(layers: Sequence[tuple[Any, Any]], x: Any, image: ImageShape) -> Any:
    """Replace the image in (..., I) inputs by what convolutions with rectifiers see in it."""
    xp, lead = x.__array_namespace__(), x.shape[:-1]
    seen, others = x[..., : image.size], x[..., image.size :]
    if image.channels_first:
        seen = seen.reshape(*lead, image.channels, image.height, image.width)
        seen = xp.moveaxis(seen, -3, -1)
    else:
        seen = seen.reshape(*lead, image.height, image.width, image.channels)
    for weight, bias in layers:
        kernel, step = weight.shape[0], stride(weight.shape[0])
        height, width = (step * (count_places(n, kernel) - 1) + 1 for n in seen.shape[-3:-1])
        # Patches times a matrix: faster than a convolution of XLA on processors, and NumPy has it.
        patches = xp.concatenate(
            [
                seen[..., i : i + height : step, j : j + width : step, :]
                for i in range(kernel)
                for j in range(kernel)
            ],
            axis=-1,
        )
        seen = xp.maximum(patches @ weight.reshape(-1, weight.shape[-1]) + bias, 0.0)
    return xp.concatenate([seen.reshape(*lead, math.prod(seen.shape[-3:])), others], axis=-1)
