"""Trained policies: weights and JSON in one file, never code."""

from sdmbtl.policies.base import (
    Policy,
    load_notes,
    load_policy,
    policy_bytes,
    policy_from_bytes,
    save_policy,
)
from sdmbtl.policies.mlp import MlpPolicy

__all__ = [
    "MlpPolicy",
    "Policy",
    "load_notes",
    "load_policy",
    "policy_bytes",
    "policy_from_bytes",
    "save_policy",
]
