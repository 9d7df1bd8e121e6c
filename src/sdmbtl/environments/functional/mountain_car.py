"""MountainCar as pure functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from sdmbtl.environments.functional.base import FunctionalEnvironment
from sdmbtl.environments.mountain_car import MountainCar

LEFT_END, RIGHT_END, GOAL = -1.2, 0.6, 0.5


class FunctionalMountainCar(FunctionalEnvironment):
    """The state is (position, velocity)."""

    defaults = MountainCar.defaults
    observation_size = 2
    actions = Discrete(3)
    max_steps = 200

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """At rest near the bottom of the valley."""
        del parameters
        return jnp.stack([jax.random.uniform(key, minval=-0.6, maxval=-0.4), jnp.float32(0.0)])

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """One point off for each step until the goal."""
        force, gravity, max_speed = parameters
        position, velocity = state
        velocity = velocity + (action - 1) * force - jnp.cos(3 * position) * gravity
        velocity = jnp.clip(velocity, -max_speed, max_speed)
        position = jnp.clip(position + velocity, LEFT_END, RIGHT_END)
        velocity = jnp.where((position <= LEFT_END) & (velocity < 0), 0.0, velocity)
        ended = (position >= GOAL) & (velocity >= 0)
        return jnp.stack([position, velocity]), jnp.float32(-1.0), ended
