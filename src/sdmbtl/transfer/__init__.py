"""Transfer: rows J(pi_x, ·) as observed, what they cover, the linear gap."""

from sdmbtl.transfer.coverage import Coverage, coverage_of, share_of_range
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.objective import Objective
from sdmbtl.transfer.return_model import ReturnModel, worth_playing
from sdmbtl.transfer.rows import (
    ObservedRows,
    as_episodes,
    as_row,
    mean_of,
    mean_over_episodes,
)
from sdmbtl.transfer.slopes import SlopeMethod, Slopes, estimate_slopes

__all__ = [
    "Coverage",
    "Objective",
    "ObservedRows",
    "ReturnModel",
    "SeparableGap",
    "SlopeMethod",
    "Slopes",
    "as_episodes",
    "as_row",
    "coverage_of",
    "estimate_slopes",
    "mean_of",
    "mean_over_episodes",
    "share_of_range",
    "worth_playing",
]
