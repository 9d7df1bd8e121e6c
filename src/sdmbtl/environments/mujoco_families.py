"""Robots of MuJoCo with other gravity, masses, friction and motors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.registered import (
    find_registered,
    make_registered,
    update_constants_of_mujoco,
)


class MujocoFamily(EnvironmentFamily):
    """A robot of Gymnasium's that MuJoCo simulates.

    `gravity` is in m/s². The others are factors on what the model has: `mass` on masses and
    inertias of all bodies, `friction` on the sliding friction of all surfaces, `gear` on the
    strength of all motors; the reward counts commands, not torques.

    The space "world" has three dimensions; "robot" has the strength of the motors too.

    There is no range of returns that fits all contexts: how fast a robot can run depends on them.

    Attributes:
        registered: Name of the environment.
    """

    registered: ClassVar[str]
    defaults: Mapping[str, float] = {"gravity": 9.81, "mass": 1.0, "friction": 1.0, "gear": 1.0}
    ranges: Mapping[str, Mapping[str, Range]] = {
        "world": {
            "gravity": Range(5.0, 15.0, 5),
            "mass": Range(0.5, 2.0, 5, "log"),
            "friction": Range(0.25, 2.0, 5, "log"),
        },
        "robot": {
            "gravity": Range(5.0, 15.0, 4),
            "mass": Range(0.5, 2.0, 4, "log"),
            "friction": Range(0.25, 2.0, 4, "log"),
            "gear": Range(0.5, 2.0, 4, "log"),
        },
    }
    positive = frozenset({"mass", "friction", "gear"})

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make the registered environment with the context's values."""
        env = make_registered(find_registered(self.registered), render_mode, {})
        model: Any = env.unwrapped.model  # type: ignore[attr-defined]
        model.opt.gravity[2] = -context["gravity"]
        model.body_mass *= context["mass"]
        model.body_inertia *= context["mass"]
        model.geom_friction[:, 0] *= context["friction"]  # the others are of spinning and rolling
        model.actuator_gear *= context["gear"]
        update_constants_of_mujoco(env)
        return env


class Hopper(MujocoFamily):
    """Gymnasium's Hopper-v5: a leg that hops forward, and is done when it falls.

    Standing still is worth 1 a step; a return above 1000 needs hopping.
    """

    name = "Hopper"
    registered = "Hopper-v5"


class HalfCheetah(MujocoFamily):
    """Gymnasium's HalfCheetah-v5: two legs that run forward, for 1000 steps whatever happens.

    Standing still is worth 0, a step forward its speed.
    """

    name = "HalfCheetah"
    registered = "HalfCheetah-v5"


class Ant(MujocoFamily):
    """Gymnasium's Ant-v5: four legs that run forward, until the torso is too low or too high.

    Standing still is worth 1 a step; it sees the forces of contacts.
    """

    name = "Ant"
    registered = "Ant-v5"
