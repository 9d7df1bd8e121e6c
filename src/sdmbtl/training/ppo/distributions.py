"""Distributions of actions, as functions of a network's outputs.

Each has `n_outputs` K of the actor, and for (n, K) of them `sample` (actions and their (n,) log
probabilities), `evaluate` ((n,) log probabilities of actions, and entropies: (n,), or (1,) if all
are the same) and `best` (the most probable actions). They are hashable, to be compiled for.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Categorical:
    """One of K actions: (n,) whole numbers."""

    n_outputs: int

    def sample(
        self, outputs: jax.Array, log_std: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Draw actions; returns them with their log probabilities."""
        actions = jax.random.categorical(key, outputs)
        return actions, self.evaluate(outputs, log_std, actions)[0]

    def evaluate(
        self, outputs: jax.Array, log_std: jax.Array, actions: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return log probabilities of actions, and the entropies."""
        del log_std
        log_probs = jax.nn.log_softmax(outputs)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1)
        chosen = jax.nn.one_hot(actions, self.n_outputs)
        return (log_probs * chosen).sum(axis=-1), entropy

    def best(self, outputs: jax.Array) -> jax.Array:
        """Return the most probable actions."""
        return outputs.argmax(axis=-1)


@dataclass(frozen=True)
class MultiCategorical:
    """Several choices at once, independent of each other: (n, D) whole numbers.

    NumPy draws them: see `ExploringActor`.

    Attributes:
        sizes: Number of possibilities of each of the D choices; their outputs follow each other.
    """

    sizes: tuple[int, ...]

    @property
    def n_outputs(self) -> int:
        """K, the sum of the sizes."""
        return sum(self.sizes)

    def evaluate(
        self, outputs: jax.Array, log_std: jax.Array, actions: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return log probabilities and entropies, summed over the choices."""
        parts = jnp.split(outputs, np.cumsum(self.sizes)[:-1].tolist(), axis=-1)
        each = [
            Categorical(size).evaluate(part, log_std, actions[..., d])
            for d, (size, part) in enumerate(zip(self.sizes, parts, strict=True))
        ]
        log_probs, entropies = zip(*each, strict=True)
        return jnp.stack(log_probs).sum(axis=0), jnp.stack(entropies).sum(axis=0)


@dataclass(frozen=True)
class Gaussian:
    """K independent numbers around the outputs: (n, K), not bounded.

    Attributes:
        n_outputs: K.
        bounds: Lowest and highest action; None for any.
    """

    n_outputs: int
    bounds: tuple[float, float] | None = None

    def sample(
        self, outputs: jax.Array, log_std: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Draw actions; returns them with their log probabilities."""
        noise = jax.random.normal(key, outputs.shape, dtype=jnp.float32)
        actions = outputs + jnp.exp(log_std) * noise
        return actions, gaussian_log_prob(actions, outputs, log_std)

    def evaluate(
        self, outputs: jax.Array, log_std: jax.Array, actions: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return log probabilities of actions, and the entropy."""
        entropy = (log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum()
        return gaussian_log_prob(actions, outputs, log_std), entropy[None]

    def best(self, outputs: jax.Array) -> jax.Array:
        """Return the means, within the bounds."""
        return outputs if self.bounds is None else jnp.clip(outputs, *self.bounds)


Distribution = Categorical | MultiCategorical | Gaussian


def gaussian_log_prob(x: jax.Array, mean: jax.Array, log_std: jax.Array) -> jax.Array:
    """Log density of independent Gaussians, summed over the last axis."""
    scaled = (x - mean) * jnp.exp(-log_std)
    return (-0.5 * scaled**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)).sum(axis=-1)
