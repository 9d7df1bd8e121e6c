"""Transfer: rows J(pi_x, ·) as observed, the linear gap and its slopes, the decomposition."""

from sdmbtl.transfer.decomposition import Decomposition, SobolHoeffding
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.rows import ObservedRows, as_row
from sdmbtl.transfer.slopes import SlopeMethod, Slopes, estimate_slopes

__all__ = [
    "Decomposition",
    "ObservedRows",
    "SeparableGap",
    "SlopeMethod",
    "Slopes",
    "SobolHoeffding",
    "as_row",
    "estimate_slopes",
]
