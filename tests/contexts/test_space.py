"""The context space: targets, look-up, conversions, storage, error messages."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace, Interval, Levels
from sdmbtl.errors import ContextError

SPACE = ContextSpace(length=[0.5, 1.0, 2.0], mass=[0.1, 1.0])


@st.composite
def grids(draw):
    """Grids of 1 to 4 dimensions with 1 to 4 values each, in any order, of any magnitude."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    dimensions = {}
    for i, size in enumerate(sizes):
        order = draw(st.permutations(range(size)))
        magnitude = 10.0 ** draw(st.integers(-6, 6))
        scale = draw(st.sampled_from(["steps", "linear", "log"]))
        dimensions[f"d{i}"] = Levels([magnitude * (1.0 + v) for v in order], scale)
    return ContextSpace(**dimensions)


def unit_points(space):
    return st.lists(
        st.floats(-0.5, 1.5), min_size=space.n_dimensions, max_size=space.n_dimensions
    ).map(np.array)


class TestGrid:
    def test_the_last_dimension_varies_fastest(self):
        assert SPACE.targets.tolist() == [
            [0.5, 0.1],
            [0.5, 1.0],
            [1.0, 0.1],
            [1.0, 1.0],
            [2.0, 0.1],
            [2.0, 1.0],
        ]
        assert (SPACE.names, SPACE.shape) == (("length", "mass"), (3, 2))

    @given(grids())
    def test_any_grid_is_the_product_of_its_values(self, space):
        values = [d.values.tolist() for d in space.dimensions.values()]
        assert [tuple(t) for t in space.targets.tolist()] == list(itertools.product(*values))
        assert space.shape == tuple(map(len, values))
        assert space.bounds == {n: (d.low, d.high) for n, d in space.dimensions.items()}

    def test_targets_cannot_be_changed(self):
        for array in (SPACE.targets, SPACE.unit_targets):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 9.0


class TestTargetList:
    def test_vectors_and_contexts_in_the_given_order(self):
        listed = [[1.0, 5.0], {"b": 4.0, "a": 0.5}, (0.0, 6.0)]
        space = ContextSpace(listed, a=Interval(0, 2), b=[4, 5, 6])
        assert space.targets.tolist() == [[1.0, 5.0], [0.5, 4.0], [0.0, 6.0]]
        assert (space.is_grid, space.shape, len(space)) == (False, (3,), 3)
        assert space.bounds == {"a": (0.0, 2.0), "b": (4.0, 6.0)}
        np.testing.assert_allclose(space.unit_targets, [[0.5, 0.5], [0.25, 0.0], [0.0, 1.0]])


class TestSample:
    def test_fills_the_box_evenly(self):
        space = ContextSpace.sample(64, a=Interval(10, 20), b=Interval(1e-3, 1e3, "log"))
        assert (len(space), space.is_grid) == (64, False)
        assert all(context in space for context in space)
        counts, *_ = np.histogram2d(*space.unit_targets.T, bins=8, range=[[0, 1], [0, 1]])
        assert counts.tolist() == np.ones((8, 8)).tolist()  # a (0, 6, 2)-net

    def test_the_seed_decides(self):
        one, same, other = (ContextSpace.sample(9, seed=s, a=Interval(0, 1)) for s in (1, 1, 2))
        assert one == same
        assert one != other

    def test_lists_of_values_give_their_values_only(self):
        space = ContextSpace.sample(20, a=[3, 1, 2], b=Interval(0, 1))
        assert set(space.targets[:, 0]) == {1.0, 2.0, 3.0}
        assert [space.find(context) for context in space] == list(range(20))


class TestVectors:
    def test_contexts_and_vectors(self):
        for given_ in ({"mass": 0.3, "length": 1}, [1, 0.3], (1, 0.3), np.array([1, 0.3])):
            assert SPACE.vector(given_).tolist() == [1.0, 0.3]
        assert SPACE.context([1, 0.3]) == {"length": 1.0, "mass": 0.3}
        assert list(SPACE.context(np.float32([1, 0.5]))) == ["length", "mass"]
        assert all(type(v) is float for v in SPACE.context(np.float32([1, 0.5])).values())

    @pytest.mark.parametrize("array", [1.0, [1.0, 2.0, 3.0], np.ones((2, 1))])
    def test_wrong_last_axis(self, array):
        with pytest.raises(ContextError, match="Contexts need 2 values in their last axis"):
            SPACE.to_unit(array)


class TestLookUp:
    @given(st.data())
    def test_nearest_equals_a_plain_search(self, data):
        space = data.draw(grids())
        point = data.draw(unit_points(space))
        among = data.draw(st.lists(st.booleans(), min_size=len(space), max_size=len(space)))
        allowed = [i for i in range(len(space)) if among[i]]
        if not allowed:
            return
        best = space.nearest_to_unit(point, among=np.array(among))
        assert best in allowed
        distance = [
            sum(abs(u - p) for u, p in zip(t, point, strict=True)) for t in space.unit_targets
        ]
        assert distance[best] <= min(distance[i] for i in allowed) + 1e-8

    def test_distance_is_measured_in_units_not_values(self):
        space = ContextSpace([[0, 0], [100, 10]], grams=Interval(0, 1000), share=Interval(0, 10))
        assert space.nearest([90, 1]) == 0
        assert ContextSpace(a=[1, 10, 1000]).nearest([500]) == 1

    def test_ties_go_to_the_central_then_the_lower_target(self):
        space = ContextSpace(a=[0, 1, 2, 3, 4])
        assert space.target(space.nearest([0.5])) == {"a": 1.0}
        assert space.target(space.nearest([2.5])) == {"a": 2.0}
        two = ContextSpace(a=[0, 1], b=[0, 1])
        assert two.target(two.nearest([0.5, 0.5])) == {"a": 0.0, "b": 0.0}
        assert two.target(two.nearest([0.5, 1.0])) == {"a": 0.0, "b": 1.0}

    def test_rounding_does_not_decide_the_rank(self):
        # Equally far from the centre and equal in a, up to rounding: b decides.
        targets = [[0.1 + 0.2, 0.2], [0.3, 0.8]]
        space = ContextSpace(targets, a=Interval(0, 1), b=Interval(0, 1))
        assert space.tie_rank.tolist() == [0, 1]

    def test_found_up_to_rounding_only(self):
        space = ContextSpace(a=[0.1, 0.2, 0.3], b=[1, 2])
        assert space.find([0.1 + 0.2, 2.0]) == 5
        assert space.find([0.2 + 0.5e-10, 1.0]) == 2
        assert space.find([0.2 + 1e-8, 1.0]) is None
        assert space.find([0.2, 1.0 + 1e-8]) is None

    def test_another_value_of_a_constant_dimension_is_another_context(self):
        space = ContextSpace(gravity=[9.81], zero=[0.0], mass=[1.0, 2.0])
        assert space.find([9.81, 0.0, 2.0]) == 1
        assert space.find([9.81 * (1 + 1e-12), 0.0, 2.0]) == 1
        assert space.find([3.7, 0.0, 2.0]) is None
        assert space.find([9.81, 1e-3, 2.0]) is None
        assert space.nearest([3.7, 0.0, 2.0]) == 1
        assert [9.81, 0.0, 1.5] in space
        assert [3.7, 0.0, 1.5] not in space

    def test_in_asks_for_the_box(self):
        for inside in ({"length": 0.7, "mass": 0.5}, [0.5, 0.1], [2.0, 1.0], [2.0 + 1e-12, 1.0]):
            assert inside in SPACE
        for outside in ([0.4, 0.5], [2.1, 0.5], [1.0, 0.05], {"length": 1, "mass": 1.1}):
            assert outside not in SPACE

    def test_zero_is_outside_a_log_scale(self):
        space = ContextSpace(a=Levels([1, 10], "log"))
        assert [5.0] in space
        assert [0.0] not in space
        assert [-1.0] not in space
        with pytest.raises(ContextError, match="takes values above 0"):
            space.nearest([0.0])


class TestStorage:
    @given(grids())
    def test_json_round_trip_of_a_grid(self, space):
        again = ContextSpace.from_dict(json.loads(json.dumps(space.to_dict())))
        assert again == space
        assert hash(again) == hash(space)
        assert again.is_grid
        assert again.targets.tolist() == space.targets.tolist()
        assert again.unit_targets.tolist() == space.unit_targets.tolist()

    @pytest.mark.parametrize(
        "data",
        [
            {"version": 1},
            {"version": 1, "dimensions": 5},
            {"version": 1, "dimensions": [{"values": [1], "scale": "steps"}]},
            {"version": 1, "dimensions": ["a"]},
        ],
    )
    def test_what_does_not_describe_a_space_is_refused(self, data):
        with pytest.raises(ContextError, match="This does not describe a context space"):
            ContextSpace.from_dict(data)

    @pytest.mark.parametrize(
        "other",
        [
            ContextSpace(mass=[0.1, 1.0], length=[0.5, 1.0, 2.0]),
            ContextSpace(length=[1.0, 0.5, 2.0], mass=[0.1, 1.0]),
            ContextSpace(length=[0.5, 1.0, 2.0], mass=[0.1, 1.5]),
            ContextSpace(length=[0.5, 1.0, 2.0], weight=[0.1, 1.0]),
            ContextSpace(length=[0.5, 1.0, 2.0], mass=Levels([0.1, 1.0], "linear")),
            ContextSpace(SPACE.targets, **SPACE.dimensions),
            "SPACE",
        ],
        ids=["dimensions", "values", "value", "name", "scale", "listed", "type"],
    )
    def test_different_spaces(self, other):
        assert other != SPACE
