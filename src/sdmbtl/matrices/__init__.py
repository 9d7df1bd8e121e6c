"""Making transfer matrices by real training."""

from sdmbtl.matrices.factory import MatrixFactory
from sdmbtl.matrices.recipe import Recipe

__all__ = ["MatrixFactory", "Recipe"]
