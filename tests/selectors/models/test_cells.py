"""Cells of neighbouring targets: sizes, halves of the widest side, centres."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models import cell_centres, target_cells
from sdmbtl.selectors.models.cells import space_cells

GRID = ContextSpace(a=range(8), b=range(4)).unit_targets


def test_cells_of_a_grid_are_boxes_of_the_same_size():
    cells = target_cells(GRID, 8)
    assert np.bincount(cells).tolist() == [4] * 8
    for number in range(8):
        members = GRID[cells == number]
        inside = ((members.min(axis=0) <= GRID) & (members.max(axis=0) >= GRID)).all(axis=1)
        assert inside.sum() == 4, "no target of another cell lies in the box"


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 3), st.integers(0, 5))
@settings(deadline=None, max_examples=60)
def test_every_target_is_in_one_cell_of_about_the_same_size(n, cells, dimensions, levels):
    rng = np.random.default_rng(n)
    units = (
        rng.random((n, dimensions)) if not levels else rng.integers(levels, size=(n, dimensions))
    )
    numbers = target_cells(units.astype(float), cells)
    sizes = np.bincount(numbers)
    assert len(sizes) == min(cells, n)
    assert sizes.min() >= 1
    assert sizes.max() <= 2 * sizes.min() + 1
    firsts = [int(np.flatnonzero(numbers == number)[0]) for number in range(len(sizes))]
    assert firsts == sorted(firsts), "numbered in the order of their first targets"


@pytest.mark.parametrize("cells", [1, 3, 8, 32])
def test_centres_are_the_members_nearest_to_the_middle(cells):
    units = np.random.default_rng(cells).random((50, 2))
    numbers = target_cells(units, cells)
    centres = cell_centres(units, numbers)
    assert len(centres) == cells
    for number, centre in enumerate(centres):
        members = np.flatnonzero(numbers == number)
        middle = [np.mean([units[m][d] for m in members]) for d in range(2)]
        distances = {m: sum(abs(units[m][d] - middle[d]) for d in range(2)) for m in members}
        assert centre in members
        assert distances[centre] == pytest.approx(min(distances.values()))


def test_cells_of_a_space_are_found_once_and_cannot_be_changed():
    space = ContextSpace(a=range(8), b=range(4))
    cells = space_cells(space, 4)
    np.testing.assert_array_equal(cells, target_cells(GRID, 4))
    assert space_cells(space, 4) is cells
    assert space_cells(space, 5).max() == 4
    with pytest.raises(ValueError, match="read-only"):
        cells[0] = 1
