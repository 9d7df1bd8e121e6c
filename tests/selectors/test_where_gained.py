"""For which targets a gain is, in words."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.selectors.acquisition import where_gained

SPACE = ContextSpace(length=np.linspace(1, 3, 9), mass=np.geomspace(0.1, 10, 9), force=range(5))
UNITS = SPACE.unit_targets
LENGTH, MASS, FORCE = UNITS.T


def where(gains, units=UNITS, names=SPACE.names):
    return where_gained(np.asarray(gains, dtype=float), units, names)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        (LENGTH, "high length"),
        (1 - MASS, "low mass"),
        ((LENGTH > 0.6) & (MASS < 0.4), "high length and low mass"),
        ((LENGTH > 0.8) & (MASS > 0.8) & (FORCE < 0.6), "high length and high mass"),
    ],
)
def test_where_the_gaining_targets_differ(gains, words):
    assert where(gains) == words


@pytest.mark.parametrize(
    "gains",
    [
        np.zeros(len(SPACE)),
        np.ones(len(SPACE)),
        np.random.default_rng(0).random(len(SPACE)),
    ],
    ids=["no gain", "everywhere the same", "noise"],
)
def test_a_gain_that_is_spread_evenly_is_not_located(gains):
    assert where(gains) is None


def test_a_dimension_that_does_not_vary_is_not_named():
    targets = np.column_stack([np.linspace(0, 1, 3), np.full(3, 0.1)])
    assert where_gained(np.ones(3), targets, ["mass", "gravity"]) is None
