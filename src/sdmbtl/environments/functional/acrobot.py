"""Acrobot as pure functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from sdmbtl.environments.acrobot import Acrobot, move_links
from sdmbtl.environments.functional.base import FunctionalEnvironment

TIME_STEP = 0.2
MAX_SPIN_1, MAX_SPIN_2 = 4 * math.pi, 9 * math.pi
START = 0.1


class FunctionalAcrobot(FunctionalEnvironment):
    """The state is (angle 1, angle 2, angular velocity 1, angular velocity 2)."""

    defaults = Acrobot.defaults
    observation_size = 6
    actions = Discrete(3)
    max_steps = 500

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """Hanging, nearly at rest."""
        del parameters
        return jax.random.uniform(key, (4,), minval=-START, maxval=START)

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Runge-Kutta of order four; one point off for each step until the tip is high enough."""
        *rods, strength, gravity = parameters
        torque = (action - 1) * strength

        def derivative(state: jax.Array) -> jax.Array:
            return jnp.stack(move_links(state, torque, (*rods, gravity), jnp))

        k1 = derivative(state)
        k2 = derivative(state + TIME_STEP / 2 * k1)
        k3 = derivative(state + TIME_STEP / 2 * k2)
        k4 = derivative(state + TIME_STEP * k3)
        angle_1, angle_2, spin_1, spin_2 = state + TIME_STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        angle_1, angle_2 = _wrap_angle(angle_1), _wrap_angle(angle_2)
        spin_1 = jnp.clip(spin_1, -MAX_SPIN_1, MAX_SPIN_1)
        spin_2 = jnp.clip(spin_2, -MAX_SPIN_2, MAX_SPIN_2)
        length_1, length_2 = parameters[0], parameters[1]
        height = -length_1 * jnp.cos(angle_1) - length_2 * jnp.cos(angle_1 + angle_2)
        ended = height > (length_1 + length_2) / 2
        return jnp.stack([angle_1, angle_2, spin_1, spin_2]), jnp.where(ended, 0.0, -1.0), ended

    def observe(self, state: jax.Array, parameters: jax.Array) -> jax.Array:
        """Cosines and sines of the angles, angular velocities."""
        del parameters
        angle_1, angle_2, spin_1, spin_2 = state
        first, second = (jnp.cos(angle_1), jnp.sin(angle_1)), (jnp.cos(angle_2), jnp.sin(angle_2))
        return jnp.stack([*first, *second, spin_1, spin_2])


def _wrap_angle(angle: jax.Array) -> jax.Array:
    return (angle + math.pi) % (2 * math.pi) - math.pi
