"""Portfolios in directories: whole or not at all, and what is said if they are damaged."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from portfolio_makers import on_line, some_portfolio, with_regions

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.errors import PortfolioError
from sdmbtl.portfolio import Member, Portfolio, storage

CONTEXTS = [[0, 10], [1.5, 12.0], [4, 30], [9, 99]]
SETTINGS = {
    "family": {"name": "CartPole", "options": {"physics": "carl"}},
    "return_range": (0, 200),
}


def some(seed=0):
    return some_portfolio(seed, missing=0.2, **SETTINGS)


def files(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def manifest_of(directory):
    return json.loads((directory / "portfolio.json").read_text())


def change_manifest(directory, **changes):
    (directory / "portfolio.json").write_text(json.dumps(manifest_of(directory) | changes))


@pytest.fixture
def place(tmp_path):
    """A directory with a portfolio, alone in its parent."""
    directory = tmp_path / "here" / "mine"
    some().export(directory)
    return directory


class TestRoundTrip:
    def test_the_same_choices_and_bytes(self, place, tmp_path):
        before, after = some(), Portfolio.load(place)
        for context in CONTEXTS:
            assert after.choose(context) == before.choose(context)
        np.testing.assert_array_equal(after.expected_returns, before.expected_returns)
        for one, other in zip(before, after, strict=True):
            assert one.policy.act([0.3, 0.2]) == other.policy.act([0.3, 0.2])
            np.testing.assert_array_equal(one.returns, other.returns)
        for name in ("space", "family", "return_range"):
            assert getattr(after, name) == getattr(before, name)
        after.export(str(tmp_path / "again"))
        assert files(tmp_path / "again") == files(place)

    def test_regions_parents_and_steps(self, tmp_path):
        portfolio = with_regions()
        portfolio.export(tmp_path / "p")
        again = Portfolio.load(tmp_path / "p")
        assert [m.source for m in again] == [m.source for m in portfolio]
        assert again.describe() == portfolio.describe()

    def test_listed_targets_and_a_policy_that_was_trained_elsewhere(self, tmp_path):
        space = ContextSpace([[0.1], [0.7]], u=Interval(0, 1))
        portfolio = Portfolio(space, [Member(12345, {"u": 0.1}, None, np.array([[1.0], [2.0]]))])
        portfolio.export(tmp_path / "p")
        assert not list((tmp_path / "p").rglob("*.safetensors"))
        again = Portfolio.load(str(tmp_path / "p"))
        assert (again.space, again.family, again.return_range) == (space, None, None)
        assert [(m.id, m.policy) for m in again] == [(12345, None)]
        assert again.choose([0.5]) == portfolio.choose([0.5])

    def test_needs_numpy_and_scipy_only(self, place):
        code = (
            "import sys\n"
            "for name in ('gymnasium', 'jax', 'torch'): sys.modules[name] = None\n"
            "from sdmbtl.portfolio import Portfolio\n"
            f"portfolio = Portfolio.load({str(place)!r})\n"
            "print(portfolio.choose([1.5, 12.0]).policy)\n"
            "print(portfolio[3].policy.act([0.3, 0.2]) in (0, 1))\n"
            "print(*(m for m in sys.modules if m.startswith(('sdmbtl.training', 'sdmbtl.env'))))\n"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert run.stderr == ""
        assert run.stdout == f"{some().choose([1.5, 12.0]).policy}\nTrue\n\n"


class TestReplacing:
    def test_an_older_portfolio_goes_with_all_its_files(self, place, tmp_path):
        link, fresh = tmp_path / "link", tmp_path / "fresh"
        link.symlink_to(place)
        new = on_line([1.0, 2.0, 3.0, 4.0])
        new.export(link)
        new.export(fresh)
        assert link.is_symlink()
        assert files(place) == files(fresh)

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("thesis.tex", "years of work"),
            ("portfolio.json", '{"format": "shares"}'),
            ("portfolio.json", "[1]"),
            ("returns.npz", ""),
        ],
    )
    def test_anything_else_is_not_touched(self, tmp_path, name, content):
        (tmp_path / name).write_text(content)
        with pytest.raises(PortfolioError, match="not just a portfolio|not a portfolio"):
            some().export(tmp_path)
        assert files(tmp_path) == {name: content.encode()}

    def test_a_file_of_somebody_else_stays(self, place):
        (place / "policies" / "notes.txt").write_text("years of work")
        some(1).export(place)
        assert (place / "policies" / "notes.txt").read_text() == "years of work"

    @pytest.mark.parametrize("exists", [True, False])
    @pytest.mark.parametrize("calls", range(8))
    def test_whoever_is_killed_leaves_the_old_or_the_new_one(
        self, place, tmp_path, monkeypatch, exists, calls
    ):
        """At each file that is written or deleted; then an export succeeds."""
        if not exists:
            shutil.rmtree(place)
        old, new = some(), some(1)
        left = [calls]

        def dying(function):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
                return function(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for name in ("write_atomically", "save_arrays", "sync_directory", "_inside"):
                patch.setattr(storage, name, dying(getattr(storage, name)))
            with pytest.raises(KeyboardInterrupt):
                new.export(place)
        if exists:
            found = Portfolio.load(place)
            assert any(
                np.array_equal(found.expected_returns, each.expected_returns) for each in (old, new)
            )
        new.export(place)
        assert Portfolio.load(place).choose([1, 10]) == new.choose([1, 10])


class TestDamage:
    def test_nothing_there(self, tmp_path):
        for place in (tmp_path, tmp_path / "nowhere"):
            with pytest.raises(FileNotFoundError, match=r"no portfolio in .* no portfolio\.json"):
                Portfolio.load(place)

    @pytest.mark.parametrize("text", ["", "[]", "{}"])
    def test_json_that_is_none(self, place, text):
        (place / "portfolio.json").write_text(text)
        with pytest.raises(PortfolioError, match="portfolio.json is not a portfolio of sdmbtl"):
            Portfolio.load(place)

    @pytest.mark.parametrize(
        "changes",
        [
            {"format": "shares"},
            {"version": 2},
            {"returns_sha256": "../x"},
            {"returns_sha256": None},
            {"members": [3]},
            {"members": [{"id": "x", "context": {}, "sha256": None}]},
            {"members": [{"id": 0, "context": {}, "sha256": "/etc/passwd"}]},
            {"members": [{"id": 0, "context": {}, "sha256": 5}]},
        ],
    )
    def test_parts_that_are_none(self, place, changes):
        change_manifest(place, **changes)
        with pytest.raises(PortfolioError, match="portfolio.json is not a portfolio of sdmbtl"):
            Portfolio.load(place)

    def test_another_width(self, place):
        members = manifest_of(place)["members"]
        change_manifest(place, members=[members[0] | {"width": 7}, *members[1:]])
        with pytest.raises(PortfolioError, match="width"):
            Portfolio.load(place)

    @pytest.mark.parametrize("how", ["changed", "missing"])
    @pytest.mark.parametrize("pattern", ["returns-*", "policies/0003-*"])
    def test_files(self, place, pattern, how):
        (path,) = place.glob(pattern)
        content = path.read_bytes()
        if how == "missing":
            path.unlink()
        else:
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(PortfolioError, match=rf"is damaged: .*{path.name}.*(SHA-256|$)"):
            Portfolio.load(place)

    def test_a_file_that_holds_no_policy(self, place):
        path = place / "nothing"
        path.write_bytes(b"nothing")
        sha256 = storage._sha256(path)
        path.rename(place / storage._policy_file(0, sha256))
        members = manifest_of(place)["members"]
        change_manifest(place, members=[members[0] | {"sha256": sha256}, *members[1:]])
        with pytest.raises(PortfolioError, match="is damaged: .*0000-"):
            Portfolio.load(place)

    @pytest.mark.parametrize(
        "pattern", ["portfolio.json", "returns-*", "policies/0000-*", "policies"]
    )
    def test_links_out_of_the_directory_are_not_followed(self, place, pattern):
        outside = place.parent / "outside"
        (path,) = place.glob(pattern)
        path.rename(outside)
        path.symlink_to(outside)
        with pytest.raises(PortfolioError, match="is a link that leads out of the portfolio"):
            Portfolio.load(place)
