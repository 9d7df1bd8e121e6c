"""Splits: contexts inside and outside of the box around the targets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace, Levels, Range
from sdmbtl.contexts.splits import BEYOND, split_contexts
from sdmbtl.errors import ContextError


@given(
    low=st.floats(0.01, 5.0),
    length=st.floats(0.1, 50.0),
    scale=st.sampled_from(["linear", "log"]),
    seed=st.integers(0, 99),
)
def test_interpolation_is_inside_and_extrapolation_outside_of_the_box(low, length, scale, seed):
    space = ContextSpace(
        mass=Levels(Range(low, low + length, 4, scale).values, scale),
        shift=Levels([-1.0, 0.0, 1.0], "linear"),
        lanes=Levels([2, 3, 5], discrete=True),
    )
    (inside,) = split_contexts(space, "interpolation", 40, seed).values()
    (outside,) = split_contexts(space, "extrapolation", 40, seed).values()
    assert inside.shape == outside.shape == (40, 3)
    assert all(vector in space for vector in inside)
    assert not any(vector in space for vector in outside)
    for drawn in (inside, outside):
        assert set(np.round(drawn[:, 2], 9)) == {2.0, 3.0, 5.0}
    units = space.to_unit(outside)[:, :2]
    assert units.min() >= -BEYOND - 1e-9
    assert units.max() <= 1 + BEYOND + 1e-9
    assert outside[:, 0].min() >= low / 2 * (1 - 1e-9)


def test_train_is_the_targets_and_a_seed_gives_the_same_contexts():
    space = ContextSpace(mass=[1.0, 2.0, 4.0])
    np.testing.assert_array_equal(split_contexts(space, "train")["train"], space.targets)
    draws = [split_contexts(space, "extrapolation", 9, seed)["extrapolation"] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_a_file_names_splits(tmp_path):
    space = ContextSpace(mass=[1.0, 1.5, 2.0], gravity=[5.0, 10.0])
    path = tmp_path / "splits.toml"
    path.write_text(
        "[splits.heavy]\nmass = [3.0, 4.0]\n[splits.moon]\nlist = [{gravity = 1.62, mass = 1.0}]\n"
    )
    found = split_contexts(space, str(path), 20)
    assert list(found) == ["heavy", "moon"]
    assert 3.0 <= found["heavy"][:, 0].min() < found["heavy"][:, 0].max() <= 4.0
    assert 5.0 <= found["heavy"][:, 1].min() < found["heavy"][:, 1].max() <= 10.0
    assert found["moon"].tolist() == [[1.0, 1.62]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no table"),
        ("[splits.a]\nmas = [1, 2]", "Unknown dimension 'mas'"),
        ("[splits.a]\nmass = 3", "mass = 3"),
        ("[splits]\na = 1", "a range for some dimensions"),
    ],
)
def test_a_file_without_usable_splits_is_refused(tmp_path, text, problem):
    path = tmp_path / "splits.toml"
    path.write_text(text)
    with pytest.raises(ContextError, match=problem):
        split_contexts(ContextSpace(mass=[1.0, 2.0]), str(path))


def test_unknown_and_impossible_splits_are_refused():
    with pytest.raises(ContextError, match="train, interpolation, extrapolation"):
        split_contexts(ContextSpace(mass=[1.0, 2.0]), "test")
    space = ContextSpace(lanes=Levels([1, 2], discrete=True), ground=["road", "ice"])
    with pytest.raises(ContextError, match="nothing lies beyond"):
        split_contexts(space, "extrapolation")
    with pytest.raises(ContextError, match="nothing lies between"):
        split_contexts(space, "interpolation")
    some = space.subset(np.array([0, 3]))  # of a list, the other combinations lie between
    assert len(np.unique(split_contexts(some, "interpolation")["interpolation"], axis=0)) == 2
