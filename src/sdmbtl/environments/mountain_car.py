"""MountainCar with other engines, gravity and speed limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily, make_variant

#: Length of the track, from -1.2 to 0.6; nothing moves further than this in a step.
TRACK = 1.8


class MountainCar(EnvironmentFamily):
    """Gymnasium's MountainCar-v0.

    The observed speed is bounded by the length of the track instead of the usual 0.07, so that
    one observation space holds for all speed limits.

    In the space "wide" the strongest engines drive straight up, the weakest need several swings,
    and low speed limits leave the last part of the hill to the engine.
    """

    name = "MountainCar"
    twin = "sdmbtl.environments.functional.mountain_car:FunctionalMountainCar"
    defaults: Mapping[str, float] = {"force": 0.001, "gravity": 0.0025, "max_speed": 0.07}
    ranges: Mapping[str, Mapping[str, Range]] = {
        "wide": {
            "force": Range(0.0005, 0.003, 8, "log"),
            "gravity": Range(0.0015, 0.005, 8, "log"),
            "max_speed": Range(0.035, 0.1, 8, "log"),
        },
    }
    positive = frozenset({"max_speed"})
    highest: ClassVar[Mapping[str, float]] = {"max_speed": TRACK}
    return_range = (-200.0, 0.0)
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {
            "total_timesteps": 500_000,
            "norm_obs": True,
            "gae_lambda": 0.98,
            "update_epochs": 4,
            "num_envs": 16,
            "num_steps": 128,
            "eval_every": 10,
        },
        "sb3": {
            "total_timesteps": 1_000_000,
            "num_envs": 16,
            "num_steps": 16,
            "update_epochs": 4,
            "gae_lambda": 0.98,
        },
    }

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make MountainCar-v0 with the context's values."""
        env = make_variant("MountainCar-v0", render_mode)
        inner: Any = env.unwrapped
        for feature, value in context.items():
            setattr(inner, feature, value)
        inner.low[1], inner.high[1] = -TRACK, TRACK
        inner.observation_space = spaces.Box(inner.low, inner.high, dtype=np.float32)
        return env
