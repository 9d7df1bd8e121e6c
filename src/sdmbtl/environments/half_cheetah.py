"""HalfCheetah with other gravity, masses, friction and motors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sdmbtl.environments.mujoco_family import MujocoFamily


class HalfCheetah(MujocoFamily):
    """Gymnasium's HalfCheetah-v5: two legs that run forward, for 1000 steps whatever happens.

    Standing still is worth 0, a step forward its speed.
    """

    name = "HalfCheetah"
    registered = "HalfCheetah-v5"
    # As RL Baselines3 Zoo has them for PPO.
    training: Mapping[str, Mapping[str, Any]] = {
        "sb3": {
            "total_timesteps": 1_000_000,
            "num_envs": 1,
            "norm_obs": True,
            "norm_reward": True,
            "eval_every": 50_000,
            "num_steps": 512,
            "minibatch_size": 64,
            "update_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.92,
            "learning_rate": 2.0633e-05,
            "clip_coef": 0.1,
            "ent_coef": 0.000401762,
            "vf_coef": 0.58096,
            "max_grad_norm": 0.8,
            "policy_kwargs": {
                "log_std_init": -2,
                "ortho_init": False,
                "activation_fn": "torch.nn.ReLU",
                "net_arch": {"pi": [256, 256], "vf": [256, 256]},
            },
        },
    }
