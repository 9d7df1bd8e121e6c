"""Actions as the numbers that a network learns from, and its last action as an input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.errors import PolicyError


class ActionCode:
    """Outputs of a network for actions of a space, and codes of its actions.

    A code has one entry for each output. That of a choice among possibilities is 1 for the chosen
    one and 0 for the others. That of a number is the number, scaled so that its bounds are -1 and
    1 if it has any.

    Args:
        space: A Box of floats, Discrete, MultiDiscrete or MultiBinary.

    Attributes:
        space: That space.
        sizes: Numbers of possibilities, one for each choice; None for numbers.
        size: K, the outputs that a network needs.
        centre: (K,) number with the code 0; empty for choices.
        half_width: (K,) distance from it to the number with the code 1; empty for choices.

    Raises:
        PolicyError: If the space is of another kind.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self.sizes: tuple[int, ...] | None = None
        self.centre = self.half_width = np.zeros(0, np.float32)
        self._lowest: Any = getattr(space, "start", 0)
        match space:
            case spaces.Box() if np.issubdtype(space.dtype, np.floating):
                low, high = (x.ravel().astype(np.float64) for x in (space.low, space.high))
                # The bounds decide an entry that can only be one number, whatever its code.
                bounded = np.isfinite(low) & np.isfinite(high) & (low < high)
                low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
                self.centre = ((low + high) / 2).astype(np.float32)
                self.half_width = ((high - low) / 2).astype(np.float32)
                self.size = len(low)
                return
            case spaces.Discrete():
                self.sizes = (int(space.n),)
            case spaces.MultiDiscrete():
                self.sizes = tuple(int(n) for n in space.nvec.ravel())
            case spaces.MultiBinary():
                self.sizes = (2,) * spaces.flatdim(space)
            case _:
                raise PolicyError(
                    "Actions can be learned if they are a Box of floats, Discrete, MultiDiscrete "
                    f"or MultiBinary. Got {short_text(space)} instead."
                )
        self.size = sum(self.sizes)
        self._starts = np.cumsum((0, *self.sizes[:-1])) - np.ravel(self._lowest)

    @property
    def is_plain(self) -> bool:
        """True if numbers are their own codes, or there are choices only."""
        return bool((self.centre == 0).all() and (self.half_width == 1).all())

    def best(self, outputs: NDArray[np.float32]) -> Any:
        """Return the actions that a network finds best, by its (..., K) outputs."""
        return self._to_space(outputs if self.sizes is None else find_largest(outputs, self.sizes))

    def decode(self, chosen: NDArray[Any]) -> Any:
        """Return actions for (S, D) learned ones: codes of numbers, or possibilities."""
        if self.sizes is None:
            chosen = chosen * self.half_width + self.centre
        return self._to_space(chosen)

    def __call__(self, actions: Any) -> NDArray[np.float32]:
        """Return (..., K) codes of one action or of a batch, as the environment takes them."""
        array = np.asarray(actions)
        leading = array.shape[: array.ndim - len(self.space.shape or ())]
        if self.sizes is None:
            scaled: NDArray[np.float32] = (
                array.reshape(*leading, self.size) - self.centre
            ) / self.half_width
            return scaled.astype(np.float32, copy=False)
        flat = array.reshape(*leading, len(self.sizes))
        code = np.zeros((*leading, self.size), np.float32)
        np.put_along_axis(code, flat.astype(np.int64) + self._starts, 1.0, axis=-1)
        return code

    def _to_space(self, chosen: NDArray[Any]) -> Any:
        """Return actions as the environment takes them, for (..., D) possibilities or values."""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return chosen[..., 0] + int(self._lowest)
        shaped = chosen.reshape(*chosen.shape[:-1], *(space.shape or ()))
        if isinstance(space, spaces.Box):
            return np.clip(shaped, space.low, space.high).astype(space.dtype, copy=False)
        return (shaped + self._lowest).astype(space.dtype, copy=False)


def find_largest(outputs: NDArray[np.float32], sizes: Sequence[int]) -> NDArray[np.intp]:
    """Return (..., D) the possibility with the largest of (..., K) outputs for each choice."""
    if len(sizes) == 1:
        return np.asarray(outputs.argmax(axis=-1, keepdims=True))
    parts = np.split(outputs, np.cumsum(sizes)[:-1], axis=-1)
    return np.stack([part.argmax(axis=-1) for part in parts], axis=-1)
