"""What a transfer matrix looks like: f, g, h, variance between runs, saturation."""

from sdmbtl_lab.matrices.anatomy.anatomy import Anatomy, anatomy, spread_targets
from sdmbtl_lab.matrices.anatomy.effects import Effect
from sdmbtl_lab.matrices.anatomy.size import DimensionSize

__all__ = ["Anatomy", "DimensionSize", "Effect", "anatomy", "spread_targets"]
