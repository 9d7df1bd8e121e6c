"""Distillation: one network from a portfolio, told its context or not. Needs JAX."""

from sdmbtl.errors import MissingPackageError

try:
    from sdmbtl.portfolio.distillation.distiller import Distillation, Distiller
    from sdmbtl.portfolio.distillation.files import distill_to_file
except ModuleNotFoundError as _error:
    if _error.name not in ("jax", "optax"):
        raise
    raise MissingPackageError.of("Distillation", _error.name, "jax") from None

__all__ = ["Distillation", "Distiller", "distill_to_file"]
