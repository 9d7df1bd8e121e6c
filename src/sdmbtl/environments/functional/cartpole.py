"""CartPole as pure functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from sdmbtl.environments.cartpole import CartPole, Physics
from sdmbtl.environments.functional.base import FunctionalEnvironment

TIME_STEP = 0.02
POSITION_LIMIT = 2.4
ANGLE_LIMIT = 12 * 2 * math.pi / 360
START = 0.05

#: CARL leaves these unchanged when it changes masses and lengths: m_cart + m_pole, m_pole * length.
CARL_TOTAL_MASS = 1.1
CARL_POLE_MOMENT = 0.05


class FunctionalCartPole(FunctionalEnvironment):
    """The state is (position, velocity, angle, angular velocity).

    Args:
        physics: "physical", or "carl" for the equations with total mass and pole moment fixed.
    """

    defaults = CartPole.defaults
    observation_size = 4
    actions = Discrete(2)
    max_steps = 500

    def __init__(self, physics: Physics = "physical") -> None:
        self.physics = physics

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """All four near zero."""
        del parameters
        return jax.random.uniform(key, (4,), minval=-START, maxval=START)

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Euler's method, one reward for each step."""
        length, cart, pole, force, gravity = parameters
        _, velocity, angle, spin = state
        total, moment = cart + pole, pole * length
        if self.physics == "carl":
            total, moment = jnp.float32(CARL_TOTAL_MASS), jnp.float32(CARL_POLE_MOMENT)
        push = jnp.where(action == 1, force, -force)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        drive = (push + moment * spin**2 * sin) / total
        spin_rate = (gravity * sin - cos * drive) / (length * (4 / 3 - pole * cos**2 / total))
        acceleration = drive - moment * spin_rate * cos / total
        new = state + TIME_STEP * jnp.stack([velocity, acceleration, spin, spin_rate])
        # So that a state that is not a number ends the episode, too.
        within = (jnp.abs(new[0]) <= POSITION_LIMIT) & (jnp.abs(new[2]) <= ANGLE_LIMIT)
        return new, jnp.float32(1.0), ~within
