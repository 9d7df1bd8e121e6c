"""Transfer: rows J(pi_x, ·) as observed, what they cover, the linear gap."""

from sdmbtl.transfer.coverage import Coverage, coverage_of, share_of_range
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.rows import ObservedRows, as_episodes, as_row, mean_of
from sdmbtl.transfer.slopes import SlopeMethod, Slopes, estimate_slopes

__all__ = [
    "Coverage",
    "ObservedRows",
    "SeparableGap",
    "SlopeMethod",
    "Slopes",
    "as_episodes",
    "as_row",
    "coverage_of",
    "estimate_slopes",
    "mean_of",
    "share_of_range",
]
