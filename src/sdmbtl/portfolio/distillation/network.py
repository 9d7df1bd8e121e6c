"""The student: a network in JAX, and the policy that it becomes.

A student that sees the context is a multilayer perceptron, which sees the context's unit
coordinates after the observation. One that is not has a gated recurrent unit, which sees its own
last action there; a linear layer makes actions of its hidden numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts.dimension import Dimension
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.policies import MlpPolicy
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.policies.distilled import DistilledPolicy, GatedUnit
from sdmbtl.policies.mlp import OBSERVATION_LIMIT, forward
from sdmbtl.training.ppo.networks import (
    MEMORY,
    Layers,
    Recurrent,
    initial_memory,
    orthogonal,
    remember,
    remember_along,
)

#: Units of the hidden layers of a student that sees the context.
LAYERS = (128, 128)


class Weights(NamedTuple):
    """Weights of a student; without a recurrent unit if it sees the context."""

    layers: Layers
    recurrent: Recurrent | None


class Scaling(NamedTuple):
    """Normalisation of (I,) inputs by their mean and the inverse of their deviation."""

    shift: jax.Array
    scale: jax.Array


class Student(NamedTuple):
    """A student: its weights, and how it normalises its inputs."""

    weights: Weights
    scaling: Scaling


@dataclass(frozen=True)
class StudentForm:
    """Inputs and outputs of a student.

    Attributes:
        observations: Observations as vectors.
        code: Actions as outputs.
        dimensions: Dimensions of the context by name, if the student sees it; None if not.
    """

    observations: FlatObservations
    code: ActionCode
    dimensions: Mapping[str, Dimension] | None

    @property
    def memory(self) -> int:
        """H, the hidden numbers; 0 for a student that sees the context."""
        return MEMORY if self.dimensions is None else 0

    @property
    def n_extra(self) -> int:
        """E, the inputs after the observation: the context, or the code of the last action."""
        if self.dimensions is None:
            return self.code.size
        return sum(d.columns for d in self.dimensions.values())

    @property
    def n_inputs(self) -> int:
        """I, all inputs."""
        return self.observations.size + self.n_extra

    def begin(self, rng: np.random.Generator) -> Weights:
        """Draw the weights of an untrained student."""
        sizes = (MEMORY,) if self.memory else (self.n_inputs, *LAYERS)
        gains = [*[2**0.5] * (len(sizes) - 1), 0.01]
        layers = [
            (jnp.asarray(gain * orthogonal(rng, n, m)), jnp.zeros(m))
            for (n, m), gain in zip(pairwise((*sizes, self.code.size)), gains, strict=True)
        ]
        if not self.memory:
            return Weights(layers, None)
        return Weights(layers, initial_memory(rng, self.n_inputs))

    def make_policy(self, student: Student) -> DistilledPolicy:
        """Make the policy of a student, which learned codes, in arrays of NumPy."""
        weights, scaling = student
        layers = [(np.asarray(w), np.asarray(b)) for w, b in weights.layers]
        if self.code.sizes is None:  # from codes to numbers
            last, bias = layers[-1]
            half_width, centre = self.code.half_width, self.code.centre
            layers[-1] = last * half_width, bias * half_width + centre
        shift, scale = np.asarray(scaling.shift), np.asarray(scaling.scale)
        memory = None
        if weights.recurrent is not None:
            memory = GatedUnit(shift, scale, *map(np.asarray, weights.recurrent))
            shift, scale = np.zeros(MEMORY, np.float32), np.ones(MEMORY, np.float32)
        head = MlpPolicy(
            [w for w, _ in layers],
            [b for _, b in layers],
            shift,
            scale,
            limit=OBSERVATION_LIMIT if memory is None else None,
            action_space=self.code.space,
        )
        return DistilledPolicy(
            head,
            dimensions=self.dimensions,
            memory=memory,
            observation_space=None if self.observations.is_plain else self.observations.space,
        )


def read_policy(policy: DistilledPolicy) -> Student:
    """Return a policy as a student, whose outputs are actions as the environment takes them."""
    head, memory = policy.head, policy.memory
    layers = [
        (jnp.asarray(w), jnp.asarray(b)) for w, b in zip(head.weights, head.biases, strict=True)
    ]
    if memory is None:
        scaling = Scaling(jnp.asarray(head.shift), jnp.asarray(head.scale))
        return Student(Weights(layers, None), scaling)
    shift, scale, *recurrent = map(jnp.asarray, memory)
    return Student(Weights(layers, Recurrent(*recurrent)), Scaling(shift, scale))


def normalize(x: jax.Array, scaling: Scaling) -> jax.Array:
    """Normalise (..., I) inputs, and clip them."""
    scaled = (x - scaling.shift) * scaling.scale
    return jnp.clip(scaled, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)


def act_once(student: Student, x: jax.Array, h: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return (..., K) outputs and the next (..., H) hidden numbers, for (..., I) inputs."""
    weights = student.weights
    x = normalize(x, student.scaling)
    if weights.recurrent is not None:
        recurrent = weights.recurrent
        x = h = remember(recurrent, x @ recurrent.inputs + recurrent.bias, h)
    return forward(weights.layers, x), h


def act_along(student: Student, x: jax.Array, h: jax.Array) -> jax.Array:
    """Return (n, W, K) outputs for n windows of W inputs, from (n, H) hidden numbers on."""
    weights = student.weights
    x = normalize(x, student.scaling)
    if weights.recurrent is not None:
        x = remember_along(weights.recurrent, x.swapaxes(0, 1), h).swapaxes(0, 1)
    outputs: jax.Array = forward(weights.layers, x)
    return outputs


def scaling_of(inputs: NDArray[np.float32]) -> Scaling:
    """Return the normalisation of (n, I) inputs; one that never changes is not blown up."""
    deviation = np.sqrt(inputs.var(axis=0, dtype=np.float64) + 1e-4)
    mean = inputs.mean(axis=0, dtype=np.float64)
    return Scaling(jnp.asarray(mean, jnp.float32), jnp.asarray(1 / deviation, jnp.float32))
