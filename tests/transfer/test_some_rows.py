"""Some of the rows, above all the first: the same as if the others had never come."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.transfer import ObservedRows

SPACE = ContextSpace(a=[0, 1, 2, 4], b=[10.0, 20.0])
PARTS = ("sources", "unit_sources", "returns", "source_positions", "source_returns")


def some_rows(k=5):
    """Partial rows; sources that are targets, that are none, and that repeat."""
    rng = np.random.default_rng(0)
    returns = rng.normal(size=(k, len(SPACE)))
    returns[rng.random(returns.shape) < 0.3] = np.nan
    returns[:, 2] = 1.0
    sources = [[0, 10], [0.5, 12], [0.5, 12], [4, 20], [2, 10]][:k]
    return ObservedRows(SPACE, sources, returns, [np.nan, 3.0, np.nan, 4.0, np.nan][:k])


@pytest.mark.parametrize("count", range(6))
def test_are_those_that_came_first(count):
    rows = some_rows()
    grown = ObservedRows(SPACE)
    for number in range(count):
        own = [None, 3.0, None, 4.0, None][number]
        grown = grown.added(rows.sources[number], rows.returns[number], own)
    first = rows.only(slice(count))
    assert len(first) == count
    assert first.space is rows.space
    for name in PARTS:
        np.testing.assert_array_equal(getattr(first, name), getattr(grown, name), err_msg=name)
    np.testing.assert_array_equal(first.best, grown.best)
    assert rows.continues(first)
    assert first.continues(rows) == (count == len(rows))


def test_can_grow_again_and_cannot_be_changed():
    rows = some_rows()
    again = rows.only(slice(4)).added(rows.sources[4], rows.returns[4])
    assert again.continues(rows)
    for name in PARTS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(rows.only(slice(3)), name)[0] = 1.0


def test_any_of_them_can_be_taken():
    rows = some_rows()
    which = np.array([True, False, True, False, True])
    some = rows.only(which)
    assert some.space is rows.space
    for name in PARTS:
        np.testing.assert_array_equal(getattr(some, name), getattr(rows, name)[which], err_msg=name)
    np.testing.assert_array_equal(some.best, np.fmax.reduce(rows.returns[which], axis=0))
    assert not rows.continues(some)
    with pytest.raises(ValueError, match="read-only"):
        some.returns[0] = 1.0
    assert len(rows.only(np.zeros(5, dtype=bool))) == 0
