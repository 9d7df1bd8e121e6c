"""Badly covered targets, and the corner where they lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl import ContextSpace, Interval
from sdmbtl.transfer.gaps import find_corner, find_gaps

GRID = ContextSpace(length=range(6), mass=[0.1, 1.0, 10.0], wind=[0.0, 1.0])


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (lambda length, mass, wind: length >= 4, "length ≥ 4"),
        (lambda length, mass, wind: mass <= 0.1, "mass 0.1"),
        (lambda length, mass, wind: (length <= 1) & (mass >= 10), "length ≤ 1 with mass 10"),
    ],
)
def test_a_corner_is_found(condition, words):
    wanted = condition(*GRID.targets.T)
    assert find_corner(GRID, wanted) == words


def test_exceptions_do_not_hide_it():
    wanted = GRID.targets[:, 0] >= 3
    wanted[:3] = True
    wanted[-2:] = False
    assert find_corner(GRID, wanted) == "length ≥ 3"


@pytest.mark.parametrize("wanted", [np.zeros(36, bool), np.ones(36, bool)])
def test_nothing_and_everything_have_no_corner(wanted):
    assert find_corner(GRID, wanted) is None


def test_badly_covered_targets_are_found():
    best = np.where(GRID.targets[:, 0] >= 4, 2.0, 9.0)
    found = find_gaps(GRID, best, (0.0, 10.0))
    assert (found.limit, found.count) == (6.5, 12)
    assert found.corner == "length ≥ 4"
    assert best[list(found.worst)].tolist() == [2.0] * len(found.worst)
    fine = find_gaps(GRID, np.full(36, 9.0), (0.0, 10.0))
    assert (fine.count, fine.corner) == (0, None)
    assert find_gaps(GRID, np.full(36, 9.0), None).limit is None


def test_one_target_alone_has_no_sides():
    space = ContextSpace(a=[1.0])
    assert find_corner(space, np.array([True])) is None


def test_a_list_of_many_values_is_cut_at_some():
    space = ContextSpace.sample(500, a=Interval(0, 1), b=Interval(0, 1))
    corner = find_corner(space, space.targets[:, 1] > 0.7)
    name, _, value = corner.split()
    assert name == "b"
    assert float(value) == pytest.approx(0.7, abs=0.05)


@given(st.lists(st.booleans(), min_size=36, max_size=36))
def test_it_is_the_best_of_all_corners(bits):
    """Against brute force over every side and every pair of sides."""
    wanted = np.array(bits)
    corner = find_corner(GRID, wanted)

    def score(inside):
        return 2 * (inside & wanted).sum() / (inside.sum() + wanted.sum())

    sides = [
        (d, GRID.targets[:, d] >= value if above else GRID.targets[:, d] <= value)
        for d in range(3)
        for value in np.unique(GRID.targets[:, d])
        for above in (True, False)
    ]
    if not wanted.any():
        assert corner is None
        return
    singles = max(score(inside) for _, inside in sides)
    pairs = max(score(a & b) - 0.02 for i, a in sides for j, b in sides if i != j)
    best = max(singles, pairs)
    if corner is None:
        assert best <= score(np.ones(36, bool)) + 1e-9
    else:
        inside = np.ones(36, bool)
        for part in corner.split(" with "):
            name, *sign, value = part.split()
            column, at = GRID.targets[:, GRID.names.index(name)], float(value)
            inside &= {"≥": column >= at, "≤": column <= at, "": column == at}["".join(sign)]
        assert score(inside) >= best - 1e-6
