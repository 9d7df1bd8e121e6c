"""Sources as values, and the geometry of regions: properties and closed forms."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl import ContextSpace, Levels
from sdmbtl.contexts import Source, load_space
from sdmbtl.contexts.regions import describe_briefly, draw_lowest
from sdmbtl.errors import ContextError
from sdmbtl.testing.spaces import example_spaces

SPACES = {name: space for name, space in example_spaces().items() if space.is_box}
GRID = ContextSpace(a=np.arange(5.0), b=[0.0, 1.0, 10.0])

units = st.floats(0, 1)
widths = st.floats(0.001, 1)


@st.composite
def regions(draw, least=0.001):
    space = draw(st.sampled_from(list(SPACES.values())))
    unit = [draw(units) for _ in space.names]
    return space, Source.at(space.from_unit(unit), width=draw(st.floats(least, 1)))


class TestSource:
    @given(
        st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4),
        st.floats(0, 1),
        st.none() | st.integers(0, 99),
        st.none() | st.integers(1, 10**9),
    )
    def test_there_and_back(self, center, width, parent, steps):
        source = Source.at(center, width=width, parent=parent, steps=steps)
        again = Source.from_dict(json.loads(json.dumps(source.to_dict())))
        assert again == source
        assert hash(again) == hash(source)

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            ({"width": 0.5}, "does not describe a source.*center"),
            ({"center": ["x"]}, "does not describe a source"),
            ({"center": [1.0], "width": 1.5}, "0 .a point. to 1 .the whole space.. Got 1.5"),
            ({"center": [1.0], "width": -0.1}, "'width' must be a finite number >= 0. Got -0.1"),
            ({"center": [1.0], "width": "all"}, "'width' must be.*Got 'all'"),
            ({"center": [1.0], "parent": -1}, "'parent' must be a whole number >= 0. Got -1"),
            ({"center": [1.0], "parent": 0.5}, "'parent' must be.*Got 0.5"),
            ({"center": [1.0], "steps": 0}, "'steps' must be a whole number >= 1. Got 0"),
            ({"center": [1.0], "size": 1}, "size"),
        ],
    )
    def test_what_is_none(self, data, text):
        with pytest.raises(ContextError, match=text):
            Source.from_dict(data)


class TestRegion:
    @pytest.mark.parametrize("name", SPACES)
    def test_the_whole_space(self, name):
        space = SPACES[name]
        whole = space.whole(parent=2, steps=9)
        assert (whole.width, whole.parent, whole.steps) == (1.0, 2, 9)
        assert space.region(whole) == space.bounds
        assert space.is_whole(whole)
        assert space.targets_in(whole).all()

    @given(regions())
    def test_edges_are_clipped_and_as_wide_as_said(self, given):
        space, source = given
        region = space.region(source)
        lows, highs = (space.to_unit([ends[i] for ends in region.values()]) for i in (0, 1))
        center = space.to_unit(source.vector)
        varies = np.array([d.low < d.high for d in space.dimensions.values()])
        expected_low = np.clip(center - source.width / 2, 0, 1)
        expected_high = np.clip(center + source.width / 2, 0, 1)
        assert np.allclose(lows[varies], expected_low[varies], atol=2e-9)
        assert np.allclose(highs[varies], expected_high[varies], atol=2e-9)
        for (low, high), (bottom, top) in zip(region.values(), space.bounds.values(), strict=True):
            assert bottom <= low <= high <= top

    def test_a_point(self):
        source = GRID.source(4)
        assert GRID.region(source) == {"a": (1.0, 1.0), "b": (1.0, 1.0)}
        assert np.flatnonzero(GRID.targets_in(source)).tolist() == [4]
        near = Source.at([1.2, 0.9])
        assert np.flatnonzero(GRID.targets_in(near)).tolist() == [GRID.nearest([1.2, 0.9])]

    @given(regions())
    def test_targets_in_a_region_by_brute_force(self, given):
        space, source = given
        center = space.to_unit(source.vector)
        half = source.width / 2 + 1e-9
        inside = [
            all(abs(u - c) <= half for u, c in zip(unit, center, strict=True))
            for unit in space.unit_targets
        ]
        found = space.targets_in(source)
        if any(inside):
            # Rounding may decide at the very edge.
            edge = np.isclose(np.abs(space.unit_targets - center), half, atol=1e-8).any(axis=1)
            assert np.array_equal(found[~edge], np.array(inside)[~edge])
        else:
            assert found.sum() >= 1
        assert found.any()

    def test_a_region_between_the_targets_has_the_nearest(self):
        source = Source.at([1.6, 0.2], width=0.01)
        assert np.flatnonzero(GRID.targets_in(source)).tolist() == [GRID.nearest([1.6, 0.2])]

    def test_in_words(self):
        wide = Source.at([1.0, 1.0], width=0.5, parent=3, steps=61440)
        assert GRID.describe(wide) == "a 0-2, b 0.5-5.5, from policy 3, 61,440 steps"
        assert GRID.describe(GRID.whole(steps=61440)) == "whole space, 61,440 steps"
        assert GRID.describe(GRID.source(4)) == "a=1 b=1"
        assert GRID.describe(Source.at([1, 1], parent=0)) == "a=1 b=1, from policy 0"
        below = ContextSpace(t=[-2.0, -1.0, 0.0])
        assert below.describe(Source.at([-1.0], width=0.5)) == "t -1.5 to -0.5"


class TestDraw:
    @given(regions(), st.integers(1, 40), st.integers(0, 9))
    def test_one_context_in_each_part_of_each_dimension(self, given, n, seed):
        space, source = given
        drawn = space.draw(source, n, np.random.default_rng(seed))
        assert drawn.shape == (n, space.n_dimensions)
        region = space.region(source)
        for column, (name, dimension) in zip(drawn.T, space.dimensions.items(), strict=True):
            low, high = dimension.to_unit(region[name])
            unit = dimension.to_unit(column)
            assert ((unit >= low - 1e-9) & (unit <= high + 1e-9)).all()
            if high - low > 1e-3:  # parts that are wider than rounding
                parts = (unit - low) / (high - low) * n
                assert np.allclose(np.sort(parts), np.arange(n) + 0.5, atol=0.5 + 1e-6)

    @given(st.sampled_from(sorted(SPACES)), st.integers(0, 9))
    def test_a_point_gives_its_one_context(self, name, seed):
        space = SPACES[name]
        source = space.source(0)
        drawn = space.draw(source, 64, np.random.default_rng(seed))
        assert drawn.tolist() == [list(source.center)]

    def test_unusable_numbers(self):
        with pytest.raises(ContextError, match="'n' must be a whole number >= 1"):
            GRID.draw(GRID.whole(), 0, np.random.default_rng(0))


class TestPrioritised:
    def test_half_of_the_contexts_are_targets_where_returns_are_low(self):
        space = ContextSpace(a=np.arange(30.0), b=np.arange(30.0))
        returns = space.targets.sum(axis=1)
        drawn = space.draw(space.whole(), 41, np.random.default_rng(0), returns)
        again, anywhere = drawn[:20], drawn[20:]
        numbers = [space.find(context) for context in again]
        assert None not in numbers
        assert len(set(numbers)) == 20, "each at most once"
        assert returns[numbers].mean() < np.quantile(returns, 0.1)
        parts = (anywhere[:, 0] / 29.0) * 21
        assert np.allclose(np.sort(parts), np.arange(21) + 0.5, atol=0.5 + 1e-6)

    def test_of_a_region_those_in_it_and_never_unknown_ones(self):
        returns = np.where(GRID.targets[:, 0] == 2.0, np.nan, GRID.targets[:, 0])
        source = Source.at([1.0, 1.0], width=0.5)
        inside = GRID.targets_in(source) & ~np.isnan(returns)
        for seed in range(20):
            drawn = GRID.draw(source, 8, np.random.default_rng(seed), returns)
            assert len(drawn) == 8
            known = [GRID.find(context) for context in drawn[: min(4, inside.sum())]]
            assert inside[known].all()

    def test_without_replacement_by_weights_that_fall_with_the_rank(self):
        rng = np.random.default_rng(5)
        returns = np.array([0.0, 2.0, 1.0, 3.0])
        drawn = np.array([draw_lowest(returns, 2, rng, temperature=1.0) for _ in range(4000)])
        assert (drawn[:, 0] != drawn[:, 1]).all()
        weights = np.array([1, 1 / 3, 1 / 2, 1 / 4]) / (1 + 1 / 3 + 1 / 2 + 1 / 4)
        np.testing.assert_allclose(np.bincount(drawn[:, 0]) / 4000, weights, atol=0.03)
        # The second of a draw without replacement: given the first, among the others.
        after = drawn[drawn[:, 0] == 0, 1]
        left = np.where(np.arange(4) == 0, 0, weights)
        shares = np.bincount(after, minlength=4) / len(after)
        np.testing.assert_allclose(shares, left / left.sum(), atol=0.04)


class TestDiscrete:
    SPACE = ContextSpace(lanes=Levels([1, 2, 3, 4], discrete=True), speed=[10.0, 20.0, 30.0])

    @given(st.integers(1, 20), widths, st.integers(0, 11), st.integers(0, 9))
    def test_only_targets_in_the_region_are_drawn(self, n, width, target, seed):
        source = Source.at(self.SPACE.targets[target], width)
        drawn = self.SPACE.draw(source, n, np.random.default_rng(seed))
        inside = np.flatnonzero(self.SPACE.targets_in(source))
        indices = [self.SPACE.find(context) for context in drawn]
        counts = np.bincount(indices, minlength=len(self.SPACE))
        assert len(indices) == n
        assert not counts[np.setdiff1d(np.arange(len(self.SPACE)), inside)].any()
        assert np.ptp(counts[inside]) <= 1, "each as often as any other"
        assert set(indices) <= set(inside.tolist())

    def test_there_is_nothing_between_true_and_false(self, tmp_path):
        path = tmp_path / "wind.toml"
        path.write_text("[dimensions.wind]\nvalues = [false, true]\n")
        space, _ = load_space(path)
        assert space == ContextSpace(wind=np.array([False, True]))
        assert space == ContextSpace(wind=Levels(iter([0, 1]), discrete=True))
        drawn = space.draw(space.whole(), 20, np.random.default_rng(0))
        assert {*drawn.ravel().tolist()} == {0.0, 1.0}
        path.write_text("[dimensions.wind]\nvalues = [false, true]\ndiscrete = false\n")
        with pytest.raises(ContextError, match="nothing between true and false"):
            load_space(path)


def test_regions_in_a_few_words():
    space = ContextSpace(mass=np.linspace(0, 100, 11), length=[0.0, 0.5, 1.0], wind=[0, 1, 2])
    words = {
        Source.at([50.0, 0.0, 1.0], width=0.4): "middle mass, lowest length",
        Source.at([20.0, 1.0, 1.0], width=0.3): "low mass, highest length",
        Source.at([10.0, 0.5, 1.0]): "mass=10 length=0.5 wind=1",
        space.whole(): "whole space",
    }
    assert {source: describe_briefly(space, source) for source in words} == words
