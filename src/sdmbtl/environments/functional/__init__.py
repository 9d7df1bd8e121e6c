"""Pure-function twins of the environment families, for batched training with JAX."""

from sdmbtl.environments.functional.base import (
    Actions,
    Continuous,
    Discrete,
    FunctionalEnvironment,
)

__all__ = ["Actions", "Continuous", "Discrete", "FunctionalEnvironment"]
