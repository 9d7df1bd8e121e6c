"""Observed rows: checks, derived quantities against plain loops."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import RowError
from sdmbtl.transfer import ObservedRows, as_episodes, as_row

SPACE = ContextSpace(a=[0, 1, 2, 4], b=[10.0, 20.0])
N = len(SPACE)
NAN = math.nan
PARTS = ("sources", "unit_sources", "returns", "source_positions", "source_returns")


def some_rows(k=3, seed=0, missing=0.0, sources=None):
    rng = np.random.default_rng(seed)
    returns = rng.normal(500, 10, size=(k, N))
    returns[rng.random((k, N)) < missing] = np.nan
    if sources is None:
        sources = SPACE.targets[rng.integers(N, size=k)]
    return ObservedRows(SPACE, sources, returns)


@st.composite
def partial_rows(draw):
    """1 to 5 rows of small whole numbers, so that ties happen, with holes; any sources."""
    k = draw(st.integers(1, 5))
    cell = st.one_of(st.none(), st.integers(-3, 3).map(float))
    row = st.lists(cell, min_size=N, max_size=N).filter(lambda r: any(v is not None for v in r))
    source = st.tuples(st.integers(0, 8).map(lambda v: v / 2), st.floats(10, 20))
    own = st.one_of(st.just(NAN), st.floats(-9, 9))
    return ObservedRows(
        SPACE,
        draw(st.lists(source, min_size=k, max_size=k)),
        draw(st.lists(row, min_size=k, max_size=k)),
        draw(st.lists(own, min_size=k, max_size=k)),
    )


def assert_same(one, other):
    for name in PARTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert one.space == other.space


class TestAsRow:
    def test_nan_and_none_mean_not_evaluated(self):
        row = as_row([1, None, NAN, 2.5, 0, 0, 0, 0], SPACE)
        np.testing.assert_array_equal(row, [1, NAN, NAN, 2.5, 0, 0, 0, 0])
        assert row.dtype == np.float64

    def test_masked_means_not_evaluated(self):
        row = as_row(np.ma.masked_array(np.arange(8.0), mask=[0, 1] + [0] * 6), SPACE)
        np.testing.assert_array_equal(row, [0, NAN, 2, 3, 4, 5, 6, 7])
        assert type(row) is np.ndarray

    @pytest.mark.parametrize("bad", [[1.0] * 7, [1.0] * 9, 1.0, []])
    def test_wrong_length(self, bad):
        with pytest.raises(RowError) as caught:
            as_row(bad, SPACE)
        assert str(caught.value) == (
            "A row must have shape (8,), one return for each target, NaN where not evaluated. "
            f"Got shape {np.shape(bad)} instead."
        )

    @pytest.mark.parametrize("bad", [np.inf, -np.inf, 2e100])
    def test_too_large(self, bad):
        with pytest.raises(RowError, match=rf"Got {re.escape(f'{bad:g}')} on target 3"):
            as_row([1, 1, 1, bad, bad, 1, 1, 1], SPACE)
        assert as_row([1e100] * N, SPACE).max() == 1e100

    def test_nothing_evaluated(self):
        with pytest.raises(RowError) as caught:
            as_row([NAN] * N, SPACE)
        assert str(caught.value) == (
            "A row needs at least one evaluated target. Got only NaN. "
            "If the training run failed, tell it with status='failed'."
        )

    @pytest.mark.parametrize("bad", [["x"] * N, ["1.5"] * N, [1.0] * 7 + ["2"], "8 returns", {}])
    def test_no_numbers(self, bad):
        with pytest.raises(RowError) as caught:
            as_row(bad, SPACE)
        assert str(caught.value) == (
            f"A row must hold one number for each of the 8 targets. Got {bad!r} instead."
        )


class TestConstruction:
    def test_empty(self):
        rows = ObservedRows(SPACE)
        assert len(rows) == 0
        assert rows.returns.shape == (0, N)
        assert rows.sources.shape == rows.unit_sources.shape == (0, 2)
        assert rows.source_positions.shape == rows.source_returns.shape == (0,)
        assert np.isnan(rows.best).all()
        assert np.isnan(rows.target_means).all()
        assert rows.relative.shape == (0, N)

    def test_counts_must_agree(self):
        for rows in ([[[1.0] * N] * 2], [[[1.0] * N], [1.0, 2.0]], []):
            with pytest.raises(RowError):
                ObservedRows(SPACE, [[0, 10]], *rows)

    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    def test_source_returns_are_finite(self, bad):
        with pytest.raises(RowError, match="inf"):
            ObservedRows(SPACE, [[0, 10]], [[1.0] * N], [bad])
        with pytest.raises(RowError, match="inf"):
            some_rows().added([0, 10], [1.0] * N, bad)


class TestDerived:
    @given(partial_rows())
    def test_against_plain_loops(self, rows):
        best, means = [], []
        for j in range(N):
            seen = [v for v in rows.returns[:, j] if not math.isnan(v)]
            best.append(max(seen) if seen else NAN)
            means.append(sum(seen) / len(seen) if seen else NAN)
        np.testing.assert_array_equal(rows.best, best)
        np.testing.assert_allclose(rows.target_means, means)
        for i in range(len(rows)):
            for j in range(N):
                expected = rows.returns[i, j] - means[j]
                assert rows.relative[i, j] == pytest.approx(expected, nan_ok=True, abs=1e-12)


class TestSources:
    def test_a_source_that_is_not_a_target_takes_the_nearest(self):
        rows = ObservedRows(SPACE, [[3.5, 18.0]], [np.arange(8.0)])
        assert rows.source_positions.tolist() == [7]
        assert rows.source_returns.tolist() == [7.0]

    def test_what_was_not_evaluated_on_its_source_is_unknown(self):
        row = [0.0, 1.0, 2.0, 3.0, NAN, 5.0, NAN, NAN]
        rows = ObservedRows(SPACE, [[4, 20], [3.9, 20]], [row, row])
        assert rows.source_positions.tolist() == [7, 7]
        assert np.isnan(rows.source_returns).all()
        given_ = ObservedRows(SPACE, [[4, 20], [3.9, 20]], [row, row], [8.0, 9.0])
        assert given_.source_returns.tolist() == [8.0, 9.0]

    def test_a_given_source_return_wins_and_nan_does_not(self):
        sources, row = [[3.5, 18.0]] * 3, [np.arange(8.0)] * 3
        rows = ObservedRows(SPACE, sources, row, [99.0, NAN, 0.0])
        assert rows.source_returns.tolist() == [99.0, 7.0, 0.0]
        assert rows.source_positions.tolist() == [7, 7, 7]

    def test_the_row_wins_where_the_source_is_a_target(self):
        rows = ObservedRows(SPACE, [[4, 20], [4.0 - 1e-12, 20]], [np.arange(8.0)] * 2, [99.0] * 2)
        assert rows.source_returns.tolist() == [7.0, 7.0]


class TestGrowing:
    @given(partial_rows())
    def test_adding_one_by_one_equals_all_at_once(self, rows):
        grown = ObservedRows(SPACE)
        for source, row, own in zip(rows.sources, rows.returns, rows.source_returns, strict=True):
            grown = grown.added(SPACE.context(source), row.tolist(), float(own))
        assert_same(grown, rows)

    def test_continues(self):
        rows = some_rows(3, missing=0.3)
        more = rows.added([1, 10], [1.0] * N)
        assert more.continues(rows)
        assert rows.continues(rows)
        assert rows.continues(ObservedRows(SPACE))
        assert not rows.continues(more)

    def test_does_not_continue_what_is_different(self):
        rows = some_rows(3, missing=0.3, sources=SPACE.targets[:3] + np.array([0.25, 0.0]))
        returns, sources, own = rows.returns.copy(), rows.sources.copy(), rows.source_returns.copy()

        def changed(**parts):
            parts = {"sources": sources, "returns": returns, "source_returns": own, **parts}
            return ObservedRows(parts.pop("space", SPACE), **parts)

        assert changed().continues(rows)
        for j in (0, 7):
            other = returns.copy()
            other[0, j] = 1.0 if np.isnan(other[0, j]) else other[0, j] + 1e-9
            assert not changed(returns=other).continues(rows)
        other = sources.copy()
        other[1] = [4, 20]
        assert not changed(sources=other).continues(rows)
        assert not changed(source_returns=own + 1.0).continues(rows)
        order = [1, 0, 2]
        assert not changed(
            sources=sources[order], returns=returns[order], source_returns=own[order]
        ).continues(rows)
        assert not changed(space=ContextSpace(a=[0, 1, 2, 4], b=[10, 30])).continues(rows)

    def test_rows_cannot_be_changed(self):
        rows = some_rows(2)
        for kept in (rows, rows.added([1, 10], [1.0] * N)):
            for name in PARTS:
                with pytest.raises(ValueError, match="read-only"):
                    getattr(kept, name)[0] = 1.0


class TestPandas:
    """A Series is put in order by an index that names the targets, or refused."""

    SPACE = ContextSpace(a=[1.0, 2.0], b=[5.0, 6.0, 7.0])
    ROW = np.arange(6.0)

    def by_name(self, order):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(self.SPACE.targets[order], columns=["a", "b"])
        frame["return"] = self.ROW[order]
        return frame.set_index(["b", "a"])["return"]

    def test_by_the_values_of_the_targets(self):
        assert np.array_equal(as_row(self.by_name([4, 0, 5, 1, 3, 2]), self.SPACE), self.ROW)
        some = as_row(self.by_name([4, 1]), self.SPACE)
        assert np.array_equal(some, [np.nan, 1, np.nan, np.nan, 4, np.nan], equal_nan=True)

    def test_by_the_numbers_of_the_targets(self):
        pandas = pytest.importorskip("pandas")
        shuffled = pandas.Series(self.ROW).sample(frac=1, random_state=3)
        assert np.array_equal(as_row(shuffled, self.SPACE), self.ROW)
        episodes = pandas.DataFrame({"one": self.ROW, "two": -self.ROW})[::-1]
        assert np.array_equal(as_episodes(episodes, self.SPACE)[:, 1], -self.ROW)

    def test_any_other_index_is_refused(self):
        pandas = pytest.importorskip("pandas")
        moved = pandas.Series(self.ROW, index=range(1, 7))
        named = pandas.Series(self.ROW, index=list("abcdef"))
        twice = self.by_name([0, 1, 2, 3, 4, 4])
        for bad in (moved, named, twice, moved[:3]):
            with pytest.raises(RowError, match="index"):
                as_row(bad, self.SPACE)
