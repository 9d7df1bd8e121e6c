"""Pendulum as pure functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from gymnasium.spaces import Box

from sdmbtl.environments.functional.base import FunctionalEnvironment
from sdmbtl.environments.pendulum import FULL_COMMAND, Pendulum

TIME_STEP = 0.05
MAX_SPEED = 8.0


class FunctionalPendulum(FunctionalEnvironment):
    """The state is (angle from upright, angular velocity)."""

    defaults = Pendulum.defaults
    observation_size = 3
    actions = Box(-FULL_COMMAND, FULL_COMMAND, (1,))
    max_steps = 200

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """Any angle, a slow spin."""
        del parameters
        return jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0) * jnp.array([math.pi, 1.0])

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """The cost of the state before the step; an episode never ends early."""
        gravity, mass, length, max_torque = parameters
        angle, spin = state
        command = jnp.clip(action[0], -FULL_COMMAND, FULL_COMMAND)
        torque = command * (max_torque / FULL_COMMAND)
        wrapped = (angle + math.pi) % (2 * math.pi) - math.pi
        cost = wrapped**2 + 0.1 * spin**2 + 0.001 * torque**2
        rate = 3 * gravity / (2 * length) * jnp.sin(angle) + 3 / (mass * length**2) * torque
        new_spin = jnp.clip(spin + rate * TIME_STEP, -MAX_SPEED, MAX_SPEED)
        return jnp.stack([angle + new_spin * TIME_STEP, new_spin]), -cost, jnp.bool_(False)

    def observe(self, state: jax.Array, parameters: jax.Array) -> jax.Array:
        """Cosine and sine of the angle, angular velocity."""
        del parameters
        return jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1]])
