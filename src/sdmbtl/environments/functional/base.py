"""Environments as pure functions of state, action and context, to be run by the hundred."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class FunctionalEnvironment(ABC):
    """The physics of an environment family as functions that JAX can compile and batch.

    A context is a flat array, the state of an episode any pytree of arrays. Steps with random
    numbers keep a key in the state. If the family has a Gymnasium environment too, the equations,
    the initial distribution and the rewards are the same.

    Attributes:
        defaults: The context features in the order of a parameter vector, with their usual values.
        observation_size: O, the entries of an observation.
        actions: Action space as in Gymnasium; a Box has one axis, and one pair of bounds.
        max_steps: Length at which an episode is cut off.
    """

    defaults: Mapping[str, float]
    observation_size: int
    actions: spaces.Discrete | spaces.Box
    max_steps: int

    def parameters(
        self, names: Sequence[str], contexts: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Complete contexts with the usual values of the features that they do not name.

        Args:
            names: The D features that vary.
            contexts: (..., D) their values.

        Returns:
            (..., P) values of all features.
        """
        columns = [
            contexts[..., list(names).index(feature)]
            if feature in names
            else np.full(contexts.shape[:-1], value)
            for feature, value in self.defaults.items()
        ]
        return np.stack(columns, axis=-1).astype(np.float32)

    def __eq__(self, other: object) -> bool:
        """Compare environments; compiled functions serve equal ones."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def reset(self, key: jax.Array, parameters: jax.Array) -> Any:
        """Draw the state in which an episode begins; `parameters` is (P,)."""

    @abstractmethod
    def step(
        self, state: Any, action: jax.Array, parameters: jax.Array
    ) -> tuple[Any, jax.Array, jax.Array]:
        """Take a step from a state: next state, reward, and True if the episode ended."""

    def observe(self, state: Any, parameters: jax.Array) -> jax.Array:
        """Return the (O,) observation of a state; the state itself, unless overridden."""
        del parameters
        array: jax.Array = state
        return array
