"""Networks of PPO, and running statistics of what they see."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.machine import environment_variables
from sdmbtl.policies.images import ImageShape, choose_kernels
from sdmbtl.policies.mlp import OBSERVATION_LIMIT, forward

State = TypeVar("State")

Layers = list[tuple[jax.Array, jax.Array]]

TINY = 1e-8
#: Hidden numbers of a recurrent unit.
MEMORY = 64
#: Size of the cache of compiled functions; the oldest are dropped first.
COMPILED_BYTES = 500_000_000

# The shape of an image is no array: functions are compiled for it.
jax.tree_util.register_static(ImageShape)


def start_backend() -> None:
    """Start JAX for small networks; without effect if it has been started before.

    What it compiles is kept in the user's cache directory, unless they chose another one.
    """
    # Computations in the background outlive a Ctrl-C, and crash at the exit.
    options: dict[str, Any] = {"jax_cpu_enable_async_dispatch": False}
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # Without a home directory nothing is kept.
    with suppress(RuntimeError):
        cache = given if given.is_absolute() else Path.home() / ".cache"
        if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
            options |= {
                "jax_compilation_cache_dir": str(cache / "sdmbtl" / "compiled"),
                "jax_compilation_cache_max_size": COMPILED_BYTES,
                "jax_persistent_cache_min_compile_time_secs": 0.0,
            }
    for name, value in options.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    # XLA's number of threads: a second one only costs time here.
    with environment_variables({"NPROC": "1"}):
        jax.devices()


class Recurrent(NamedTuple):
    """Weights of a recurrent unit; see `GatedUnit`."""

    inputs: jax.Array
    hidden: jax.Array
    bias: jax.Array
    candidate_bias: jax.Array


class Weights(NamedTuple):
    """Weights of a policy and its critic.

    Attributes:
        log_std: Log standard deviation of continuous actions.
        memory: Recurrent unit whose hidden numbers actor and critic see; None if they see inputs.
        image: Shape of the image that the inputs begin with; None if nothing is convolved.
    """

    actor: Layers
    critic: Layers
    log_std: jax.Array
    memory: Recurrent | None = None
    image: ImageShape | None = None

    def act(self, x: jax.Array) -> jax.Array:
        """Compute the outputs of the actor."""
        outputs: jax.Array = forward(self.actor, x, self.image)
        return outputs

    def value(self, x: jax.Array) -> jax.Array:
        """Compute the values by the critic."""
        values: jax.Array = forward(self.critic, x, self.image)[..., 0]
        return values


class RunningStats(NamedTuple):
    """Mean and variance of everything seen so far, and how much that was."""

    mean: jax.Array
    var: jax.Array
    number: jax.Array


def to_jax(numbers: ArrayLike) -> jax.Array:
    """Copy numbers to JAX, in single precision.

    The functions of `jax.numpy` do the same, but each lowers a program for every shape.
    """
    array: jax.Array = jax.device_put(np.asarray(numbers, dtype=np.float32))
    return array


def initial_weights(
    seed: int,
    n_inputs: int,
    hidden_sizes: tuple[int, ...],
    n_outputs: int,
    *,
    recurrent: bool = False,
    image: ImageShape | None = None,
) -> Weights:
    """Draw orthogonal matrices, with NumPy: a batch of QR decompositions is slow in JAX.

    Biases are zero, the gain is sqrt(2), and less for the last layers.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))

    def make_layers(outputs: int, last: float) -> Layers:
        shapes = layer_shapes(n_inputs, hidden_sizes, outputs, recurrent=recurrent, image=image)
        gains = [2**0.5] * (len(shapes) - 1) + [last]
        return [
            (
                to_jax((gain * orthogonal(rng, math.prod(rest), m)).reshape(*rest, m)),
                to_jax(np.zeros(m)),
            )
            for (*rest, m), gain in zip(shapes, gains, strict=True)
        ]

    actor, critic = make_layers(n_outputs, 0.01), make_layers(1, 1.0)
    memory = initial_memory(rng, n_inputs) if recurrent else None
    return Weights(actor, critic, to_jax(np.zeros(n_outputs)), memory, image)


def layer_shapes(
    n_inputs: int,
    hidden_sizes: tuple[int, ...],
    n_outputs: int,
    *,
    recurrent: bool = False,
    image: ImageShape | None = None,
) -> list[tuple[int, ...]]:
    """Return the shape of the weights of each layer, with those of convolutions first."""
    kernels = [] if image is None else choose_kernels(image)
    if image is not None:
        n_inputs += image.n_features(kernels) - image.size
    sizes = (MEMORY if recurrent else n_inputs, *hidden_sizes, n_outputs)
    return [*kernels, *pairwise(sizes)]


def initial_memory(rng: np.random.Generator, n_inputs: int) -> Recurrent:
    """Draw the weights of a recurrent unit: orthogonal for each gate, and biases of zero."""
    inputs, hidden = (
        to_jax(np.hstack([orthogonal(rng, n, MEMORY) for _ in range(3)]))
        for n in (n_inputs, MEMORY)
    )
    biases = [to_jax(np.zeros(n)) for n in (3 * MEMORY, MEMORY)]
    return Recurrent(inputs, hidden, *biases)


def orthogonal(rng: np.random.Generator, n: int, m: int) -> NDArray[np.float32]:
    """Draw an (n, m) matrix with orthonormal rows or columns, whichever are fewer."""
    q, r = np.linalg.qr(rng.standard_normal((max(n, m), min(n, m))))
    q = q * np.sign(np.diagonal(r))
    return np.asarray(q if n >= m else q.T, dtype=np.float32)


def remember(recurrent: Recurrent, from_x: jax.Array, h: jax.Array) -> jax.Array:
    """Return the next (..., H) hidden numbers; `from_x` is the part of the inputs."""
    size = h.shape[-1]
    from_h = h @ recurrent.hidden
    gates = jax.nn.sigmoid(from_x[..., : 2 * size] + from_h[..., : 2 * size])
    reset, update = gates[..., :size], gates[..., size:]
    inner = from_h[..., 2 * size :] + recurrent.candidate_bias
    candidate = jnp.tanh(from_x[..., 2 * size :] + reset * inner)
    return candidate + update * (h - candidate)


def remember_along(
    recurrent: Recurrent, x: jax.Array, h: jax.Array, begins: jax.Array | None = None
) -> jax.Array:
    """Return (T, n, H) hidden numbers after each of (T, n, I) inputs, from (n, H) before them.

    `begins` is (T, n) True where an episode begins, with nothing to remember.
    """
    from_inputs = x @ recurrent.inputs + recurrent.bias
    if begins is None:
        begins = jnp.zeros(x.shape[:2], bool)

    def step(h: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        h = remember(recurrent, now[0], jnp.where(now[1][:, None], 0.0, h))
        return h, h

    return jax.lax.scan(step, h, (from_inputs, begins))[1]


def initial_stats(size: int) -> RunningStats:
    """Return the statistics when nothing has been seen."""
    return RunningStats(to_jax(np.zeros(size)), to_jax(np.ones(size)), to_jax(TINY))


def update_stats(
    stats: RunningStats, seen: jax.Array, present: jax.Array | None = None
) -> RunningStats:
    """Add (n, O) values to running statistics; `present` is 1 for those that count, else 0."""
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
    kept = [jax.device_put(arrays[f"{name}-{number}"]) for number in range(len(leaves))]
    restored: State = jax.tree.unflatten(structure, kept)
    return restored
