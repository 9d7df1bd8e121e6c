"""One dimension: its values, its unit coordinates, its error messages."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import Interval, Levels
from sdmbtl.contexts.dimension import dimension_from_dict
from sdmbtl.errors import ContextError

GEOMETRIC = [1e-6, 1e-3, 1.0, 1e3, 1e6]


@st.composite
def dimensions(draw):
    """Any dimension of two values or more, from 1e-6 up, each above the one before."""
    scale = draw(st.sampled_from(["steps", "linear", "log"]))
    start = draw(st.floats(1e-6, 1.0))
    factors = draw(st.lists(st.floats(1.001, 10.0), min_size=1, max_size=6))
    values = start * np.cumprod([1.0, *factors])
    if scale != "steps" and draw(st.booleans()):
        return Interval(values[0], values[-1], scale=scale)
    return Levels(draw(st.permutations(values.tolist())), scale=scale)


class TestLevels:
    def test_keeps_the_given_order_and_sorts_its_knots(self):
        levels = Levels([3, 1, 2])
        assert levels.values.tolist() == [3.0, 1.0, 2.0]
        assert levels.knots.tolist() == [1.0, 2.0, 3.0]
        assert (levels.low, levels.high, levels.steps) == (1.0, 3.0, 2)
        assert levels.scale == "steps"

    def test_steps_puts_neighbours_at_equal_distance(self):
        assert Levels([5.0, 1.0, 2.0]).to_unit([1.0, 2.0, 5.0]).tolist() == [0.0, 0.5, 1.0]
        assert Levels(GEOMETRIC).to_unit(GEOMETRIC).tolist() == [0, 0.25, 0.5, 0.75, 1]

    def test_linear_keeps_proportions(self):
        assert Levels([1.0, 2.0, 5.0], "linear").to_unit([1.0, 2.0, 5.0]).tolist() == [0, 0.25, 1]

    def test_log_keeps_ratios(self):
        levels = Levels([1.0, 2.0, 8.0], "log")
        np.testing.assert_allclose(levels.to_unit([1.0, 2.0, 8.0]), [0, 1 / 3, 1], atol=1e-15)
        np.testing.assert_allclose(Levels(GEOMETRIC, "log").to_unit(GEOMETRIC), np.arange(5) / 4)

    @pytest.mark.parametrize("scale", ["steps", "linear", "log"])
    def test_a_single_value_is_unit_zero(self, scale):
        levels = Levels([7.0], scale)
        assert (levels.low, levels.high, levels.steps) == (7.0, 7.0, 1)
        assert levels.to_unit([7.0, 9.0]).tolist() == [0.0, 0.0]
        assert levels.from_unit([[0.0, 0.3], [1.0, 2.0]]).tolist() == [[7.0, 7.0], [7.0, 7.0]]

    def test_shares_are_values_of_the_list(self):
        shares = np.array([0.0, 0.3, 0.34, 0.66, 0.67, 0.999])
        assert Levels([5, 1, 2]).at_shares(shares).tolist() == [1, 1, 2, 2, 5, 5]
        assert Levels([7]).at_shares(shares).tolist() == [7] * 6


class TestInterval:
    def test_linear(self):
        interval = Interval(2, 4)
        assert (interval.low, interval.high, interval.scale) == (2.0, 4.0, "linear")
        assert interval.to_unit([2, 2.5, 4]).tolist() == [0.0, 0.25, 1.0]
        assert interval.from_unit([0, 0.25, 1]).tolist() == [2.0, 2.5, 4.0]

    def test_log(self):
        interval = Interval(1e-2, 1e2, scale="log")
        np.testing.assert_allclose(interval.to_unit([1e-2, 1.0, 10.0]), [0, 0.5, 0.75], atol=1e-15)
        np.testing.assert_allclose(interval.from_unit([0.0, 0.5, 0.75]), [1e-2, 1.0, 10.0])


class TestUnits:
    @given(dimensions())
    def test_values_to_units_and_back(self, dimension):
        np.testing.assert_allclose(
            dimension.from_unit(dimension.to_unit(dimension.knots)), dimension.knots, rtol=1e-12
        )

    @given(dimensions())
    def test_the_ends_are_hit_exactly(self, dimension):
        assert dimension.to_unit([dimension.low, dimension.high]).tolist() == [0.0, 1.0]
        assert dimension.from_unit([0.0, 1.0]).tolist() == [dimension.low, dimension.high]
        assert dimension.from_unit(dimension.knot_units).tolist() == dimension.knots.tolist()

    @given(dimensions(), st.lists(st.floats(-2, 3), min_size=2, max_size=6))
    def test_the_map_is_monotone(self, dimension, units):
        values = dimension.from_unit(sorted(units))
        assert np.all(np.diff(values) >= -1e-14 * np.abs(values[1:]))

    def test_the_first_and_last_piece_continue_beyond_the_ends(self):
        levels = Levels([0.0, 1.0, 5.0])
        assert levels.to_unit([-1.0, 9.0]).tolist() == [-0.5, 1.5]
        assert levels.from_unit([-0.5, 1.5]).tolist() == [-1.0, 9.0]

    def test_a_log_dimension_refuses_zero_and_below(self):
        with pytest.raises(ContextError, match="above 0. Got -3 instead"):
            Interval(1, 2, "log").to_unit([[1.0, -3.0], [0.0, 2.0]])


class TestJson:
    @given(dimensions())
    def test_round_trip(self, dimension):
        data = json.loads(json.dumps(dimension.to_dict()))
        again = dimension_from_dict(data)
        assert type(again) is type(dimension)
        assert again.to_dict() == dimension.to_dict() == data
        assert again.knots.tolist() == dimension.knots.tolist()
        assert again.knot_units.tolist() == dimension.knot_units.tolist()


@pytest.mark.parametrize("dimension", [Levels([1, 2], unit="kg"), Interval(1, 2, unit="m/s")])
def test_a_unit_is_kept_and_changes_nothing_else(dimension):
    again = dimension_from_dict(dimension.to_dict())
    assert again.unit == dimension.unit
    assert repr(dimension.unit) in repr(again)
    assert again.to_unit([1.5]) == dimension.to_unit([1.5])
    assert "unit" not in Levels([1, 2]).to_dict()


@pytest.mark.parametrize("unit", ["", " ", "k\ng", 3, "\x1b[31m"])
def test_a_unit_is_a_text_that_can_be_seen(unit):
    with pytest.raises(ContextError, match="visible text"):
        Levels([1, 2], unit=unit)
