"""Linear gap: returns change steadily with the distance between source and target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models.model import KnownRows, RowModel, Shape


@dataclass(frozen=True)
class LinearGapModel(RowModel):
    """J(x, y) = g(y) + slopes · abs(x - y) + quality(x).

    The paper's gap has a slope for each side of a dimension. The difference of the two sides is
    linear in x - y, so one part of it belongs to the difficulty g(y), the other to the quality of
    the policy, which is a priori constant: a prior for symmetry. A priori all dimensions matter
    equally, and performance does not rise with the distance.

    Attributes:
        ridge: Weight of the prior, relative to the number of pairs of policy and target.
    """

    ridge: float = 1e-4

    name: ClassVar[str] = "linear-gap"

    def fit(self, rows: KnownRows) -> LinearGap:
        """Estimate slopes and difficulty by least squares, policies and targets removed first."""
        units, (k, n) = rows.space.unit_targets, rows.returns.shape
        distances = np.abs(rows.sources.T[:, :, None] - units.T[:, None])  # (D, k, N)
        linear, _ = np.linalg.qr(np.hstack([np.ones((n, 1)), units]))
        if k > 1:
            features, returns = _without_effects(distances), _without_effects(rows.returns)
        else:  # one row cannot tell difficulty from gap: a difficulty that is linear is removed
            features = distances - (distances @ linear) @ linear.T
            returns = rows.returns - (rows.returns @ linear) @ linear.T
        features = features.reshape(len(distances), -1)
        normal, moment = features @ features.T, features @ returns.ravel()
        ridge = self.ridge * k * n
        prior = min(float(moment.sum() / (normal.sum() + ridge)), 0.0)
        inner = normal + ridge * np.eye(len(normal))
        slopes = prior + np.linalg.solve(inner, moment - prior * normal.sum(axis=1))
        difficulty = (rows.returns - np.tensordot(slopes, distances, 1)).mean(axis=0)
        noise = float(((returns.ravel() - slopes @ features) ** 2).sum())
        noise /= max((k - 1) * (n - 1), 1)
        return LinearGap(rows.space, slopes, _shrunk(difficulty, linear, noise / k, single=k == 1))


@dataclass(frozen=True)
class LinearGap(Shape):
    """(D,) slopes, negative where returns fall with the distance, and (N,) difficulty."""

    space: ContextSpace
    slopes: NDArray[np.float64]
    difficulty: NDArray[np.float64]

    def returns(
        self, sources: NDArray[np.float64], targets: NDArray[np.intp] | slice
    ) -> NDArray[np.float64]:
        """(m, n) returns of policies trained on (m, D) sources."""
        units = self.space.unit_targets[targets]
        returns = np.tile(self.difficulty[targets], (len(sources), 1))
        for slope, source, unit in zip(self.slopes, sources.T, units.T, strict=True):
            distance = np.subtract.outer(source, unit)
            np.abs(distance, out=distance)
            distance *= slope
            returns += distance
        return returns

    def explain(self) -> str:
        """Describe the steepest slopes."""
        steepest = np.argsort(-np.abs(self.slopes), kind="stable")[:3]
        changes = [f"{self.slopes[d]:+.3g} across {self.space.unit_names[d]}" for d in steepest]
        return f"returns change steadily with the distance, {', '.join(changes)}"


def _without_effects(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(…, k, N) values, the means of policies and of targets removed."""
    values = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(values - values.mean(axis=-2, keepdims=True))


def _shrunk(
    difficulty: NDArray[np.float64], linear: NDArray[np.float64], noise: float, *, single: bool
) -> NDArray[np.float64]:
    """(N,) difficulties, the part of them that is noise removed (empirical Bayes).

    `linear` is an (N, D + 1) orthonormal basis of the functions that are linear in the target, and
    `noise` the variance of the estimates. Of a single row only the linear part is known.
    """
    trend = linear @ (linear.T @ difficulty)
    rest = difficulty - trend
    total = float((rest**2).mean())
    share = 0.0 if single or not total > 0 else max(1.0 - noise / total, 0.0)
    return np.asarray(trend + share * rest)
