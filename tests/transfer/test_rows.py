"""Observed rows: checks, derived quantities against plain loops, files."""

import json
import math
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.errors import ContextError, LimitError, MatrixError, RowError
from sdmbtl.transfer import ObservedRows, as_row
from sdmbtl.transfer.storage import save_arrays
from sdmbtl_lab.matrices import TransferMatrices

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

    def test_the_row_is_a_copy(self):
        given_ = np.zeros(N)
        row = as_row(given_, SPACE)
        given_[0] = 1.0
        assert row[0] == 0.0
        with pytest.raises(ValueError, match="read-only"):
            row[0] = 1.0

    @pytest.mark.parametrize("bad", [[1.0] * 7, [1.0] * 9, 1.0, []])
    def test_wrong_length(self, bad):
        with pytest.raises(RowError) as caught:
            as_row(bad, SPACE)
        assert str(caught.value) == (
            "A row must have shape (8,), one return for each target, NaN where not evaluated. "
            f"Got shape {np.shape(bad)} instead."
        )

    def test_two_axes_look_like_episodes(self):
        with pytest.raises(RowError, match=r"Got shape \(8, 5\) instead. Average over episodes"):
            as_row(np.zeros((8, 5)), SPACE)

    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    def test_infinite(self, bad):
        with pytest.raises(RowError) as caught:
            as_row([1, 1, 1, bad, bad, 1, 1, 1], SPACE)
        assert str(caught.value) == (
            f"Returns must be finite, or NaN for not evaluated. Got {bad} on target 3 "
            "({'a': 1.0, 'b': 20.0}). If the training run diverged, tell it with status='failed'."
        )

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

    def test_a_long_row_is_shown_in_short(self):
        for text, shown in (("x" * 78, f"'{'x' * 78}'"), ("x" * 79, f"'{'x' * 76}...")):
            with pytest.raises(RowError) as caught:
                as_row(text, SPACE)
            assert f"Got {shown} instead." in str(caught.value)
        with pytest.raises(RowError) as caught:
            as_row([[1.0], [1.0, 2.0]] * 20, SPACE)
        assert "Got [[1.0], [1.0, 2.0], [1.0], " in str(caught.value)
        assert len(str(caught.value)) < 160
        assert str(caught.value).endswith("... instead.")


class TestConstruction:
    def test_empty(self):
        rows = ObservedRows(SPACE)
        assert len(rows) == 0
        assert rows.returns.shape == (0, N)
        assert rows.sources.shape == rows.unit_sources.shape == (0, 2)
        assert rows.source_positions.shape == rows.source_returns.shape == (0,)
        assert np.isnan(rows.best).all()
        assert rows.best_policy.tolist() == [-1] * N
        assert math.isnan(rows.performance)
        assert np.isnan(rows.target_means).all()
        assert rows.relative.shape == (0, N)

    def test_sources_in_every_form(self):
        by_name = [{"b": 20.0, "a": 1.0}, {"a": 3.0, "b": 12.0}]
        vectors = [[1.0, 20.0], [3.0, 12.0]]
        returns = np.arange(16.0).reshape(2, 8)
        rows = ObservedRows(SPACE, by_name, returns)
        assert_same(rows, ObservedRows(SPACE, np.array(vectors), returns.tolist()))
        np.testing.assert_allclose(rows.unit_sources, [[1 / 3, 1.0], [5 / 6, 0.2]])

    def test_counts_must_agree(self):
        with pytest.raises(RowError) as caught:
            ObservedRows(SPACE, [[0, 10]], [[1.0] * N] * 2)
        assert str(caught.value) == (
            "Each row needs its source. Got 1 sources, 2 rows and 2 source returns."
        )
        with pytest.raises(RowError, match="Got 1 sources, 1 rows and 2 source returns"):
            ObservedRows(SPACE, [[0, 10]], [[1.0] * N], [1.0, 2.0])
        with pytest.raises(RowError, match="Got 1 sources, 0 rows and 0 source returns"):
            ObservedRows(SPACE, [[0, 10]])

    def test_every_row_is_checked(self):
        sources = [[0, 10], [1, 10]]
        with pytest.raises(RowError, match=r"Got shape \(7,\) instead"):
            ObservedRows(SPACE, sources, [[1.0] * 8, [1.0] * 7])
        with pytest.raises(RowError, match="Got inf on target 7"):
            ObservedRows(SPACE, sources, [[1.0] * 8, [1.0] * 7 + [np.inf]])
        with pytest.raises(RowError, match="Got only NaN"):
            ObservedRows(SPACE, sources, [[1.0] * 8, [NAN] * 8])
        with pytest.raises(ContextError, match="Got 3 instead"):
            ObservedRows(SPACE, [[0, 10, 5]], [[1.0] * 8])
        with pytest.raises(RowError, match=r"The rows must be a list, .* Got 3.0 instead"):
            ObservedRows(SPACE, sources, 3.0)
        with pytest.raises(RowError, match=r"The sources must be a list, .* Got 3.0 instead"):
            ObservedRows(SPACE, 3.0, [[1.0] * 8])

    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    def test_source_returns_are_finite(self, bad):
        message = r"Source returns must be finite numbers, .* NaN where unknown. Got \[-?inf\]"
        with pytest.raises(RowError, match=message):
            ObservedRows(SPACE, [[0, 10]], [[1.0] * N], [bad])
        with pytest.raises(RowError, match=message):
            some_rows().added([0, 10], [1.0] * N, bad)

    def test_source_returns_are_numbers(self):
        with pytest.raises(RowError, match=r"Source returns must be numbers. Got \['x'\] instead"):
            ObservedRows(SPACE, [[0, 10]], [[1.0] * N], ["x"])
        with pytest.raises(RowError, match="one for each policy"):
            ObservedRows(SPACE, [[0, 10]], [[1.0] * N], [[1.0, 2.0]])


class TestDerived:
    @given(partial_rows())
    def test_against_plain_loops(self, rows):
        best, policy, means = [], [], []
        for j in range(N):
            seen = [(v, i) for i, v in enumerate(rows.returns[:, j]) if not math.isnan(v)]
            best.append(max(v for v, _ in seen) if seen else NAN)
            policy.append(min(i for v, i in seen if v == best[-1]) if seen else -1)
            means.append(sum(v for v, _ in seen) / len(seen) if seen else NAN)
        np.testing.assert_array_equal(rows.best, best)
        assert rows.best_policy.tolist() == policy
        np.testing.assert_allclose(rows.target_means, means)
        known = [v for v in best if not math.isnan(v)]
        assert rows.performance == pytest.approx(sum(known) / len(known))
        for i in range(len(rows)):
            for j in range(N):
                expected = rows.returns[i, j] - means[j]
                assert rows.relative[i, j] == pytest.approx(expected, nan_ok=True, abs=1e-12)

    def test_a_target_no_policy_was_evaluated_on_counts_nowhere(self):
        rows = ObservedRows(SPACE, [[0, 10]], [[4.0, NAN, 2.0, NAN, NAN, NAN, NAN, NAN]])
        assert rows.performance == 3.0
        np.testing.assert_array_equal(rows.best[:3], [4.0, NAN, 2.0])
        assert rows.best_policy[:3].tolist() == [0, -1, 0]

    def test_the_first_of_equally_good_policies_is_best(self):
        rows = ObservedRows(SPACE, [[0, 10]] * 3, [[1.0] * N, [2.0] * N, [2.0] * N])
        assert rows.best_policy.tolist() == [1] * N


class TestSources:
    def test_a_source_that_is_a_target(self):
        rows = ObservedRows(SPACE, SPACE.targets, np.diag(np.arange(1.0, 9.0)))
        assert rows.source_positions.tolist() == list(range(N))
        assert rows.source_returns.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]

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

    @given(partial_rows())
    def test_positions_against_a_plain_search(self, rows):
        for i, position in enumerate(rows.source_positions):
            distance = np.abs(SPACE.unit_targets - rows.unit_sources[i]).sum(axis=1)
            assert distance[position] <= distance.min() + 1e-8

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

    def test_adding_without_a_source_return(self):
        start = some_rows(2)
        rows = start.added([2.0, 19.0], np.arange(8.0))
        assert rows.source_returns[2] == 5.0
        assert (len(start), len(rows)) == (2, 3)

    def test_adding_forgets_what_was_derived(self):
        start = ObservedRows(SPACE, [[0, 10]], [[1.0] * N])
        assert start.performance == 1.0
        assert start.target_means[0] == 1.0
        rows = start.added([0, 20], [3.0] * N)
        assert (rows.performance, rows.target_means[0], rows.best_policy[0]) == (3.0, 2.0, 1)
        assert start.performance == 1.0

    def test_added_rows_are_checked(self):
        with pytest.raises(RowError, match="Got only NaN"):
            some_rows().added([0, 10], [NAN] * N)
        with pytest.raises(ContextError, match="Unknown dimension"):
            some_rows().added({"c": 0}, [1.0] * N)

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

    def test_repr(self):
        assert repr(some_rows(2)) == "ObservedRows(2 rows, 8 targets)"


class TestFiles:
    @given(partial_rows())
    def test_round_trip(self, rows):
        with tempfile.TemporaryDirectory() as folder:
            rows.save(Path(folder) / "rows.npz")
            assert_same(ObservedRows.load(Path(folder) / "rows.npz"), rows)

    def test_round_trip_of_no_rows_and_of_a_listed_space(self, tmp_path):
        space = ContextSpace([[0.1, 3.0], [0.7, 1.0]], a=Interval(0, 1), b=Interval(1, 3, "log"))
        for rows in (ObservedRows(space), ObservedRows(space, [[0.5, 2]], [[1.0, NAN]], [7.0])):
            rows.save(str(tmp_path / "rows.npz"))
            assert_same(ObservedRows.load(str(tmp_path / "rows.npz")), rows)

    def test_any_file_name(self, tmp_path):
        some_rows().save(tmp_path / "rows of today.data")
        assert [p.name for p in tmp_path.iterdir()] == ["rows of today.data"]
        assert len(ObservedRows.load(tmp_path / "rows of today.data")) == 3

    def test_a_failed_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "rows.npz"
        some_rows(3).save(path)
        before = path.read_bytes()

        def half(file, **arrays):
            file.write(b"half a file")
            raise OSError("No space left on device")

        monkeypatch.setattr(np, "savez_compressed", half)
        with pytest.raises(OSError, match="No space left"):
            some_rows(4).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_the_file_is_replaced_only_when_all_is_on_disk(self, tmp_path, monkeypatch):
        path = tmp_path / "rows.npz"
        some_rows(3).save(path)
        synced = []

        def fsync(descriptor):
            synced.append(descriptor)
            if len(synced) == 1:  # the file, under another name; then the directory
                assert len(ObservedRows.load(path)) == 3
                (unfinished,) = set(tmp_path.iterdir()) - {path}
                assert len(ObservedRows.load(unfinished)) == 4
            else:
                assert len(ObservedRows.load(path)) == 4

        monkeypatch.setattr("os.fsync", fsync)
        some_rows(4).save(path)
        assert len(synced) == 2
        assert len(ObservedRows.load(path)) == 4
        assert list(tmp_path.iterdir()) == [path]

    def test_no_such_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            ObservedRows.load(tmp_path / "rows.npz")

    @pytest.mark.parametrize(
        "content",
        [b"", b"garbage", b"PK\x03\x04 no zip file at all", b"\x80\x04N.", b"\x93NUMPY"],
        ids=["empty", "text", "zip", "pickle", "npy"],
    )
    def test_garbage(self, tmp_path, content):
        path = tmp_path / "rows.npz"
        path.write_bytes(content)
        with pytest.raises(MatrixError) as caught:
            ObservedRows.load(path)
        assert str(caught.value).startswith(f"{path} is not a file of sdmbtl, or it is damaged (")
        assert str(caught.value).endswith("). Write such files with .save(path).")

    def test_truncated_or_damaged_anywhere(self, tmp_path):
        path, damaged = tmp_path / "rows.npz", tmp_path / "damaged.npz"
        some_rows(6).save(path)
        content = path.read_bytes()
        for length in range(0, len(content), 13):
            damaged.write_bytes(content[:length])
            with pytest.raises(MatrixError):
                ObservedRows.load(damaged)
        refused = 0
        for position in range(0, len(content), 3):
            changed = bytearray(content)
            changed[position] ^= 0xFF
            damaged.write_bytes(changed)
            try:
                ObservedRows.load(damaged)  # dates and such do not matter
            except (MatrixError, LimitError):
                refused += 1
        assert refused > len(content) / 3 / 2

    def test_arrays_of_somebody_else(self, tmp_path):
        path = tmp_path / "rows.npz"
        np.savez(path, returns=np.zeros((3, 8)))
        with pytest.raises(MatrixError, match="is not a file of sdmbtl"):
            ObservedRows.load(path)
        with path.open("wb") as file:
            np.save(file, np.zeros((3, 8)))
        with pytest.raises(MatrixError, match="is not a file of sdmbtl"):
            ObservedRows.load(path)
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("header.txt", "{}")
        with pytest.raises(MatrixError, match="is not a file of sdmbtl"):
            ObservedRows.load(path)

    @pytest.mark.parametrize("header", ["5", "[]", "{}", "no json", '{"version": 1}'])
    def test_a_header_of_somebody_else(self, tmp_path, header):
        np.savez(tmp_path / "rows.npz", header=np.array(header))
        with pytest.raises(MatrixError, match="is not a file of sdmbtl"):
            ObservedRows.load(tmp_path / "rows.npz")

    def test_missing_arrays_and_spaces(self, tmp_path):
        path = tmp_path / "rows.npz"
        header = {"version": 1, "kind": "rows", "space": SPACE.to_dict()}
        np.savez(path, header=np.array(json.dumps(header)), returns=np.zeros((0, 8)))
        with pytest.raises(MatrixError, match="damaged.*sources"):
            ObservedRows.load(path)
        for space in ({"version": 7}, {"version": 1}, 5):
            np.savez(path, header=np.array(json.dumps({**header, "space": space})))
            with pytest.raises(MatrixError, match="damaged"):
                ObservedRows.load(path)

    def test_another_kind(self, tmp_path):
        path = tmp_path / "matrices.npz"
        TransferMatrices(SPACE, np.zeros((N, N))).save(path)
        with pytest.raises(MatrixError) as caught:
            ObservedRows.load(path)
        assert str(caught.value) == f"{path} holds matrices; rows were expected."

    def test_another_version(self, tmp_path):
        path = tmp_path / "rows.npz"
        header = {"version": 2, "kind": "rows", "space": SPACE.to_dict()}
        np.savez(path, header=np.array(json.dumps(header)))
        with pytest.raises(MatrixError) as caught:
            ObservedRows.load(path)
        assert str(caught.value) == f"{path} has format version 2; this release reads 1."

    def test_nothing_is_pickled(self, tmp_path):
        path = tmp_path / "rows.npz"
        arrays = {"returns": np.array([object()])}
        with pytest.raises(ValueError, match="Object arrays cannot be saved"):
            save_arrays(path, kind="rows", space=SPACE, arrays=arrays)
        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_unpickled(self, tmp_path):
        opened = []

        class Bomb:
            def __reduce__(self):
                return (opened.append, (1,))

        path = tmp_path / "rows.npz"
        header = {"version": 1, "kind": "rows", "space": SPACE.to_dict()}
        np.savez(
            path,
            header=np.array(json.dumps(header)),
            sources=SPACE.targets[:1],
            returns=np.array([Bomb()], dtype=object),
            source_returns=np.zeros(1),
        )
        with pytest.raises(MatrixError, match="Object arrays cannot be loaded"):
            ObservedRows.load(path)
        assert opened == []
