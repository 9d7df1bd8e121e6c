"""A drone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily


class Drone(EnvironmentFamily):
    """A drone."""

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
        "courier": {
            "payload": Range(0.05, 1.0, 8, "log"),
            "arm": Range(0.15, 1.5, 8, "log"),
            "wind": Range(-8.0, 8.0, 8),
        },
    }
    positive = frozenset({"arm", "thrust"})
    return_range = (0.0, 200.0)
    training: Mapping[str, Mapping[str, Any]] = {"ppo": {"total_timesteps": 204_800}}

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make a drone with the context's values."""
        from sdmbtl.environments.functional.gymnasium_view import GymnasiumView

        return GymnasiumView(self.functional(), context, render_mode)
