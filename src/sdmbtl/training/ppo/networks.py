"""Networks of PPO, and running statistics of what they see."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdmbtl.execution.machine import environment_variables
from sdmbtl.policies.mlp import OBSERVATION_LIMIT

State = TypeVar("State")

Layers = list[tuple[jax.Array, jax.Array]]

TINY = 1e-8


def start_backend() -> None:
    """Start JAX for small networks; without effect if it has been started before."""
    # Computations in the background outlive a Ctrl-C, and crash at the exit.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
    # XLA's number of threads: a second one only costs time here.
    with environment_variables({"NPROC": "1"}):
        jax.devices()


class Weights(NamedTuple):
    """Weights of actor and critic, and the log standard deviation of continuous actions."""

    actor: Layers
    critic: Layers
    log_std: jax.Array


class RunningStats(NamedTuple):
    """Mean and variance of everything seen so far, and how much that was."""

    mean: jax.Array
    var: jax.Array
    number: jax.Array


def initial_weights(
    seed: int, n_inputs: int, hidden_sizes: tuple[int, ...], n_outputs: int
) -> Weights:
    """Draw orthogonal matrices, with NumPy: a batch of QR decompositions is slow in JAX.

    Biases are zero, the gain is sqrt(2), and less for the last layers.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))

    def make_layers(outputs: int, last: float) -> Layers:
        sizes = (n_inputs, *hidden_sizes, outputs)
        gains = [2**0.5] * len(hidden_sizes) + [last]
        return [
            (jnp.asarray(gain * orthogonal(rng, n, m)), jnp.zeros(m, jnp.float32))
            for (n, m), gain in zip(pairwise(sizes), gains, strict=True)
        ]

    return Weights(make_layers(n_outputs, 0.01), make_layers(1, 1.0), jnp.zeros(n_outputs))


def orthogonal(rng: np.random.Generator, n: int, m: int) -> NDArray[np.float32]:
    """Draw an (n, m) matrix with orthonormal rows or columns, whichever are fewer."""
    q, r = np.linalg.qr(rng.standard_normal((max(n, m), min(n, m))))
    q = q * np.sign(np.diagonal(r))
    return np.asarray(q if n >= m else q.T, dtype=np.float32)


def forward(layers: Layers, x: jax.Array) -> jax.Array:
    """Compute the outputs of a network with tanh layers, of which the last one is linear."""
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def initial_stats(size: int) -> RunningStats:
    """Return the statistics when nothing has been seen."""
    return RunningStats(jnp.zeros(size), jnp.ones(size), jnp.float32(TINY))


def update_stats(
    stats: RunningStats, seen: jax.Array, present: jax.Array | None = None
) -> RunningStats:
    """Add further values to running statistics.

    Args:
        stats: The statistics so far.
        seen: (n, O) the values.
        present: (n,) 1 for those that count, 0 for others; all count if left out.
    """
    if present is None:
        n: jax.Array | int = len(seen)
        mean, var = seen.mean(axis=0), seen.var(axis=0)
    else:
        n = present.sum()
        share = (present / jnp.maximum(n, 1.0))[:, None]
        mean = (share * seen).sum(axis=0)
        var = (share * (seen - mean) ** 2).sum(axis=0)
    total = stats.number + n
    apart = mean - stats.mean
    spread = stats.var * stats.number + var * n + apart**2 * stats.number * n / total
    return RunningStats(stats.mean + apart * n / total, spread / total, total)


def normalize(observations: jax.Array, stats: RunningStats) -> jax.Array:
    """Normalise observations, and clip them."""
    scaled = (observations - stats.mean) * jax.lax.rsqrt(stats.var + TINY)
    return jnp.clip(scaled, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)


def arrays_of(state: Any, name: str) -> dict[str, NDArray[Any]]:
    """Name the arrays of a nested state, by number."""
    leaves = jax.tree.leaves(state)
    return {f"{name}-{number}": np.asarray(leaf) for number, leaf in enumerate(leaves)}


def from_arrays(form: State, name: str, arrays: Mapping[str, NDArray[Any]]) -> State:
    """Make a state of the same form as another one, with arrays of `arrays_of`."""
    leaves, structure = jax.tree.flatten(form)
    kept = [jnp.asarray(arrays[f"{name}-{number}"]) for number in range(len(leaves))]
    restored: State = jax.tree.unflatten(structure, kept)
    return restored
