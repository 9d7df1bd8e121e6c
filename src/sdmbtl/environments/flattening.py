"""Observations of any usual space, as the flat arrays of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.errors import PolicyError

Flatten = Callable[[Any], NDArray[np.float32]]

#: Images whose entries are all below this are taken for categories.
MOST_CATEGORIES = 16


def with_categories(space: spaces.Space[Any], observations: Sequence[Any]) -> spaces.Space[Any]:
    """Return a space in which images of small integers, such as MiniGrid's, are categories.

    The entries of such an image name kinds of things: the larger is not the brighter. They become
    a MultiDiscrete, which takes the same arrays.

    Args:
        space: Space of the observations.
        observations: Some of them. An image of at most two values is left as it is.
    """
    match space:
        case spaces.Box() if _is_image(space):
            seen = np.unique(np.asarray(observations))
            if len(seen) > 2 and seen[-1] < MOST_CATEGORIES:
                return spaces.MultiDiscrete(np.full(space.shape, MOST_CATEGORIES))
        case spaces.Dict():
            return spaces.Dict(
                [
                    (key, with_categories(inner, [seen[key] for seen in observations]))
                    for key, inner in space.spaces.items()
                ]
            )
        case spaces.Tuple():
            parts = zip(space.spaces, zip(*observations, strict=True), strict=True)
            return spaces.Tuple([with_categories(inner, seen) for inner, seen in parts])
    return space


def _is_image(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) > 1


class FlatObservations:
    """Turns observations of a space into vectors, as `gymnasium.spaces.flatten` does.

    Images of bytes are also scaled by their bounds to [0, 1]. A batch of observations, as
    Gymnasium's vector environments give it, becomes one vector for each.

    Args:
        space: Box, Discrete, MultiBinary, MultiDiscrete, or a Dict or Tuple of these.

    Attributes:
        space: That space.
        size: O, the number of entries of a vector.

    Raises:
        PolicyError: If the space is of another kind.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self._flatten = _flattening(space)
        self.size = spaces.flatdim(space)

    @property
    def is_plain(self) -> bool:
        """True if observations are vectors of floats already."""
        space = self.space
        return (
            isinstance(space, spaces.Box)
            and len(space.shape) == 1
            and np.issubdtype(space.dtype, np.floating)
        )

    @property
    def has_images(self) -> bool:
        """True if an image of bytes is among the observations."""
        todo = [self.space]
        while todo:
            space = todo.pop()
            if isinstance(space, spaces.Dict):
                todo += space.spaces.values()
            elif isinstance(space, spaces.Tuple):
                todo += space.spaces
            elif _is_image(space):
                return True
        return False

    def is_within(self, narrowest: float, widest: float) -> bool:
        """Return True if the space bounds every entry, and as well as a network likes it.

        Args:
            narrowest: Half the width of an entry is at least this.
            widest: No entry is larger than this.
        """
        if isinstance(self.space, spaces.Box) and self.space.dtype == np.uint8:
            return True
        flat = spaces.flatten_space(self.space)
        if not isinstance(flat, spaces.Box) or not flat.is_bounded():
            return False
        low, high = flat.low.astype(np.float64), flat.high.astype(np.float64)
        largest = np.maximum(np.abs(low), np.abs(high))
        return bool(((high - low) / 2 >= narrowest).all() and (largest <= widest).all())

    def __call__(self, observation: Any) -> NDArray[np.float32]:
        """(O,) of one observation, (n, O) of a batch of them.

        Raises:
            PolicyError: If it is not of the space.
        """
        try:
            return self._flatten(observation)
        except (IndexError, KeyError, TypeError, ValueError):
            raise PolicyError(
                f"Observations are of the space {short_text(self.space)}, one or a batch. "
                f"Got {short_text(observation)} instead."
            ) from None


def _flattening(space: spaces.Space[Any]) -> Flatten:
    """Return the function for a space, made once: it is called at every step."""
    match space:
        case spaces.Box():
            return _box_flattening(space)
        case spaces.Discrete():
            size, start = int(space.n), int(space.start)
            return lambda value: _one_hot(np.asarray(value) - start, size)
        case spaces.MultiBinary():
            axes = len(space.shape)
            return lambda value: _join_axes(np.asarray(value, np.float32), axes)
        case spaces.MultiDiscrete():
            return _choices_flattening(space)
        case spaces.Dict():
            named = [(key, _flattening(inner)) for key, inner in space.spaces.items()]
            return lambda value: np.concatenate([f(value[key]) for key, f in named], axis=-1)
        case spaces.Tuple():
            inner = [_flattening(each) for each in space.spaces]
            return lambda value: np.concatenate(
                [f(part) for f, part in zip(inner, value, strict=True)], axis=-1
            )
    raise PolicyError(
        "Observations can be flattened if they are Box, Discrete, MultiBinary, MultiDiscrete, "
        f"or a Dict or Tuple of these. Got {short_text(space)} instead."
    )


def _one_hot(index: NDArray[Any], size: int) -> NDArray[np.float32]:
    """A 1 at the index, for each of them; not a row of a table, which could be very large."""
    hot = np.zeros((index.size, size), dtype=np.float32)
    hot[np.arange(index.size), index.ravel()] = 1.0
    return hot.reshape(*index.shape, size)


def _choices_flattening(space: spaces.MultiDiscrete) -> Flatten:
    sizes, starts, axes = space.nvec.ravel(), space.start.ravel(), len(space.shape)
    ends = np.cumsum(sizes)

    def flatten(value: Any) -> NDArray[np.float32]:
        index = _join_axes(np.asarray(value), axes) - starts
        if (index >= sizes).any():
            raise IndexError(f"only {sizes} possibilities")
        hot = np.zeros((*index.shape[:-1], ends[-1]), dtype=np.float32)
        np.put_along_axis(hot, index + (ends - sizes), 1.0, axis=-1)
        return hot

    return flatten


def _box_flattening(space: spaces.Box) -> Flatten:
    axes = len(space.shape)
    if space.dtype != np.uint8:
        return lambda value: _join_axes(np.asarray(value, np.float32), axes)
    low = space.low.ravel().astype(np.float32)
    width = np.maximum(space.high.ravel().astype(np.float32) - low, 1.0)
    return lambda value: (_join_axes(np.asarray(value, np.float32), axes) - low) / width


def _join_axes(array: NDArray[Any], axes: int) -> NDArray[Any]:
    """Make one axis of the last ones, of which there may be none."""
    return array.reshape(*array.shape[: array.ndim - axes], -1)
