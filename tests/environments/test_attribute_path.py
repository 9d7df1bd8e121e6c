"""Paths of attributes: a grammar of their own, and values that stay with one environment."""

from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from sdmbtl.environments.feature import AttributePath
from sdmbtl.errors import FamilyError


class Box(gymnasium.Env):
    """Values of every kind; some belong to the class."""

    shared: ClassVar = [1.0, 2.0]
    shared_array = np.array([1.0, 2.0])

    def __init__(self):
        self.number, self.whole, self.flag = 1.5, 3, True
        self.pair = (1.0, 2.0)
        self.table = np.arange(6.0).reshape(2, 3)
        self.inner = type("Inner", (), {})()
        self.inner.mass = 4.0
        self.parts = [self.inner]
        self._secret = 1.0

    @property
    def double(self):
        return 2 * self.number


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ("a",)),
        ("model.opt.gravity[2]", ("model", "opt", "gravity", 2)),
        ("a[-10][3].b_1", ("a", -10, 3, "b_1")),
    ],
)
def test_what_is_written_is_read(text, steps):
    path = AttributePath.parse(text)
    assert path.steps == steps
    assert str(path) == f"unwrapped.{text}"
    assert AttributePath.parse(str(path)) == path


@pytest.mark.parametrize(
    "text",
    [
        *("", "unwrapped", "_secret", "a._b", "a.__class__", "a[b]", "a[1.5]", "a[1:2]", "a[ 1]"),
        *("a()", "a..b", ".a", "a.", "a[]", "[0]", "a b", "a;b", "é", "a[٣]", "a\n"),
    ],
)
def test_not_a_path(text):
    with pytest.raises(FamilyError, match="A path is names, dots and indices, as unwrapped.model"):
        AttributePath.parse(text)


@pytest.mark.parametrize(
    ("path", "before", "value"),
    [
        ("number", 1.5, 7.0),
        ("unwrapped.whole", 3, 5),
        ("flag", True, False),
        ("inner.mass", 4.0, 0.5),
        ("parts[0].mass", 4.0, 0.5),
        ("pair[-1]", 2.0, 9.0),
        ("table[1][-1]", 5.0, 9.0),
        ("shared[0]", 1.0, 9.0),
        ("shared_array[1]", 2.0, 9.0),
    ],
)
def test_values_are_set_in_one_environment_and_in_no_other(path, before, value):
    env, other = gymnasium.wrappers.OrderEnforcing(Box()), Box()
    place = AttributePath.parse(path)
    assert place.read(env) == before
    place.assign(env, value)
    assert place.read(env) == value
    assert type(place.read(env)) in (type(before), np.float64)
    assert place.read(other) == before
    assert place.read(Box()) == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nubmer", "a Box has no 'nubmer'. Did you mean 'number'?"),
        ("inner.mas", "a Inner has no 'mas'. Did you mean 'mass'?"),
        ("pair[2]", "a tuple has no 2."),
        ("number[0]", "a float has no 0."),
    ],
)
def test_steps_that_lead_nowhere(path, message):
    with pytest.raises(FamilyError) as error:
        AttributePath.parse(path).read(Box())
    assert str(error.value) == f"There is no 'unwrapped.{path}': {message}"


def test_values_that_cannot_be_set():
    with pytest.raises(FamilyError, match="unwrapped.double cannot be set to 1.0: property"):
        AttributePath.parse("double").assign(Box(), 1.0)
