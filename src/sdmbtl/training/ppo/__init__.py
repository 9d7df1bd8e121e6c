"""Proximal policy optimisation with JAX, in two forms with the same settings and policies.

Environments that are written in JAX are compiled too, and many policies are trained at once
(`jax_env.JaxEnvPPO`). All others are stepped by Python, and only the learning is compiled
(`gymnasium_env.GymnasiumPPO`).
"""

from __future__ import annotations

from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.training.base import Trainer


def find_ppo_form(family: EnvironmentFamily | None = None) -> type[Trainer]:
    """Return the form of the trainer that fits a family; the one that fits all if none is given."""
    if family is not None and family.functional() is not None:
        from sdmbtl.training.ppo.jax_env import JaxEnvPPO

        return JaxEnvPPO
    from sdmbtl.training.ppo.gymnasium_env import GymnasiumPPO

    return GymnasiumPPO
