"""Slope estimates against explicit regressions and against known truths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.errors import StructureError
from sdmbtl.transfer import ObservedRows, Slopes, estimate_slopes
from sdmbtl.transfer.slopes import PairSums

METHODS = ["return", "relative", "within"]
LINE = ContextSpace(a=range(9))
GRID = ContextSpace(a=[0, 1, 2, 5], b=[30, 10, 20], c=[1e-3, 1.0, 1e3])


def ridge(space, sources, left, right, quality=0.0, difficulty=0.0):
    """(k, N) returns f·x + g(y) + h(x, y) with slopes along growing distance."""
    units = space.unit_targets
    x, y = space.to_unit(sources)[:, None, :], units[None, :, :]
    h = np.maximum(y - x, 0) @ left + np.maximum(x - y, 0) @ right
    return x @ np.broadcast_to(quality, len(left)) + difficulty + h


def random_rows(seed, missing=0.0, k=6, space=GRID):
    rng = np.random.default_rng(seed)
    sources = space.targets[rng.permutation(len(space))[:k]]
    returns = rng.normal(500, 10, size=(k, len(space)))
    returns[rng.random(returns.shape) < missing] = np.nan
    return ObservedRows(space, sources, returns)


def explicit_regression(rows, method):
    """The textbook way: one row of the design matrix for each pair, lstsq; (left, right)."""
    design, response = [], []
    n, d = len(rows.space), rows.space.n_dimensions
    for source, row in zip(rows.unit_sources, rows.returns, strict=True):
        for j, target in enumerate(rows.space.unit_targets):
            if np.isnan(row[j]):
                continue
            below = [min(x - y, 0.0) for x, y in zip(source, target, strict=True)]
            above = [max(x - y, 0.0) for x, y in zip(source, target, strict=True)]
            # "within" is the same as an intercept of its own for every target.
            intercepts = np.eye(n)[j].tolist() if method == "within" else [1.0]
            design.append(below + above + intercepts)
            column = rows.returns[:, j]
            removed = np.mean(column[~np.isnan(column)]) if method == "relative" else 0.0
            response.append(row[j] - removed)
    coefficients = np.linalg.lstsq(np.array(design), np.array(response), rcond=None)[0]
    return -coefficients[:d], coefficients[d : 2 * d]


def assert_close(slopes, left, right, atol=1e-9):
    np.testing.assert_allclose(slopes.left, left, atol=atol)
    np.testing.assert_allclose(slopes.right, right, atol=atol)


class TestRegression:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_the_explicit_regression(self, method, missing, seed):
        rows = random_rows(seed, missing, k=9)
        assert_close(estimate_slopes(rows, method), *explicit_regression(rows, method), atol=1e-8)

    @pytest.mark.parametrize("method", METHODS)
    def test_sources_that_are_not_targets_and_listed_targets(self, method):
        rng = np.random.default_rng(0)
        space = ContextSpace(rng.random((12, 2)), a=Interval(0, 1), b=Interval(0, 1))
        rows = ObservedRows(space, rng.random((5, 2)), rng.normal(size=(5, 12)))
        assert_close(estimate_slopes(rows, method), *explicit_regression(rows, method))

    def test_returns_far_from_zero_cost_no_digits(self):
        rows = random_rows(0, k=5)
        exact = np.round(rows.returns * 1024) / 1024  # with 1e9 added too
        near, far = (
            PairSums().regression(ObservedRows(GRID, rows.sources, exact + level), "within")
            for level in (0.0, 1e9)
        )
        for one, other in zip(near, far, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


class TestTruth:
    @given(st.integers(0, 1000))
    def test_within_is_exact_whatever_the_difficulty(self, seed):
        rng = np.random.default_rng(seed)
        left, right = rng.normal(size=(2, 3))
        # The corners tell the dimensions apart, whatever the other sources are.
        corners = GRID.from_unit(np.array(list(np.ndindex(2, 2, 2)), dtype=float))
        sources = np.vstack([corners, GRID.targets[rng.integers(len(GRID), size=3)]])
        difficulty = rng.normal(0, 100, size=len(GRID))
        rows = ObservedRows(GRID, sources, ridge(GRID, sources, left, right, 0, difficulty))
        assert_close(estimate_slopes(rows), left, right)

    @pytest.mark.parametrize("quality", [0.0, 0.5, -4.0])
    def test_a_linear_quality_tilts_both_sides(self, quality):
        # f x = f (x - y) + f y: the last term is difficulty, the first adds to the right and
        # takes from the left.
        left, right = np.array([-1.0, -2.0, 1.0]), np.array([-3.0, 1.0, -1.0])
        slope = quality * np.array([1.0, 2.0, 3.0])
        sources = GRID.targets[[0, 5, 17, 22, 35]]
        difficulty = np.random.default_rng(0).normal(size=len(GRID))
        rows = ObservedRows(GRID, sources, ridge(GRID, sources, left, right, slope, difficulty))
        assert_close(estimate_slopes(rows), left - slope, right + slope)

    def test_the_relative_estimate_is_biased_even_in_its_sign(self):
        left, right = np.array([1.0]), np.array([-3.0])
        sources = LINE.targets[[2, 6]]
        rows = ObservedRows(LINE, sources, ridge(LINE, sources, left, right))
        relative = estimate_slopes(rows, "relative")
        assert_close(relative, [-0.0625], [-1.5625])
        assert relative.falling.tolist() == [True]
        assert_close(estimate_slopes(rows, "within"), left, right)


class TestDegenerate:
    @pytest.mark.parametrize("method", METHODS)
    def test_a_dimension_of_one_value_has_slope_zero(self, method):
        space = ContextSpace(constant=[3.0], a=range(5))
        sources = space.targets[[0, 2, 4]]
        returns = ridge(space, sources, np.array([0.0, -1.0]), np.array([0.0, -2.0]))
        slopes = estimate_slopes(ObservedRows(space, sources, returns), method)
        assert (slopes.left[0], slopes.right[0]) == (0.0, 0.0)
        assert not slopes.falling[0]
        if method != "relative":
            assert_close(slopes, [0.0, -1.0], [0.0, -2.0])

    @pytest.mark.parametrize("seed", range(40))
    def test_what_rounding_leaves_of_zero_is_zero(self, seed):
        # Repeats of one source, or targets that one policy only was evaluated on, tell nothing.
        rng = np.random.default_rng(seed)
        space = ContextSpace(a=rng.random(4), b=rng.random(3), c=rng.random(4))
        n, k = len(space), 3
        sources = space.targets[rng.integers(n, size=k)]
        returns = rng.normal(500, 1, size=(k, n))
        repeated = ObservedRows(space, sources[[0] * k], returns)
        assert_close(estimate_slopes(repeated), np.zeros(3), np.zeros(3), atol=0)
        alone = np.where(np.arange(k)[:, None] == np.arange(n) % k, returns, np.nan)
        disjoint = ObservedRows(space, sources, alone)
        assert_close(estimate_slopes(disjoint), np.zeros(3), np.zeros(3), atol=0)

    @pytest.mark.parametrize("method", METHODS)
    def test_what_is_known(self, method):
        # Nothing lies below the sources in b, nothing on either side in c.
        space = ContextSpace(a=range(4), b=range(4), c=[1])
        sources = [[0, 0, 1], [2, 0, 1], [3, 0, 1]]
        returns = np.random.default_rng(0).normal(size=(3, 16))
        slopes = estimate_slopes(ObservedRows(space, sources, returns), method)
        assert slopes.known.tolist() == [True, False, False]
        assert slopes.right[1:].tolist() == [0.0, 0.0]


def made(left, right):
    names = tuple("abcde"[: len(left)])
    return Slopes(names, np.array(left), np.array(right), known=np.full(len(left), True))


class TestSlopes:
    @pytest.mark.parametrize(
        ("left", "right", "falling"),
        [
            ([-1.0], [-2.0], [True]),
            ([1.0], [2.0], [False]),
            ([-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [True, False, False, False]),
            ([0.0, -1.0], [-1.0, 0.0], [False, False]),
            ([0.0], [0.0], [False]),
            ([-1e-6, -1.0], [-1.0, -1.0], [True, True]),
            ([-1e-12, -1.0], [-1.0, -1.0], [False, True]),
            ([-1e-12], [-2e-12], [True]),
            ([-1.0, -1.0], [-1.0, -1e-12], [True, False]),
        ],
    )
    def test_falling_on_both_sides(self, left, right, falling):
        assert made(left, right).falling.tolist() == falling

    def test_steepness(self):
        slopes = made([-1.0, -6.0, 2.0, 0.0, 0.0], [-3.0, -2.0, -2.0, -1.0, 0.0])
        assert slopes.steepness.tolist() == [3.0, 3.0, 1.0, np.inf, np.inf]


class TestRunning:
    def check(self, running, rows, method="within"):
        fresh = estimate_slopes(rows, method)
        assert_close(running.slopes(rows, method), fresh.left, fresh.right, atol=1e-8)

    @pytest.mark.parametrize("method", METHODS)
    def test_rows_that_grow(self, method):
        running, rows = PairSums(), random_rows(0, missing=0.2, k=12)
        for k in (1, 2, 3, 3, 7, 12):
            part = ObservedRows(GRID, rows.sources[:k], rows.returns[:k])
            self.check(running, part, method)

    def test_growing_adds_the_new_rows_only(self, monkeypatch):
        rows = random_rows(0, k=5)
        running = PairSums()
        running.slopes(ObservedRows(GRID, rows.sources[:3], rows.returns[:3]), "within")
        added, original = [], PairSums._add
        monkeypatch.setattr(PairSums, "_add", lambda *row: added.append(1) or original(*row))
        running.slopes(rows, "within")
        assert len(added) == 2

    def test_another_order_and_fewer_rows(self):
        running, rows = PairSums(), random_rows(0)
        self.check(running, rows)
        self.check(running, ObservedRows(GRID, rows.sources[::-1], rows.returns[::-1]))
        self.check(running, ObservedRows(GRID, rows.sources[:2], rows.returns[:2]))
        self.check(running, ObservedRows(GRID, rows.sources[1:], rows.returns[1:]))


class TestErrors:
    def test_unknown_method(self):
        with pytest.raises(StructureError, match="'wihtin'.*within"):
            estimate_slopes(random_rows(0), "wihtin")
