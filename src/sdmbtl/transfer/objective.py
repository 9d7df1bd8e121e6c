"""Objectives of a study: functions of the best returns on the targets and of their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts.weights import weighted_mean
from sdmbtl.errors import SelectorError

#: Each kind, and whether it has a level.
_KINDS = {"mean": False, "cvar": True, "worst": False, "share": True}
#: Share of the range over which targets still count as the lowest, and below which the distance to
#: a wanted return does not make a target more worthwhile.
SMOOTHING = 0.05


@dataclass(frozen=True)
class Objective:
    """The quantity that a study makes large.

    Attributes:
        kind: "mean" of the best returns; "cvar", their mean over the lowest targets; "worst", the
            lowest one, smoothed; or "share", of the targets with a high return.
        level: Of "cvar" the share of the targets, of "share" the share of the range of returns that
            counts as high.
    """

    kind: str = "mean"
    level: float | None = None

    @classmethod
    def of(cls, given: str) -> Objective:
        """Read an objective such as "cvar:0.1".

        Example:
            >>> Objective.of("cvar:0.1")
            Objective(kind='cvar', level=0.1)
        """
        kind, colon, text = given.partition(":") if isinstance(given, str) else ("", "", "")
        try:
            level = float(text) if colon else None
        except ValueError:
            level = 0.0
        if _KINDS.get(kind) is not bool(colon) or not (level is None or 0 < level <= 1):
            raise SelectorError(
                "The 'objective' must be mean, cvar:0.1 (mean of the worst tenth), worst, or "
                "share:0.9 (share of the targets above 90 % of the range), with a number above 0 "
                f"and at most 1. Got {short_text(given)} instead."
            )
        return cls(kind, level)

    def value(
        self,
        best: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        returns: tuple[float, float],
    ) -> float:
        """Compute the objective: a return, or of the kind "share" a share of the targets.

        Args:
            best: (N,) best return on each target.
            weights: (N,) importance of the targets, with sum 1; None if all are alike.
            returns: Lowest and highest return.
        """
        if self.kind == "share":
            return float(weighted_mean((best >= self._wanted(returns)).astype(float), weights))
        return float(weighted_mean(best, self.weights(best, weights, returns)))

    def weights(
        self,
        best: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        returns: tuple[float, float],
    ) -> NDArray[np.float64] | None:
        """Linearise the objective: (N,) worth of a higher return on each target, with sum 1.

        With these weights in place of the targets' own, whatever raises a mean raises any
        objective. A target that would have to rise a lot to count counts less. Arguments as of
        `value`.
        """
        if self.kind == "mean":
            return weights
        own = np.full(len(best), 1 / len(best)) if weights is None else weights
        smoothing = SMOOTHING * (returns[1] - returns[0]) or 1.0
        if self.kind == "cvar":
            # Equal returns count alike, so the order of the targets changes nothing.
            values, place = np.unique(best, return_inverse=True)
            mass = np.bincount(place, own, minlength=len(values))
            kept = np.clip((self.level or 1.0) - (mass.cumsum() - mass), 0.0, mass)
            worth = own * (kept / np.maximum(mass, 1e-300))[place]
        elif self.kind == "worst":
            worth = own * np.exp(-np.maximum(best - best[own > 0].min(), 0.0) / smoothing)
        else:
            short = self._wanted(returns) - best
            worth = np.where(short > 0, own / np.maximum(short, smoothing), 0.0)
        return worth / worth.sum() if worth.any() else weights

    def _wanted(self, returns: tuple[float, float]) -> float:
        rounding = 1e-9 * (returns[1] - returns[0])
        return returns[0] + (self.level or 0.0) * (returns[1] - returns[0]) - rounding

    def __str__(self) -> str:
        return self.kind if self.level is None else f"{self.kind}:{self.level:g}"
