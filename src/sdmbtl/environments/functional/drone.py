"""The drone as pure functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from gymnasium.spaces import Box

from sdmbtl.environments.drone import ARENA, FRAME_MASS, GOAL_WIDTH, Drone
from sdmbtl.environments.functional.base import FunctionalEnvironment

#: Seconds between two actions, and steps of the integration in between.
TIME_STEP = 0.04
SUBSTEPS = 4
#: Moment of inertia of the frame with arms of 1 m, in kg m²: it grows with the square of the arms.
UNIT_INERTIA = 0.4 * FRAME_MASS
#: Force of moving air in N per m/s; rate at which air stops a rotation, in 1/s.
DRAG = 0.4
SPIN_DRAG = 1.0
#: Time constant of the motors in s.
MOTOR_LAG = 0.08
#: Largest start in each direction: position, tilt, velocity, spin.
START = (2.0, 2.0, 0.2, 0.5, 0.5, 0.2)
#: Thrust of the motors at the start, as a share of their strength.
START_POWER = 0.5


class FunctionalDrone(FunctionalEnvironment):
    """The state is (x, z, tilt, velocities of the three, power of the left and right motors).

    The goal is the origin. A positive tilt leans to the right, where a positive wind blows.
    """

    defaults = Drone.defaults
    observation_size = 7
    actions = Box(-1.0, 1.0, (2,))
    max_steps = 200

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """Anywhere near the goal, almost level and slow."""
        del parameters
        body = jax.random.uniform(key, (6,), minval=-1.0, maxval=1.0) * jnp.array(START)
        return jnp.concatenate([body, jnp.full(2, START_POWER)])

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Semi-implicit Euler steps; the reward falls with the distance from the goal."""
        payload, arm, thrust, wind, gravity = parameters
        mass = FRAME_MASS + payload
        dt = TIME_STEP / SUBSTEPS
        command = (jnp.clip(action, -1.0, 1.0) + 1.0) / 2.0
        position, velocity, power = state[:3], state[3:6], state[6:]
        for _ in range(SUBSTEPS):
            power = power + (command - power) * -math.expm1(-dt / MOTOR_LAG)
            lift = thrust * (power[0] + power[1])
            torque = thrust * arm * (power[0] - power[1])
            x_rate = (lift * jnp.sin(position[2]) + DRAG * (wind - velocity[0])) / mass
            z_rate = (lift * jnp.cos(position[2]) - DRAG * velocity[1]) / mass - gravity
            spin_rate = torque / (UNIT_INERTIA * arm**2) - SPIN_DRAG * velocity[2]
            velocity = velocity + dt * jnp.stack([x_rate, z_rate, spin_rate])
            position = position + dt * velocity
        distance = jnp.hypot(position[0], position[1])
        reward = 1.0 / (1.0 + (distance / GOAL_WIDTH) ** 2)
        # So that a state that is not a number ends the episode, too.
        within = (jnp.abs(position[:2]) <= ARENA).all() & (jnp.abs(position[2]) <= math.pi / 2)
        return jnp.concatenate([position, velocity, power]), reward, ~within

    def observe(self, state: jax.Array, parameters: jax.Array) -> jax.Array:
        """Position from the goal, sine and cosine of the tilt, velocities, spin in quarters."""
        del parameters
        x, z, tilt, x_velocity, z_velocity, spin = state[:6]
        tilted = [jnp.sin(tilt), jnp.cos(tilt)]
        return jnp.stack([x, z, *tilted, x_velocity, z_velocity, spin / 4.0])
