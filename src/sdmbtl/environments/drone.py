"""A drone with other payloads, arms, motors, winds and gravity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily

#: Mass of the drone without its payload, in kg.
FRAME_MASS = 1.0
#: An episode ends this far from the goal, to any side, in m; also if the drone tips over.
ARENA = 3.0
#: Distance from the goal at which the reward of a step is one half, in m.
GOAL_WIDTH = 0.3


class Drone(EnvironmentFamily):
    """A quadrotor, seen from the side, that must fly to a goal and hover there.

    An action is a command from -1 to 1 for the left and for the right motors: from no thrust to
    `thrust` newtons each, which they reach with a lag. Each step is 0.04 s and is worth
    1 / (1 + (distance / 0.3 m)²); an episode has 200 of them, and ends early if the drone tips over
    or is more than 3 m from the goal in either direction. The observation has the position, the
    tilt and their velocities; the context is not part of it.

    Features: `payload` in kg, on a frame of 1 kg; `arm`, the distance of the motors from the
    centre in m: the frame's inertia grows with its square, so short arms turn fast; `thrust` in N;
    `wind` in m/s, to the right; `gravity` in m/s².

    In the space "delivery" the motors lift 1.4 to 2.9 times the weight, a command turns the drone
    up to 17 times as fast, and storms from either side need opposite tilts. In "wide" all five
    features vary, from Mars to Earth.
    """

    name = "Drone"
    twin = "sdmbtl.environments.functional.drone:FunctionalDrone"
    defaults: Mapping[str, float] = {
        "payload": 0.3,
        "arm": 0.4,
        "thrust": 15.0,
        "wind": 0.0,
        "gravity": 9.81,
    }
    ranges: Mapping[str, Mapping[str, Range]] = {
        "delivery": {
            "payload": Range(0.05, 1.2, 8, "log"),
            "arm": Range(0.12, 2.0, 8, "log"),
            "wind": Range(-10.0, 10.0, 8),
        },
        "wide": {
            "payload": Range(0.05, 0.6, 4, "log"),
            "arm": Range(0.12, 2.0, 4, "log"),
            "thrust": Range(15.0, 40.0, 4, "log"),
            "wind": Range(-10.0, 10.0, 4),
            "gravity": Range(3.71, 9.81, 2),
        },
    }
    positive = frozenset({"arm", "thrust"})
    return_range = (0.0, 200.0)

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make a drone with the context's values."""
        from sdmbtl.environments.drone_view import DroneView

        return DroneView(context, render_mode)
