"""The linear generalization gap against its definition, written with loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.transfer import SeparableGap, gap

SHAPES = [(1,), (5,), (1, 1), (2, 3), (4, 1), (1, 6), (7, 2), (2, 3, 4), (3, 1, 2), (2, 1, 3, 2)]
SLOPES = st.one_of(st.just(0.0), st.floats(-5, 5))


def grid(shape, seed=0):
    """A grid of this shape whose values come in no particular order."""
    rng = np.random.default_rng(seed)
    values = [rng.permutation(np.cumsum(rng.uniform(0.5, 2.0, size=n))) for n in shape]
    return ContextSpace(**{f"d{i}": v for i, v in enumerate(values)})


def listed(n, n_dimensions, seed=0):
    rng = np.random.default_rng(seed)
    dimensions = {f"d{i}": Interval(0, 1) for i in range(n_dimensions)}
    return ContextSpace(rng.random((n, n_dimensions)), **dimensions)


def definition(left, right, x, y):
    """J(pi_x, y) - J(pi_x, x), straight from the module's first formula."""
    total = 0.0
    for d in range(len(x)):
        if y[d] > x[d]:
            total += left[d] * (y[d] - x[d])
        else:
            total += right[d] * (x[d] - y[d])
    return total


def brute_force(space, left, right, values, thresholds, sources):
    improvements = []
    for value, x in zip(values, sources, strict=True):
        total = 0.0
        for threshold, y in zip(thresholds, space.unit_targets, strict=True):
            total += max(value + definition(left, right, x, y) - threshold, 0.0)
        improvements.append(total / len(space))
    return improvements


def problem(space, seed):
    """Slopes of both signs, values and thresholds that improve some targets only."""
    rng = np.random.default_rng(seed)
    d = space.n_dimensions
    left, right = rng.normal(size=d), rng.normal(size=d)
    return left, right, rng.normal(size=len(space)), rng.normal(size=len(space))


class TestChange:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_against_the_definition(self, shape):
        space = grid(shape)
        rng = np.random.default_rng(1)
        left, right = rng.normal(size=(2, len(shape)))
        sources, targets = rng.random((3, len(shape))), rng.random((2, len(shape)))
        model = SeparableGap(space, left, right)
        for ys, change in (
            (space.unit_targets, model.change(sources)),
            (targets, model.change(sources, targets)),
        ):
            expected = [[definition(left, right, x, y) for y in ys] for x in sources]
            np.testing.assert_allclose(change, expected, atol=1e-12)

    @given(st.data())
    def test_any_slopes_and_any_points_even_outside_the_box(self, data):
        d = data.draw(st.integers(1, 3))
        point = st.lists(st.floats(-1, 2), min_size=d, max_size=d)
        left, right = (data.draw(st.lists(SLOPES, min_size=d, max_size=d)) for _ in range(2))
        xs, ys = (data.draw(st.lists(point, min_size=1, max_size=3)) for _ in range(2))
        change = SeparableGap(grid((2,) * d), left, right).change(np.array(xs), np.array(ys))
        expected = [[definition(left, right, x, y) for y in ys] for x in xs]
        np.testing.assert_allclose(change, expected, atol=1e-12)

    @given(st.lists(st.floats(0, 10), min_size=2, max_size=2))
    def test_distance_is_the_weighted_l1_distance(self, weights):
        space = grid((3, 4))
        units = space.unit_targets
        change = SeparableGap.distance(space, np.array(weights)).change(units)
        expected = (np.abs(units[:, None] - units) * weights).sum(axis=2)
        np.testing.assert_allclose(change, -expected, atol=1e-12)


def gains(model, values, thresholds, sources=None):
    """Mean over the targets of the advantages above 0, put together from the pieces."""
    found = np.full(len(values), np.nan)
    for where, advantages in model.advantages(values, thresholds, sources):
        found[where] = np.maximum(advantages, 0.0).mean(axis=1)
    return found


class TestAdvantages:
    @pytest.mark.parametrize("space", [grid((3, 4)), grid((5,)), listed(6, 2)], ids=repr)
    def test_for_given_sources(self, space):
        left, right, _, thresholds = problem(space, 0)
        rng = np.random.default_rng(1)
        sources, values = rng.random((7, space.n_dimensions)), rng.normal(size=7)
        fast = gains(SeparableGap(space, left, right), values, thresholds, sources)
        slow = brute_force(space, left, right, values, thresholds, sources)
        assert fast.shape == (7,)
        np.testing.assert_allclose(fast, slow, atol=1e-12)

    @given(st.data())
    def test_any_slopes(self, data):
        shape = data.draw(st.sampled_from([(3,), (2, 3), (3, 1, 2)]))
        space = grid(shape)
        numbers = st.floats(-3, 3)
        left, right = (
            np.array(data.draw(st.lists(SLOPES, min_size=len(shape), max_size=len(shape))))
            for _ in range(2)
        )
        values, thresholds = (
            np.array(data.draw(st.lists(numbers, min_size=len(space), max_size=len(space))))
            for _ in range(2)
        )
        fast = gains(SeparableGap(space, left, right), values, thresholds)
        slow = brute_force(space, left, right, values, thresholds, space.unit_targets)
        np.testing.assert_allclose(fast, slow, atol=1e-12)

    def test_grid_and_list_agree(self):
        space = grid((4, 3, 2))
        same = ContextSpace(space.targets, **space.dimensions)
        left, right, values, thresholds = problem(space, 3)
        on_grid, on_list = (
            gains(SeparableGap(s, left, right), values, thresholds) for s in (space, same)
        )
        np.testing.assert_allclose(on_grid, on_list, atol=1e-12)

    @pytest.mark.parametrize("piece", [1, 5, 24, 25, 50, 100])
    @pytest.mark.parametrize("space", [grid((4, 3, 2)), grid((13,)), listed(11, 2)], ids=repr)
    def test_the_size_of_the_pieces_changes_nothing(self, monkeypatch, space, piece):
        left, right, values, thresholds = problem(space, 4)
        model = SeparableGap(space, left, right)
        whole = gains(model, values, thresholds)
        monkeypatch.setattr(gap, "PIECE", piece)
        np.testing.assert_allclose(gains(model, values, thresholds), whole, atol=1e-12)

    def test_a_grid_is_worked_on_as_a_grid(self, monkeypatch):
        monkeypatch.setattr(SeparableGap, "_pieces", lambda *_: pytest.fail("the slow way"))
        for shape in ((3, 2), (3, 2, 2)):
            space = grid(shape)
            left, right, values, thresholds = problem(space, 0)
            gains(SeparableGap(space, left, right), values, thresholds)
