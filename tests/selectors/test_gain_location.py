"""For which targets a gain is, in words."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.selectors.gain_location import ALSO, NARROW, SHIFTED, where_gained

SPACE = ContextSpace(length=np.linspace(1, 3, 9), mass=np.geomspace(0.1, 10, 9), force=range(5))
UNITS = SPACE.unit_targets
LENGTH, MASS, FORCE = UNITS.T


def where(gains, units=UNITS, names=SPACE.names):
    return where_gained(np.asarray(gains, dtype=float), units, names)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        (LENGTH > 0.6, "high length"),
        (LENGTH < 0.4, "low length"),
        (np.abs(LENGTH - 0.5) < 0.2, "middle length"),
        (LENGTH, "high length"),
        (1 - MASS, "low mass"),
        ((LENGTH > 0.6) & (MASS < 0.4), "high length and low mass"),
        ((LENGTH > 0.9) & (MASS < 0.4), "high length and low mass"),
        ((LENGTH > 0.6) & (MASS < 0.1), "high length and low mass"),
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
        1.0 + 0.1 * LENGTH,
        np.abs(LENGTH - 0.5) > 0.3,
        np.random.default_rng(0).random(len(SPACE)),
    ],
    ids=["no gain", "everywhere the same", "nearly the same", "at both ends", "noise"],
)
def test_a_gain_that_is_spread_evenly_is_not_located(gains):
    assert where(gains) is None


def test_a_weak_second_dimension_is_left_out():
    """It is shifted enough to be named alone."""
    first, second = LENGTH > 0.95, MASS
    assert where(second) == "high mass"
    assert where(first * second) == "high length"


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_the_unit_of_the_returns_does_not_matter(scale):
    gains = np.exp(-10 * (LENGTH - 1) ** 2 - 10 * MASS**2)
    assert where(scale * gains) == where(gains) == "high length and low mass"


def test_gains_of_a_model_may_have_single_precision():
    assert where_gained(LENGTH.astype(np.float32), UNITS, SPACE.names) == "high length"


def test_differences_are_from_all_targets_not_from_the_middle_of_the_range():
    """Most targets are long here: gains spread over all of them are not for long ones."""
    units = np.concatenate([np.linspace(0.8, 1.0, 30), [0.0, 0.1]])[:, None]
    assert where(np.ones(32), units, ["length"]) is None
    assert where(units[:, 0] < 0.5, units, ["length"]) == "low length"


def test_a_dimension_without_a_range_is_never_named():
    units = np.stack([LENGTH, np.full(len(UNITS), 0.5)], axis=1)
    assert where(LENGTH > 0.6, units, ["length", "fixed"]) == "high length"
    assert where(np.ones(1), np.zeros((1, 2)), ["length", "fixed"]) is None


def test_the_limits_leave_room_for_what_they_are_explained_by():
    line = np.linspace(0, 1, 1001)[:, None]
    ramp = line[:, 0] / line.sum()
    assert (ramp @ line[:, 0] - 0.5) / line.std() > SHIFTED
    assert line[250:751].std() / line.std() < NARROW < 1
    assert 0 < ALSO < 1


def test_a_dimension_that_does_not_vary_is_not_named():
    targets = np.column_stack([np.linspace(0, 1, 3), np.full(3, 0.1)])
    assert where_gained(np.ones(3), targets, ["mass", "gravity"]) is None
