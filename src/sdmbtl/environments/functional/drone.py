"""A drone in a vertical plane as pure functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box

from sdmbtl.environments.drone import Drone
from sdmbtl.environments.functional.base import FunctionalEnvironment
import os
E = lambda n, d: float(os.environ.get(n, d))

TIME_STEP = E("DT", 0.04)
SUBSTEPS = 4
FRAME_MASS = 1.0
#: The frame is a rod of this share of its mass with the rest at the centre: inertia = share * mass * arm².
INERTIA = E("INERTIA", 0.4)
DRAG = E("DRAG", 0.4)
SPIN_DRAG = 0.02
MOTOR_LAG = E("LAG", 0.08)
ARENA = 3.0
START = 2.0
SCALE = E("SCALE", 0.3)


class FunctionalDrone(FunctionalEnvironment):
    defaults = Drone.defaults
    observation_size = 7
    actions = Box(-1.0, 1.0, (2,))
    max_steps = 200

    def reset(self, key, parameters):
        del parameters
        start = jax.random.uniform(key, (6,), minval=-1.0, maxval=1.0)
        start = start * jnp.array([START, START, 0.2, 0.5, 0.5, 0.2])
        x, z, tilt, vx, vz, spin = start
        return jnp.concatenate([start, jnp.full(2, 0.5)])

    def step(self, state, action, parameters):
        payload, arm, thrust, wind, gravity = parameters
        mass = FRAME_MASS + payload
        inertia = INERTIA * FRAME_MASS * arm**2
        command = (jnp.clip(action, -1.0, 1.0) + 1.0) / 2.0
        dt = TIME_STEP / SUBSTEPS
        x, z, tilt, vx, vz, spin, left, right = state
        for _ in range(SUBSTEPS):
            left = left + (command[0] - left) * (1 - math.exp(-dt / MOTOR_LAG))
            right = right + (command[1] - right) * (1 - math.exp(-dt / MOTOR_LAG))
            lift = thrust * (left + right)
            vx = vx + dt * (lift * jnp.sin(tilt) - DRAG * (vx - wind)) / mass
            vz = vz + dt * ((lift * jnp.cos(tilt) - DRAG * vz) / mass - gravity)
            spin = spin + dt * (thrust * arm * (left - right)) / inertia - dt * 1.0 * spin
            x, z, tilt = x + dt * vx, z + dt * vz, tilt + dt * spin
        new = jnp.stack([x, z, tilt, vx, vz, spin, left, right])
        d2 = x**2 + z**2
        reward = 1 / (1 + d2 / SCALE**2) if SCALE > 0 else jnp.exp(-jnp.sqrt(d2) / -SCALE)
        within = (jnp.abs(x) <= ARENA) & (jnp.abs(z) <= ARENA) & (jnp.abs(tilt) <= math.pi / 2)
        return new, reward, ~within

    def observe(self, state, parameters):
        x, z, tilt, vx, vz, spin, left, right = state
        return jnp.stack([x, z, jnp.sin(tilt), jnp.cos(tilt), vx, vz, spin / 4])
