"""Rows of returns as text."""

import numpy as np
import pytest

from sdmbtl.report.packing import PackedRows


def test_returns_come_back_as_exactly_as_they_are_shown():
    rows = np.random.default_rng(0).uniform(-300, 500, (4, 50))
    rows[1, 3] = np.nan
    packed = PackedRows.of(rows, (0, 1, 4, 7))
    assert packed.policies == (0, 1, 4, 7)
    assert np.array_equal(np.isnan(packed.unpacked()), np.isnan(rows))
    assert np.nanmax(np.abs(packed.unpacked() - rows)) <= 800 / 65_534 / 2 + 1e-9


@pytest.mark.parametrize(
    "rows", [np.zeros((0, 0)), np.full((2, 3), 7.0), np.full((1, 3), np.nan), [[-1e308, 0, 1e308]]]
)
def test_there_is_no_return_that_cannot_be_packed(rows):
    rows = np.asarray(rows, dtype=float)
    found = PackedRows.of(rows, tuple(range(len(rows)))).unpacked()
    assert np.allclose(found / 1e300, rows / 1e300, rtol=1e-4, equal_nan=True)


def test_it_takes_less_than_three_letters_for_each():
    packed = PackedRows.of(np.random.default_rng(0).normal(size=(50, 900)), tuple(range(50)))
    assert len(packed.data) < 3 * 50 * 900
