"""Environments as pure functions, for batched training with JAX."""

from sdmbtl.environments.functional.adapters import from_brax, from_gymnax
from sdmbtl.environments.functional.base import FunctionalEnvironment

__all__ = ["FunctionalEnvironment", "from_brax", "from_gymnax"]
