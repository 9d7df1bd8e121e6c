"""Pure-function twins of the environment families, for batched training with JAX."""

from sdmbtl.environments.functional.base import FunctionalEnvironment

__all__ = ["FunctionalEnvironment"]
