"""Acrobot as pure functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from sdmbtl.environments.acrobot import Acrobot
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
        torque = (action - 1) * parameters[4]
        k1 = _derivative(state, torque, parameters)
        k2 = _derivative(state + TIME_STEP / 2 * k1, torque, parameters)
        k3 = _derivative(state + TIME_STEP / 2 * k2, torque, parameters)
        k4 = _derivative(state + TIME_STEP * k3, torque, parameters)
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
        return jnp.stack(
            [
                jnp.cos(angle_1),
                jnp.sin(angle_1),
                jnp.cos(angle_2),
                jnp.sin(angle_2),
                spin_1,
                spin_2,
            ]
        )


def _wrap_angle(angle: jax.Array) -> jax.Array:
    return (angle + math.pi) % (2 * math.pi) - math.pi


def _derivative(state: jax.Array, torque: jax.Array, parameters: jax.Array) -> jax.Array:
    """Time derivative of the state: two rods, the torque acting on the joint between them."""
    length_1, length_2, mass_1, mass_2, _, gravity = parameters
    angle_1, angle_2, spin_1, spin_2 = state
    centre_1, centre_2 = length_1 / 2, length_2 / 2
    inertia_1, inertia_2 = mass_1 * length_1**2, mass_2 * length_2**2
    cos_2, sin_2 = jnp.cos(angle_2), jnp.sin(angle_2)
    coupling = mass_2 * length_1 * centre_2
    d1 = (
        mass_1 * centre_1**2
        + mass_2 * (length_1**2 + centre_2**2)
        + 2 * coupling * cos_2
        + inertia_1
        + inertia_2
    )
    d2 = mass_2 * centre_2**2 + coupling * cos_2 + inertia_2
    weight_2 = mass_2 * centre_2 * gravity * jnp.sin(angle_1 + angle_2)
    weight_1 = (mass_1 * centre_1 + mass_2 * length_1) * gravity * jnp.sin(angle_1)
    phi_1 = -coupling * sin_2 * (spin_2**2 + 2 * spin_2 * spin_1) + weight_1 + weight_2
    change_2 = (torque + d2 / d1 * phi_1 - coupling * spin_1**2 * sin_2 - weight_2) / (
        mass_2 * centre_2**2 + inertia_2 - d2**2 / d1
    )
    change_1 = -(d2 * change_2 + phi_1) / d1
    return jnp.stack([spin_1, spin_2, change_1, change_2])
