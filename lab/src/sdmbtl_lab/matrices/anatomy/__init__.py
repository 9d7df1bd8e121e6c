"""Description of a transfer matrix: f, g, h, variance between training runs, few policies."""

from sdmbtl_lab.matrices.anatomy.anatomy import Anatomy, DimensionSize, Effect, anatomy

__all__ = ["Anatomy", "DimensionSize", "Effect", "anatomy"]
