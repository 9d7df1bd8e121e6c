"""Ranges, and context spaces from TOML files."""

import numpy as np
import pytest

from sdmbtl import ContextSpace, Levels
from sdmbtl.contexts import Range, load_space, space_from_ranges
from sdmbtl.errors import ContextError


def test_linear_range_has_plain_values_and_exact_ends():
    r = Range(0.2, 2.0, 10)
    assert r.values == (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


def test_log_range_has_equal_ratios_and_exact_ends():
    r = Range(0.07, 4.9, 7, "log")
    ratios = np.diff(np.log(r.values))
    assert np.allclose(ratios, ratios[0], rtol=1e-10)
    assert (r.values[0], r.values[-1]) == (0.07, 4.9)


def test_a_single_level_lies_in_the_middle():
    assert Range(1.0, 3.0, 1).values == (2.0,)
    assert Range(1.0, 4.0, 1, "log").values == (2.0,)
    assert Range(0.3, 0.3, 1).values == (0.3,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2.0, 1.0, 3), "needs low < high. Got low=2, high=1"),
        ((1.0, 1.0, 3), "needs low < high"),
        ((0.0, 1.0, 3, "log"), "values above 0. Got 0 instead. Use scale='linear'"),
        ((0.0, 1.0, 0), "'levels' must be a whole number >= 1. Got 0"),
        ((0.0, float("inf"), 2), "'high' must be a finite number"),
        (("a", 1.0, 2), "'low' must be a finite number. Got 'a'"),
        ((0.0, 1.0, 2, "cubic"), "Unknown scale 'cubic'"),
    ],
)
def test_ranges_that_are_none(arguments, message):
    with pytest.raises(ContextError) as error:
        Range(*arguments)
    assert message in str(error.value)


def test_levels_override_those_of_every_range():
    ranges = {"a": Range(0, 1, 3), "b": Range(1, 100, 5, "log")}
    assert space_from_ranges(ranges).shape == (3, 5)
    space = space_from_ranges(ranges, levels=2)
    assert space.targets.tolist() == [[0, 1], [0, 100], [1, 1], [1, 100]]
    assert space.dimensions["b"].scale == "log"


def write(tmp_path, text):
    path = tmp_path / "space.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_values_ranges_and_returns(tmp_path):
    path = write(
        tmp_path,
        """
        [dimensions.mass]
        values = [0.1, 1, 10]
        [dimensions.length]
        low = 0.05
        high = 5.0
        levels = 3
        scale = "log"
        [returns]
        min = 0
        max = 500
        """,
    )
    space, extras = load_space(path)
    expected = ContextSpace(
        mass=[0.1, 1, 10], length=Levels(Range(0.05, 5.0, 3, "log").values, "log")
    )
    assert space == expected
    assert extras == {"return_range": (0.0, 500.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[dimensions.a\n", "not valid TOML: Expected ']' at the end of a table"),
        ("[dimensions.a]\nvalues = [1,, 2]", "(at line 2, column"),
        ("", "at least one table [dimensions.NAME]"),
        ("dimensions = 3", "Got 3 instead"),
        ("[dimension.a]\nvalues = [1]", "no 'dimension'. Did you mean 'dimensions'?"),
        ("[dimensions]\na = [1, 2]", "[dimensions.a]: A dimension is a table"),
        ("[dimensions.a]\nvalue = [1]", "no 'value'. Did you mean 'values'?"),
        ("[dimensions.a]\nvalues = [1]\nlow = 1", "either 'values', a list"),
        ("[dimensions.a]\nvalues = 3", "either 'values', a list"),
        ("[dimensions.a]\nvalues = []", "[dimensions.a]: A dimension needs at least one value"),
        ("[dimensions.a]\nvalues = ['x', 1]", "must be a finite number"),
        ("[dimensions.a]\nvalues = [1]\nscale = 'cubic'", "Got 'cubic' instead"),
        ("[dimensions.a]\nvalues = [1]\ndiscrete = 'yes'", "'discrete'"),
        ("[dimensions.a]\nlow = 1979-05-27\nhigh = 2\nlevels = 2", "'low'"),
        ("[dimensions.a]\nlow = 1\nhigh = 2", "'levels' is missing. Or give 'values'"),
        ("[dimensions.a]\nlow = 3\nhigh = 2\nlevels = 2", "[dimensions.a]: A range of 2 levels"),
        ("[dimensions.a]\nvalues = [1]\n[returns]\nmin = 0", "'min' and 'max'"),
        ("[dimensions.a]\nvalues = [1]\n[returns]\nmin = 2\nmax = 1", "below the highest. Got 2"),
        ("[dimensions.a]\nvalues = [1]\n[returns]\nlow = 1", "'min' and 'max'"),
        ("returns = 3\n[dimensions.a]\nvalues = [1]", "'min' and 'max'. Got 3"),
    ],
)
def test_broken_files_are_named_with_the_place(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ContextError) as error:
        load_space(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_missing_and_binary_files(tmp_path):
    with pytest.raises(ContextError, match="nowhere.toml' cannot be read: No such file"):
        load_space(tmp_path / "nowhere.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ContextError, match="not valid TOML"):
        load_space(tmp_path / "b.toml")


def test_units_come_from_ranges_and_files(tmp_path):
    ranges = {"mass": Range(1.0, 2.0, 2, unit="kg"), "length": Range(1.0, 2.0, 2)}
    for space in (space_from_ranges(ranges), space_from_ranges(ranges, levels=3)):
        assert [d.unit for d in space.dimensions.values()] == ["kg", None]
    file = tmp_path / "space.toml"
    file.write_text(
        '[dimensions.mass]\nvalues = [1, 2]\nunit = "kg"\n'
        '[dimensions.length]\nlow = 1\nhigh = 2\nlevels = 2\nunit = "m"\n'
    )
    space = ContextSpace.from_dict(load_space(file)[0].to_dict())
    assert [d.unit for d in space.dimensions.values()] == ["kg", "m"]
