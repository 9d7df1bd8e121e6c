"""Hopper with other gravity, masses, friction and motors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sdmbtl.environments.mujoco_family import MujocoFamily


class Hopper(MujocoFamily):
    """Gymnasium's Hopper-v5: a leg that hops forward, and is done when it falls.

    Standing still is worth 1 a step; a return above 1000 needs hopping.
    """

    name = "Hopper"
    registered = "Hopper-v5"
    # As RL Baselines3 Zoo has them for PPO.
    training: Mapping[str, Mapping[str, Any]] = {
        "sb3": {
            "total_timesteps": 1_000_000,
            "num_envs": 1,
            "norm_obs": True,
            "norm_reward": True,
            "eval_every": 50_000,
            "num_steps": 512,
            "minibatch_size": 32,
            "update_epochs": 5,
            "gamma": 0.999,
            "gae_lambda": 0.99,
            "learning_rate": 9.80828e-05,
            "clip_coef": 0.2,
            "ent_coef": 0.00229519,
            "vf_coef": 0.835671,
            "max_grad_norm": 0.7,
            "policy_kwargs": {
                "log_std_init": -2,
                "ortho_init": False,
                "activation_fn": "torch.nn.ReLU",
                "net_arch": {"pi": [256, 256], "vf": [256, 256]},
            },
        },
    }
