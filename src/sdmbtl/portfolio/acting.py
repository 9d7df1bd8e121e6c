"""A policy in one context, as its environment sees it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.policies import Policy


class Actor(Protocol):
    """Whatever acts: a `Policy`, or one that is given its context."""

    def act(self, observation: ArrayLike) -> Any:
        """The action for one observation, or for a batch of them."""


class ContextPolicy:
    """A policy that was trained to see the context, in one context.

    Args:
        policy: Takes observations that end with the context's unit coordinates.
        units: (D,) the coordinates.
    """

    def __init__(self, policy: Policy, units: NDArray[np.float64]) -> None:
        self.policy = policy
        self.units = units

    def act(self, observation: ArrayLike) -> Any:
        """The action for a plain (O,) observation, or the actions for (n, O) of them."""
        plain = np.asarray(observation)
        if not np.issubdtype(plain.dtype, np.floating):
            plain = plain.astype(np.float32)  # whole numbers would cut the coordinates off
        units = np.broadcast_to(self.units, (*plain.shape[:-1], len(self.units)))
        return self.policy.act(np.concatenate([plain, units.astype(plain.dtype)], axis=-1))
