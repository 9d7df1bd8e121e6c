"""Targets that are refused, and what the messages say."""

import pytest

from sdmbtl.contexts import ContextSpace, Interval, Levels
from sdmbtl.errors import ContextError


class TestErrors:
    @pytest.mark.parametrize(
        ("targets", "dimensions", "message"),
        [
            (
                None,
                {},
                "A context space needs at least one dimension. Write for example "
                "ContextSpace(mass=[0.1, 1.0, 10.0]), or ContextSpace.from_targets(targets).",
            ),
            (
                None,
                {"mass": 3.0},
                "Dimension 'mass' must be a list of numbers, Levels(...) or Interval(low, high). "
                "Got 3.0 instead.",
            ),
            (
                None,
                {"a": [1, 2], "mass": [1, 1]},
                "Dimension 'mass': Values of a dimension must be distinct. Got 1 more than once. "
                "Remove the repeats.",
            ),
            (
                None,
                {"a": [1, 2], "b": Interval(0, 1)},
                "Dimension 'b' has bounds but no values, so there is no grid of targets. Give "
                "values, pass a target list as the first argument, or use "
                "ContextSpace.sample(n, ...).",
            ),
            (
                None,
                {"a": Levels([1.0, 1e-6, 1e-5, 0.5, -1e6], "linear")},
                "Dimension 'a': 1e-06 and 1e-05 are the same on a linear scale from -1e+06 to "
                "1. Use scale='steps' or 'log', or drop one of them.",
            ),
            ([], {"a": [1]}, "A target list needs at least one context. Got none."),
            (5, {"a": [1]}, "Targets must be a list of contexts. Got 5 instead."),
            (
                [[1, 1], [1]],
                {"a": [1, 2], "b": [1]},
                "Target 1: A context has 2 values, in the order ['a', 'b']. Got 1 instead.",
            ),
            (
                [{"a": 1}, {"b": 1}],
                {"a": [1, 2]},
                "Target 1: Unknown dimension 'b'; this space has ['a'].",
            ),
            (
                [[1, 0], [1, 0.5], [1, 2.5]],
                {"a": [1], "b": Interval(0, 1)},
                "Target 2 has b=2.5, outside its bounds [0, 1]. Widen the dimension or drop the "
                "target.",
            ),
            (
                [[-0.1]],
                {"a": Interval(0, 1)},
                "Target 0 has a=-0.1, outside its bounds [0, 1]. Widen the dimension or drop the "
                "target.",
            ),
            (
                [[2.0]],
                {"a": [1.0]},
                "Target 0 has a=2, outside its bounds [1, 1]. Widen the dimension or drop the "
                "target.",
            ),
            (
                [[0.0]],
                {"a": Interval(1e-6, 1e6, "log")},
                "Target 0 has a=0, outside its bounds [1e-06, 1e+06]. Widen the dimension or drop "
                "the target.",
            ),
            (
                [[0.5], [0.25], [0.5]],
                {"a": Interval(0, 1)},
                "Targets must be distinct. Targets 0 and 2 are both a=0.5. Drop one of them.",
            ),
            (
                [[1e6], [1e-6], [1e-5]],
                {"a": Interval(1e-6, 1e6)},
                "Targets must be distinct. Targets 1 and 2, a=1e-06 and a=1e-05, are the same "
                "on the scale of their dimensions. Drop one of them, or give dimensions with "
                "scale='steps' or 'log'.",
            ),
        ],
    )
    def test_messages(self, targets, dimensions, message):
        with pytest.raises(ContextError) as caught:
            ContextSpace(targets, **dimensions)
        assert str(caught.value) == message
