"""What a transfer matrix looks like: f, g, h, variance between runs, saturation."""

from sdmbtl.matrices.anatomy.anatomy import Anatomy, anatomy, spread_targets
from sdmbtl.matrices.anatomy.effects import Effect
from sdmbtl.matrices.anatomy.size import DimensionSize

__all__ = ["Anatomy", "DimensionSize", "Effect", "anatomy", "spread_targets"]
