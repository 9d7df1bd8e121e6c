"""Finding targets by their values among very many, and those that are equal."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.lookup import GridLookup, ListLookup, first_of_each

COLUMNS = [np.array([3.0, 1.0, 2.0]), np.array([0.0, 5.0]), np.array([-1.0, 7.0, 0.5, 9.0])]
TARGETS = np.stack([m.ravel() for m in np.meshgrid(*COLUMNS, indexing="ij")], axis=-1)


@pytest.mark.parametrize("lookup", [GridLookup(COLUMNS), ListLookup(TARGETS)], ids=["grid", "list"])
class TestLookup:
    def test_every_target_is_found(self, lookup):
        assert [lookup.find(target) for target in TARGETS] == list(range(len(TARGETS)))

    def test_no_other_context_is(self, lookup):
        for target in TARGETS:
            assert lookup.find(np.nextafter(target, 100.0)) is None

    def test_minus_zero_is_zero(self, lookup):
        assert lookup.find(np.array([3.0, -0.0, -1.0])) == 0


def test_contexts_with_the_same_key_are_told_apart(monkeypatch):
    monkeypatch.setattr("sdmbtl.contexts.lookup.row_keys", lambda rows: np.zeros(len(rows)))
    lookup = ListLookup(TARGETS)
    assert [lookup.find(target) for target in TARGETS] == list(range(len(TARGETS)))
    assert lookup.find(np.array([3.0, 0.0, 0.0])) is None


def test_first_of_each():
    rows = np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [-0.0, 3.0], [4.0, 4.0]])
    assert first_of_each(rows).tolist() == [0, 1, 0, 1, 4]
    assert first_of_each(TARGETS).tolist() == list(range(len(TARGETS)))


def test_ranks_among_some_targets_have_the_order_of_all():
    space = ContextSpace(a=range(7), b=range(6))
    some = np.array([0, 3, 8, 20, 21, 22, 40])
    assert np.array_equal(np.argsort(space.rank_ties(some)), np.argsort(space.tie_rank[some]))


def test_spaces_are_equal_by_their_targets_and_dimensions():
    space = ContextSpace(TARGETS, a=[1.0, 2.0, 3.0], b=[0.0, 5.0], c=[-1.0, 0.5, 7.0, 9.0])
    same = ContextSpace.from_dict(space.to_dict())
    assert space == same
    assert space != ContextSpace(TARGETS[::-1], **space.dimensions)
    assert space != ContextSpace(**space.dimensions)


def test_an_array_of_targets_is_taken_over_as_it_is():
    listed = ContextSpace(TARGETS.tolist(), a=[1.0, 3.0], b=[0.0, 5.0], c=[-1.0, 9.0])
    mixed = [tuple(row) for row in TARGETS.tolist()]
    for given in (TARGETS, TARGETS.astype(np.float32), mixed):
        assert np.array_equal(ContextSpace(given, **listed.dimensions).targets, listed.targets)
