"""Distillation: one network from a portfolio, told its context or not. Needs JAX."""

from sdmbtl.errors import MissingPackageError

try:
    from sdmbtl.portfolio.distillation.distiller import Distillation, Distiller
    from sdmbtl.portfolio.distillation.files import distill_to_file
except ModuleNotFoundError as _error:
    if _error.name not in ("jax", "optax"):
        raise
    raise MissingPackageError(
        f"Distillation needs {_error.name}, which is not installed. Install it with: "
        "pip install 'sdmbtl[jax]'",
        name=_error.name,
    ) from None

__all__ = ["Distillation", "Distiller", "distill_to_file"]
