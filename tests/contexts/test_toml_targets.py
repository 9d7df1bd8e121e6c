"""Targets of a space file that are not a grid."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace, Interval, load_space
from sdmbtl.errors import ContextError

DIMENSIONS = """
[dimensions.mass]
low = 0.5
high = 2.0
scale = "log"
[dimensions.lanes]
values = [1, 2, 3]
discrete = true
"""


def load(tmp_path, text):
    path = tmp_path / "space.toml"
    path.write_text(DIMENSIONS + text)
    return load_space(path)[0]


def test_a_sample_is_that_of_the_space(tmp_path):
    space = load(tmp_path, "[targets]\nsample = 30\nseed = 4")
    dimensions = {"mass": Interval(0.5, 2.0, "log"), "lanes": space.dimensions["lanes"]}
    expected = ContextSpace.sample(30, seed=4, **dimensions)
    np.testing.assert_array_equal(space.targets, expected.targets)
    assert space.bounds["mass"] == (0.5, 2.0)


def test_a_list_is_itself(tmp_path):
    space = load(tmp_path, "[targets]\nlist = [{mass = 1, lanes = 2}, {lanes = 3, mass = 0.7}]")
    assert [space.target(n) for n in range(2)] == [
        {"mass": 1.0, "lanes": 2.0},
        {"mass": 0.7, "lanes": 3.0},
    ]
    assert space.bounds["mass"] == (0.5, 2.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "A range needs 'low', 'high' and 'levels'. 'levels' is missing"),
        ("[targets]\nsampel = 3", "[targets] is a table with 'sample'"),
        ("[targets]\nsample = 3\nlist = []", "[targets] is a table with 'sample'"),
        ("[targets]\nsample = 3\nsede = 1", "there is no 'sede'. Did you mean 'seed'?"),
        ("[targets]\nsample = 0", "[targets]: 'n' must be"),
        ("[targets]\nsample = 3\nseed = -1", "'seed' must be"),
        ("[targets]\nlist = [{mass = 1}]", "[targets]: "),
        ("[targets]\nlist = [{mass = 9, lanes = 1}]", "[targets]: "),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    with pytest.raises(ContextError) as error:
        load(tmp_path, text)
    assert message in str(error.value)
