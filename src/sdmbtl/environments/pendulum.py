"""Pendulum with other gravity, masses, lengths and motors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily, make_variant

#: The command at which the motor gives all its torque: Gymnasium's bounds of the action.
FULL_COMMAND = 2.0


class Pendulum(EnvironmentFamily):
    """Gymnasium's Pendulum-v1.

    An action is a command from -2 to 2 in every context, and `max_torque / 2` times the command
    is the torque, which the cost counts: in the usual context that is Gymnasium's action, and a
    policy's actions mean the same share of the motor everywhere.

    The space "wide" goes from motors that hold the pendulum anywhere to those that must swing it
    up in several goes, and the speed that a full command adds in one step varies 3750-fold.

    The range of returns ends at hanging still, which costs π² a step and about 1974 an episode.
    Whirling at full speed would cost up to 3260; such returns are below the range.
    """

    name = "Pendulum"
    twin = "sdmbtl.environments.functional.pendulum:FunctionalPendulum"
    defaults: Mapping[str, float] = {
        "gravity": 10.0,
        "mass": 1.0,
        "length": 1.0,
        "max_torque": FULL_COMMAND,
    }
    ranges: Mapping[str, Mapping[str, Range]] = {
        "wide": {
            "mass": Range(0.2, 3.0, 8, "log"),
            "length": Range(0.4, 2.0, 8, "log"),
            "max_torque": Range(1.0, 10.0, 8, "log"),
        },
    }
    positive = frozenset({"mass", "length", "max_torque"})
    return_range = (-2000.0, 0.0)
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {
            "total_timesteps": 200_000,
            "gamma": 0.9,
            "learning_rate": 0.001,
            "reward_scale": 0.1,
        },
        "sb3": {
            "total_timesteps": 200_000,
            "num_envs": 4,
            "norm_obs": False,
            "norm_reward": False,
            "num_steps": 1024,
            "gamma": 0.9,
            "learning_rate": 0.001,
            "use_sde": True,
            "sde_sample_freq": 4,
        },
    }

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make Pendulum-v1 with the context's values."""
        env = make_variant("Pendulum-v1", render_mode, g=context["gravity"])
        inner: Any = env.unwrapped
        inner.m, inner.l = context["mass"], context["length"]
        inner.max_torque = context["max_torque"]
        return _Command(env, context["max_torque"])


class _Command(gymnasium.ActionWrapper[Any, NDArray[np.float32], Any]):
    """Turns commands into torques."""

    def __init__(self, env: gymnasium.Env[Any, Any], max_torque: float) -> None:
        super().__init__(env)
        self._torque = max_torque / FULL_COMMAND

    def action(self, action: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the (1,) torque of a (1,) command."""
        return action * self._torque
