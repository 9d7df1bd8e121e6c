"""The networks of PPO, and the running statistics of what they see."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdmbtl.policies.mlp import OBSERVATION_LIMIT

State = TypeVar("State")

Layers = list[tuple[jax.Array, jax.Array]]

TINY = 1e-8


class Weights(NamedTuple):
    """What is learned."""

    actor: Layers
    critic: Layers
    log_std: jax.Array


class Scaling(NamedTuple):
    """Running statistics of the observations."""

    mean: jax.Array
    variance: jax.Array
    number: jax.Array


def initial_weights(
    seed: int, n_inputs: int, hidden_sizes: tuple[int, ...], n_outputs: int
) -> Weights:
    """Orthogonal matrices, drawn with NumPy: a batch of QR decompositions is slow in JAX."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    return Weights(
        actor=_make_layers(rng, (n_inputs, *hidden_sizes, n_outputs), last=0.01),
        critic=_make_layers(rng, (n_inputs, *hidden_sizes, 1), last=1.0),
        log_std=jnp.zeros(n_outputs),
    )


def initial_scaling(n_inputs: int) -> Scaling:
    """The statistics when nothing has been seen."""
    return Scaling(jnp.zeros(n_inputs), jnp.ones(n_inputs), jnp.float32(TINY))


def forward(layers: Layers, x: jax.Array) -> jax.Array:
    """The outputs of a network with tanh layers, of which the last one is linear."""
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def normalize(observations: jax.Array, scaling: Scaling) -> jax.Array:
    """Observations as the networks see them, if they are normalised."""
    scaled = (observations - scaling.mean) * jax.lax.rsqrt(scaling.variance + TINY)
    return jnp.clip(scaled, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)


def update_scaling(scaling: Scaling, seen: jax.Array, present: jax.Array | None = None) -> Scaling:
    """The statistics with further observations.

    Args:
        scaling: The statistics so far.
        seen: (n, O) the observations.
        present: (n,) which of them count, as 0 or 1; all if left out.
    """
    if present is None:
        n: jax.Array | int = len(seen)
        mean, variance = seen.mean(axis=0), seen.var(axis=0)
    else:
        n = present.sum()
        share = (present / jnp.maximum(n, 1.0))[:, None]
        mean = (share * seen).sum(axis=0)
        variance = (share * (seen - mean) ** 2).sum(axis=0)
    total = scaling.number + n
    apart = mean - scaling.mean
    spread = (
        scaling.variance * scaling.number + variance * n + apart**2 * scaling.number * n / total
    )
    return Scaling(scaling.mean + apart * n / total, spread / total, total)


def _make_layers(rng: np.random.Generator, sizes: tuple[int, ...], *, last: float) -> Layers:
    """Layers with orthogonal matrices, zero biases; gain sqrt(2), `last` for the last one."""
    gains = [2**0.5] * (len(sizes) - 2) + [last]
    return [
        (jnp.asarray(gain * orthogonal(rng, n, m)), jnp.zeros(m, jnp.float32))
        for (n, m), gain in zip(pairwise(sizes), gains, strict=True)
    ]


def orthogonal(rng: np.random.Generator, n: int, m: int) -> NDArray[np.float32]:
    """(n, m) a random matrix with orthonormal rows or columns, whichever are fewer."""
    q, r = np.linalg.qr(rng.standard_normal((max(n, m), min(n, m))))
    q = q * np.sign(np.diagonal(r))
    return np.asarray(q if n >= m else q.T, dtype=np.float32)


def arrays_of(state: Any, name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a state, which may be nested, under numbered names."""
    leaves = jax.tree.leaves(state)
    return {f"{name}-{number}": np.asarray(leaf) for number, leaf in enumerate(leaves)}


def from_arrays(form: State, name: str, arrays: Mapping[str, NDArray[Any]]) -> State:
    """A state of the same form as another one, with arrays of `arrays_of`."""
    leaves, structure = jax.tree.flatten(form)
    kept = [jnp.asarray(arrays[f"{name}-{number}"]) for number in range(len(leaves))]
    restored: State = jax.tree.unflatten(structure, kept)
    return restored
