"""Completed rows: what was evaluated stays, holes are read off neighbours, growth is cheap."""

import dataclasses

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models import CompletedRows
from sdmbtl.selectors.models.completed_rows import NEIGHBOURS, complete_returns
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.slopes import PairSums

GRID = ContextSpace(a=range(5), b=[0.5, 1.0, 2.0])
N = len(GRID)
NAN = np.nan


def random_rows(seed=0, missing=0.0, k=4):
    """Rows of noise on random targets; each is evaluated somewhere."""
    rng = np.random.default_rng(seed)
    returns = rng.normal(500, 10, size=(k, N))
    holes = rng.random(returns.shape) < missing
    holes[np.arange(k), rng.integers(N, size=k)] = False
    returns[holes] = NAN
    return ObservedRows(GRID, GRID.targets[rng.integers(N, size=k)], returns)


def interpolated(points, values, wanted):
    """Inverse squared distances to the nearest points, with loops."""
    result = []
    for place in wanted:
        squares = [float(((place - point) ** 2).sum()) for point in points]
        nearest = np.argsort(squares, kind="stable")[:NEIGHBOURS]
        weights = [1.0 / (squares[i] + 1e-6) for i in nearest]
        total = sum(w * values[i] for w, i in zip(weights, nearest, strict=True))
        result.append(total / sum(weights))
    return np.array(result)


def explicit_completion(rows):
    """The definition with loops over rows and targets."""
    units, returns = rows.space.unit_targets, rows.returns
    means = [np.mean([v for v in row if not np.isnan(v)]) for row in returns]
    effect = np.full(len(units), NAN)
    for j in range(len(units)):
        seen = [row[j] - mean for row, mean in zip(returns, means, strict=True)]
        seen = [v for v in seen if not np.isnan(v)]
        if seen:
            effect[j] = sum(seen) / (len(seen) + 0.5)
    nobody = np.isnan(effect)
    if nobody.any():
        effect[nobody] = interpolated(units[~nobody], effect[~nobody], units[nobody])
    difficulty = effect + np.mean(means)
    filled = returns.copy()
    for row in filled:
        holes = np.isnan(row)
        relative = (row - difficulty)[~holes]
        row[holes] = difficulty[holes] + interpolated(units[~holes], relative, units[holes])
    return filled


def assert_same(one, other):
    for name in ("sources", "returns", "own"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for field in dataclasses.fields(PairSums):
        if field.name != "space":
            np.testing.assert_array_equal(
                getattr(one.gaps, field.name), getattr(other.gaps, field.name), err_msg=field.name
            )


class TestCompleteRows:
    def test_are_taken_as_they_are(self):
        rows = random_rows()
        completed = CompletedRows.of(rows)
        assert len(completed) == 4
        np.testing.assert_array_equal(completed.returns, rows.returns)
        np.testing.assert_array_equal(completed.sources, rows.unit_sources)
        np.testing.assert_array_equal(completed.own, rows.source_returns)
        np.testing.assert_array_equal(completed.best, rows.best)
        assert completed.ceiling == rows.returns.max()

    def test_growing_is_the_same_as_from_scratch(self):
        rows = random_rows(k=6)
        completed = None
        for count in (1, 2, 4, 6):
            completed = CompletedRows.of(rows.only(slice(count)), completed)
            assert_same(completed, CompletedRows.of(rows.only(slice(count))))

    @pytest.mark.parametrize("change", ["return", "order", "fewer"])
    def test_other_rows_start_from_scratch(self, change):
        rows = random_rows()
        returns, sources = rows.returns.copy(), rows.sources.copy()
        if change == "return":
            returns[1, 3] += 1.0
        elif change == "order":
            returns, sources = returns[::-1], sources[::-1]
        else:
            returns, sources = returns[:2], sources[:2]
        other = ObservedRows(GRID, sources, returns)
        assert_same(CompletedRows.of(other, CompletedRows.of(rows)), CompletedRows.of(other))


class TestHoles:
    @pytest.mark.parametrize("missing", [0.2, 0.6, 0.9])
    @pytest.mark.parametrize("seed", range(4))
    def test_are_filled_as_defined(self, seed, missing):
        rows = random_rows(seed, missing)
        np.testing.assert_allclose(complete_returns(rows), explicit_completion(rows), rtol=1e-10)

    @pytest.mark.parametrize("seed", range(4))
    def test_what_was_evaluated_stays(self, seed):
        rows = random_rows(seed, missing=0.7)
        seen = ~np.isnan(rows.returns)
        completed = CompletedRows.of(rows)
        np.testing.assert_array_equal(completed.returns[seen], rows.returns[seen])
        assert np.isfinite(completed.returns).all()
        assert np.isfinite(completed.own).all()

    def test_many_targets_are_filled_block_by_block(self):
        space = ContextSpace(a=np.linspace(0, 1, 2500))
        row = np.full(2500, NAN)
        seen = np.random.default_rng(0).choice(2500, 20, replace=False)
        row[seen] = np.sin(7 * space.unit_targets[seen, 0])
        rows = ObservedRows(space, space.targets[:1], [row])
        np.testing.assert_allclose(complete_returns(rows), explicit_completion(rows), rtol=1e-9)

    def test_expected_returns_stand_for_the_difficulty(self):
        rows = random_rows(missing=0.5, k=3)
        earlier = CompletedRows.of(rows.only(slice(2)))
        expected = np.random.default_rng(9).normal(size=N)
        row = CompletedRows.of(rows, earlier, expected).returns[2]
        holes = np.isnan(rows.returns[2])
        units = GRID.unit_targets
        better = interpolated(units[~holes], (row - expected)[~holes], units[holes])
        np.testing.assert_allclose(row[holes], expected[holes] + better, rtol=1e-10)
        np.testing.assert_array_equal(row[~holes], rows.returns[2, ~holes])

    def test_rows_that_were_completed_stay_so(self):
        rows = random_rows(missing=0.5, k=6)
        earlier = CompletedRows.of(rows.only(slice(4)))
        completed = CompletedRows.of(rows, earlier)
        np.testing.assert_array_equal(completed.returns[:4], earlier.returns)
        np.testing.assert_array_equal(completed.returns[4:], complete_returns(rows, 4))
        np.testing.assert_array_equal(completed.gaps.target_means.shape, (N,))
        np.testing.assert_allclose(completed.gaps.target_means, completed.returns.mean(axis=0))


class TestOwnReturn:
    def test_is_read_off_the_row_where_it_was_not_evaluated(self):
        returns = np.arange(2.0 * N).reshape(2, N)
        returns[0, 4] = NAN
        rows = ObservedRows(GRID, GRID.targets[[4, 9]], returns)
        completed = CompletedRows.of(rows)
        assert completed.own[0] == completed.returns[0, 4]
        assert 0.0 < completed.own[0] < 8.0
        assert completed.own[1] == returns[1, 9]

    def test_is_the_one_that_was_reported_also_beside_one_that_is_not_known(self):
        returns = np.arange(2.0 * N).reshape(2, N)
        returns[1, 4] = NAN
        sources = np.vstack([[0.5, 0.7], GRID.targets[4]])
        completed = CompletedRows.of(ObservedRows(GRID, sources, returns, [99.0, NAN]))
        assert completed.own.tolist() == [99.0, completed.returns[1, 4]]
