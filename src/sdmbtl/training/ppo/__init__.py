"""Proximal policy optimisation with JAX, in two forms with the same settings and policies.

Environments that are pure functions are compiled too, and many policies are trained at once
(`BatchedPPOTrainer`). All others are stepped by Python, and only the learning is compiled
(`HostPPOTrainer`).
"""

from __future__ import annotations

from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.training.base import Trainer
from sdmbtl.training.ppo.batched_trainer import BatchedPPOTrainer
from sdmbtl.training.ppo.host_trainer import HostPPOTrainer

__all__ = ["BatchedPPOTrainer", "HostPPOTrainer", "find_ppo_form"]


def find_ppo_form(family: EnvironmentFamily | None = None) -> type[Trainer]:
    """The form of the trainer that fits a family; the one that fits all if none is given."""
    is_function = family is not None and family.functional() is not None
    return BatchedPPOTrainer if is_function else HostPPOTrainer
