"""Settings with which usual Gymnasium environments are learned, by the name of the environment.

What is left out is as for any environment; see `host_settings.py`. `num_steps` is always left out:
it follows from the number of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LANDER = {
    "num_envs": 16,
    "update_epochs": 4,
    "gamma": 0.999,
    "gae_lambda": 0.98,
    "ent_coef": 0.01,
}

RECOMMENDED: Mapping[str, Mapping[str, Any]] = {
    "Acrobot-v1": {"update_epochs": 4, "gae_lambda": 0.94},
    "MountainCar-v0": {"num_envs": 16, "update_epochs": 4, "gae_lambda": 0.98},
    "Pendulum-v1": {"gamma": 0.9, "learning_rate": 1e-3},
    "LunarLander-v3": _LANDER,
    "BipedalWalker-v3": {"num_envs": 16, "gamma": 0.999},
    "Hopper-v5": {"gamma": 0.999, "gae_lambda": 0.99},
}
