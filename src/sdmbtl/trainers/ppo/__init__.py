"""Proximal policy optimisation with JAX, in two forms with the same settings and policies.

Environments that are pure functions are compiled too, and many policies are trained at once
(`BatchedPPOTrainer`). All others are stepped by Python, and only the learning is compiled
(`HostPPOTrainer`).
"""

from __future__ import annotations

from typing import Any

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.trainers.base import Trainer
from sdmbtl.trainers.ppo.batched_trainer import BatchedPPOTrainer
from sdmbtl.trainers.ppo.host_trainer import HostPPOTrainer

__all__ = ["BatchedPPOTrainer", "HostPPOTrainer", "make_ppo_trainer"]


def make_ppo_trainer(family: EnvironmentFamily, space: ContextSpace, **settings: Any) -> Trainer:
    """The form of the trainer that fits a family."""
    if family.functional() is not None:
        return BatchedPPOTrainer(family, space, **settings)
    return HostPPOTrainer(family, space, **settings)
