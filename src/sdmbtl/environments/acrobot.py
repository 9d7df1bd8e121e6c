"""Acrobot with other links, torques and gravity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
        self.AVAIL_TORQUE = [-torque, 0.0, torque]

    def _terminal(self) -> bool:
        """Return True if the tip is higher than half the reach above the pivot."""
        state: Any = self.state
        theta1, theta2 = state[0], state[1]
        height = -self.LINK_LENGTH_1 * math.cos(theta1)
        height -= self.LINK_LENGTH_2 * math.cos(theta1 + theta2)
        return bool(height > (self.LINK_LENGTH_1 + self.LINK_LENGTH_2) / 2)

    def _dsdt(self, s_augmented: NDArray[Any]) -> tuple[float, float, float, float, float]:
        """Return the time derivative of (theta1, theta2, speed1, speed2, torque)."""
        *state, torque = (float(value) for value in s_augmented)
        links = (self.LINK_LENGTH_1, self.LINK_LENGTH_2, self.LINK_MASS_1, self.LINK_MASS_2)
        return (*move_links(state, torque, (*links, self.gravity), math), 0.0)


def move_links(state: Any, torque: Any, links: Sequence[Any], xp: Any) -> tuple[Any, Any, Any, Any]:
    """Return the time derivative of two angles and their velocities, with `xp`'s cos and sin.

    The equations of motion of two rods on a pivot, M(q) q̈ + c(q, q̇) + w(q) = (0, torque), for
    `links` of two lengths, two masses and gravity.
    """
    length_1, length_2, mass_1, mass_2, gravity = links
    angle_1, angle_2, spin_1, spin_2 = state
    centre_1, centre_2 = length_1 / 2, length_2 / 2
    inertia_1, inertia_2 = mass_1 * length_1**2, mass_2 * length_2**2
    cos_2, sin_2 = xp.cos(angle_2), xp.sin(angle_2)
    coupling = mass_2 * length_1 * centre_2
    d1 = (
        mass_1 * centre_1**2
        + mass_2 * (length_1**2 + centre_2**2)
        + 2 * coupling * cos_2
        + inertia_1
        + inertia_2
    )
    d2 = mass_2 * centre_2**2 + coupling * cos_2 + inertia_2
    weight_2 = mass_2 * centre_2 * gravity * xp.sin(angle_1 + angle_2)
    weight_1 = (mass_1 * centre_1 + mass_2 * length_1) * gravity * xp.sin(angle_1)
    phi_1 = -coupling * sin_2 * (spin_2**2 + 2 * spin_2 * spin_1) + weight_1 + weight_2
    change_2 = (torque + d2 / d1 * phi_1 - coupling * spin_1**2 * sin_2 - weight_2) / (
        mass_2 * centre_2**2 + inertia_2 - d2**2 / d1
    )
    change_1 = -(d2 * change_2 + phi_1) / d1
    return spin_1, spin_2, change_1, change_2
