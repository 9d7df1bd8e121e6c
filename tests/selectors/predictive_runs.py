"""Matrices and short runs for the tests of the default selector."""

import numpy as np

from sdmbtl import ContextSpace
from sdmbtl.selectors.predictive_selector import PredictiveSelector

GRID = ContextSpace(a=range(7), b=range(6))
N = len(GRID)


def mountain(space=GRID, falls=(4.0, 2.0), noise=0.0, seed=0):
    """(N, N) returns that fall with the distance, the same best return everywhere."""
    units = space.unit_targets
    distance = np.abs(units[:, None] - units) @ np.array(falls)
    return 10.0 - distance + noise * np.random.default_rng(seed).normal(size=distance.shape)


def additive(seed=0):
    """(N, N) exact additive returns with a slope of its own on each side, and difficulty."""
    x, y = GRID.unit_targets[:, None], GRID.unit_targets[None]
    gap = np.maximum(y - x, 0) @ np.array([8.0, 2.0]) + np.maximum(x - y, 0) @ np.array([2.0, 8.0])
    return np.random.default_rng(seed).normal(size=N) - gap


def run_rounds(selector, matrix, rounds):
    """Ask and tell; the trials."""
    trials = []
    for _ in range(rounds):
        trials.append(selector.ask())
        selector.tell(trials[-1], matrix[trials[-1].index])
    return trials


def indices(matrix, rounds=8, space=GRID, **options):
    return [c.index for c in run_rounds(PredictiveSelector(space, **options), matrix, rounds)]
