"""Actions as the numbers that a network learns from, and its last action as an input."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.environments.flattening import FlatActions


class ActionCode:
    """Codes of actions: one entry for each output of a network.

    The code of a choice among possibilities is 1 for the chosen one and 0 for the others. The code
    of a number is the number, scaled so that its bounds are -1 and 1 if it has any.

    Args:
        space: A Box of floats, Discrete, MultiDiscrete or MultiBinary.

    Attributes:
        actions: The actions as outputs of a network.
        sizes: Numbers of possibilities, one for each choice; None for numbers.
        size: K, the entries of a code.
        centre: (K,) number with the code 0; empty for choices.
        half_width: (K,) distance from it to the number with the code 1; empty for choices.

    Raises:
        PolicyError: If the space is of another kind.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.actions = FlatActions(space)
        self.sizes, self.size = self.actions.sizes, self.actions.n_outputs
        self.centre = self.half_width = np.zeros(0, np.float32)
        self._starts = np.zeros(0, np.int64)
        if isinstance(space, spaces.Box):
            low, high = (x.ravel().astype(np.float64) for x in (space.low, space.high))
            # The bounds decide an entry that can only be one number, whatever its code.
            bounded = np.isfinite(low) & np.isfinite(high) & (low < high)
            low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
            self.centre = ((low + high) / 2).astype(np.float32)
            self.half_width = ((high - low) / 2).astype(np.float32)
        elif self.sizes is not None:
            first = np.cumsum((0, *self.sizes[:-1]))
            lowest = getattr(space, "start", 0)
            self._starts = first - np.ravel(lowest)

    @property
    def is_plain(self) -> bool:
        """True if numbers are their own codes, or there are choices only."""
        return bool((self.centre == 0).all() and (self.half_width == 1).all())

    def decode(self, chosen: NDArray[Any]) -> Any:
        """Actions of the space for (S, D) learned ones: codes of numbers, or possibilities."""
        if self.sizes is None:
            chosen = chosen * self.half_width + self.centre
        return self.actions.to_space(chosen)

    def __call__(self, actions: Any) -> NDArray[np.float32]:
        """(..., K) codes of one action or of a batch of them, as the environment takes them."""
        array = np.asarray(actions)
        axes = len(self.actions.space.shape or ())
        if self.sizes is None:
            flat = array.reshape(*array.shape[: array.ndim - axes], self.size)
            scaled: NDArray[np.float32] = (flat - self.centre) / self.half_width
            return scaled.astype(np.float32, copy=False)
        flat = array.reshape(*array.shape[: array.ndim - axes], len(self.sizes))
        code = np.zeros((*flat.shape[:-1], self.size), np.float32)
        np.put_along_axis(code, flat.astype(np.int64) + self._starts, 1.0, axis=-1)
        return code
