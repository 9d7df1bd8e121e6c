"""Small context spaces and matrices with every difficulty a selector may meet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Interval, Levels


def example_spaces() -> dict[str, ContextSpace]:
    """Spaces by name: one target, one dimension, odd scales, no grid."""
    scattered = np.random.default_rng(7).random((11, 2))
    return {
        "grid": ContextSpace(a=range(4), b=[0.5, 1.0, 2.0]),
        "one target": ContextSpace(a=[3.0]),
        "one dimension": ContextSpace(length=np.linspace(0.1, 0.9, 7)),
        "a constant dimension": ContextSpace(a=[1.0, 2.0, 3.0], b=[5.0]),
        "wide scales": ContextSpace(tiny=[1e-6, 2e-6, 5e-6], huge=Levels([1e6, 1e5, -1e6])),
        "logarithmic": ContextSpace(mass=Levels([0.01, 0.1, 1.0, 10.0], scale="log"), x=[1, 2]),
        "categories": ContextSpace(
            ground=["road", "ice", "mud"], mass=[1, 2, 4], wet=[False, True]
        ),
        "constraint": ContextSpace(mass=[1, 2, 4], g=[2, 5, 10], valid="mass * g < 25"),
        "listed targets": ContextSpace(scattered, u=Interval(0, 1), v=Interval(0, 1)),
    }


def example_matrix(space: ContextSpace, seed: int = 0) -> NDArray[np.float64]:
    """(N, N) returns that fall with the distance, with some noise."""
    units = space.unit_targets
    distance = np.abs(units[:, None] - units).sum(axis=2)
    noise = np.random.default_rng(seed).normal(size=distance.shape)
    difficulty = units @ np.arange(1.0, space.n_units + 1)
    return np.asarray(10.0 - 4.0 * distance + difficulty + 0.3 * noise)
