"""Acrobot with other links, torques and gravity."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, sin
from typing import Any

import gymnasium
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from numpy.typing import NDArray

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily, make_variant


class Acrobot(EnvironmentFamily):
    """Gymnasium's Acrobot-v1 for links of any length and mass.

    Gymnasium has one moment of inertia for both links and fixes gravity and the height of the
    goal. Here the centre of mass of a link is at half its length, its moment of inertia is mass
    times length squared, and the goal is half the reach of both links above the pivot; with the
    usual values all this is Gymnasium's.

    In the space "wide" the motor's torque, against the weight of the links, ranges from a few
    swings to dozens, and their lengths set how long a swing takes.
    """

    name = "Acrobot"
    twin = "sdmbtl.environments.functional.acrobot:FunctionalAcrobot"
    defaults: Mapping[str, float] = {
        "link_length_1": 1.0,
        "link_length_2": 1.0,
        "link_mass_1": 1.0,
        "link_mass_2": 1.0,
        "torque": 1.0,
        "gravity": 9.8,
    }
    ranges: Mapping[str, Mapping[str, Range]] = {
        "wide": {
            "link_length_1": Range(0.5, 2.0, 8, "log"),
            "link_length_2": Range(0.5, 2.0, 8, "log"),
            "torque": Range(0.5, 4.0, 8, "log"),
        },
    }
    positive = frozenset({"link_length_1", "link_length_2", "link_mass_1", "link_mass_2"})
    return_range = (-500.0, 0.0)
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {
            "total_timesteps": 100_000,
            "norm_obs": True,
            "gae_lambda": 0.94,
            "update_epochs": 4,
        },
        "sb3": {
            "total_timesteps": 500_000,
            "num_envs": 16,
            "norm_obs": True,
            "norm_reward": True,
            "num_steps": 256,
            "update_epochs": 4,
            "gae_lambda": 0.94,
        },
    }

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make Acrobot-v1 with the context's values."""
        return make_variant("Acrobot-v1", render_mode, PhysicalAcrobot, context=context)


class PhysicalAcrobot(AcrobotEnv):
    """Gymnasium's environment with the physics of the context's links."""

    def __init__(self, context: Mapping[str, float], render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        self.gravity, torque = context["gravity"], context["torque"]
        # Under Gymnasium's names, for its step and its drawing.
        self.LINK_LENGTH_1, self.LINK_LENGTH_2 = context["link_length_1"], context["link_length_2"]
        self.LINK_MASS_1, self.LINK_MASS_2 = context["link_mass_1"], context["link_mass_2"]
        self.LINK_COM_POS_1, self.LINK_COM_POS_2 = self.LINK_LENGTH_1 / 2, self.LINK_LENGTH_2 / 2
        self.AVAIL_TORQUE = [-torque, 0.0, torque]

    def _terminal(self) -> bool:
        """Return True if the tip is higher than half the reach above the pivot."""
        state: Any = self.state
        theta1, theta2 = state[0], state[1]
        height = -self.LINK_LENGTH_1 * cos(theta1) - self.LINK_LENGTH_2 * cos(theta1 + theta2)
        return bool(height > (self.LINK_LENGTH_1 + self.LINK_LENGTH_2) / 2)

    def _dsdt(self, s_augmented: NDArray[Any]) -> tuple[float, float, float, float, float]:
        """Return the time derivative of (theta1, theta2, speed1, speed2, torque).

        The equations of motion of two links on a pivot, M(q) q̈ + c(q, q̇) + w(q) = (0, torque).
        """
        theta1, theta2, speed1, speed2, torque = (float(v) for v in s_augmented)
        m1, m2 = self.LINK_MASS_1, self.LINK_MASS_2
        l1, l2 = self.LINK_LENGTH_1, self.LINK_LENGTH_2
        c1, c2 = self.LINK_COM_POS_1, self.LINK_COM_POS_2
        inertia1, inertia2 = m1 * l1**2, m2 * l2**2
        coupling = m2 * l1 * c2
        # Mass matrix.
        own2 = m2 * c2**2 + inertia2
        cross = own2 + coupling * cos(theta2)
        own1 = m1 * c1**2 + inertia1 + m2 * l1**2 + own2 + 2 * coupling * cos(theta2)
        # Centrifugal and Coriolis forces, and the weight.
        weight2 = m2 * c2 * self.gravity * sin(theta1 + theta2)
        weight1 = (m1 * c1 + m2 * l1) * self.gravity * sin(theta1) + weight2
        force1 = weight1 - coupling * (speed2 + 2 * speed1) * speed2 * sin(theta2)
        force2 = weight2 + coupling * speed1**2 * sin(theta2)
        # Solve for the accelerations, eliminating the first.
        acceleration2 = (torque - force2 + cross / own1 * force1) / (own2 - cross**2 / own1)
        acceleration1 = -(cross * acceleration2 + force1) / own1
        return speed1, speed2, acceleration1, acceleration2, 0.0
