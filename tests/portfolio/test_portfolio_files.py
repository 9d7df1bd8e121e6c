"""Portfolios in directories: whole or not at all, and what is said if they are damaged."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from portfolio_makers import LINE, member, on_line, some_portfolio, with_regions

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.errors import PortfolioError
from sdmbtl.portfolio import Member, Portfolio, storage

CONTEXTS = [[0, 10], [1.5, 12.0], [4, 30], [9, 99]]
SETTINGS = {
    "family": {"name": "CartPole", "options": {"physics": "carl"}},
    "observe_context": True,
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


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def change_manifest(directory, **changes):
    path = directory / "portfolio.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def place(tmp_path):
    """A directory with a portfolio, alone in its parent."""
    directory = tmp_path / "here" / "mine"
    some().export(directory)
    return directory


class TestSources:
    def test_regions_parents_and_steps(self, tmp_path):
        portfolio = with_regions()
        portfolio.export(tmp_path / "p")
        again = Portfolio.load(tmp_path / "p")
        assert [m.source for m in again] == [m.source for m in portfolio]
        assert again.describe() == portfolio.describe()
        again.export(tmp_path / "q")
        assert files(tmp_path / "p") == files(tmp_path / "q")

    def test_a_width_that_is_none(self, tmp_path):
        with_regions().export(tmp_path / "p")
        members = json.loads((tmp_path / "p" / "portfolio.json").read_text())["members"]
        change_manifest(tmp_path / "p", members=[members[0] | {"width": 7}, *members[1:]])
        with pytest.raises(PortfolioError, match="width"):
            Portfolio.load(tmp_path / "p")

    def test_the_context_is_the_centre(self):
        given = Member(3, {"a": 1.0}, None, np.ones((4, 1)), LINE.whole())
        with pytest.raises(PortfolioError, match=r"policy 3 must be the centre .* Got a=1 instead"):
            Portfolio(LINE, [given])


class TestRoundTrip:
    def test_the_same_choices_and_bytes(self, place, tmp_path):
        before, after = some(), Portfolio.load(place)
        for context in CONTEXTS:
            assert after.choose(context) == before.choose(context)
        np.testing.assert_array_equal(after.expected_returns, before.expected_returns)
        for one, other in zip(before, after, strict=True):
            assert one.policy.act([0.3, 0.2]) == other.policy.act([0.3, 0.2])
            np.testing.assert_array_equal(one.returns, other.returns)
        for name in ("space", "family", "observe_context", "return_range"):
            assert getattr(after, name) == getattr(before, name)
        after.export(str(tmp_path / "again"))
        assert files(tmp_path / "again") == files(place)

    def test_without_settings_and_with_listed_targets(self, tmp_path):
        space = ContextSpace([[0.1], [0.7]], u=Interval(0, 1))
        Portfolio(space, [member(12345, [1.0, 2.0], space=space)]).export(tmp_path / "p")
        again = Portfolio.load(str(tmp_path / "p"))
        assert again.space == space
        assert [m.id for m in again] == [12345]
        assert (again.family, again.observe_context, again.return_range) == (None, False, None)

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

    def test_policies_that_were_trained_elsewhere_have_no_files(self, tmp_path):
        rows = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]
        members = [Member(i, {"a": i}, None, np.array(row)[:, None]) for i, row in enumerate(rows)]
        portfolio = Portfolio(LINE, members)
        portfolio.export(tmp_path / "p")
        assert not list((tmp_path / "p").rglob("*.safetensors"))
        run = _load_without("safetensors", tmp_path / "p")
        assert (run.stdout, run.stderr) == ("2\n", "")
        again = Portfolio.load(tmp_path / "p")
        assert [m.policy for m in again] == [None, None]
        assert again.choose([0.5]) == portfolio.choose([0.5])


def _load_without(package, place):
    code = (
        f"import sys; sys.modules[{package!r}] = None; "
        f"from sdmbtl.portfolio import Portfolio; print(len(Portfolio.load({str(place)!r})))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


class TestReplacing:
    def test_an_older_portfolio_goes_with_all_its_files(self, place):
        on_line([1.0, 2.0, 3.0, 4.0]).export(place)
        assert sorted(files(place)) == [
            "policies/0000.safetensors",
            "portfolio.json",
            "returns.npz",
        ]
        assert names(place.parent) == ["mine"]

    def test_through_a_link(self, place, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(place)
        on_line([1.0, 2.0, 3.0, 4.0]).export(link)
        assert link.is_symlink()
        assert len(Portfolio.load(place)) == len(Portfolio.load(link)) == 1

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
        with pytest.raises(PortfolioError, match="not just a portfolio"):
            some().export(tmp_path)
        assert files(tmp_path) == {name: content.encode()}


class TestInterrupted:
    @pytest.mark.parametrize(
        "function",
        ["save_policy", "save_arrays", "write_atomically", "sync_directory"],
    )
    def test_while_writing(self, place, monkeypatch, function):
        before, calls = files(place), []

        def fails(*args, **kwargs):
            calls.append(args)
            if len(calls) > 1 or function not in ("save_policy", "sync_directory"):
                raise OSError("disk full")
            return original(*args, **kwargs)

        original = getattr(storage, function)
        monkeypatch.setattr(storage, function, fails)
        with pytest.raises(OSError, match="disk full"):
            some(1).export(place)
        assert files(place) == before
        assert names(place.parent) == ["mine"]

    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
    def test_between_the_renames(self, place, monkeypatch, error):
        before, rename = files(place), Path.rename

        def fails(path, target):
            if path.name.endswith(".tmp"):
                raise error
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fails)
        with pytest.raises(error):
            some(1).export(place)
        assert files(place) == before
        assert names(place.parent) == ["mine"]
        shutil.rmtree(place)
        with pytest.raises(error):
            some(1).export(place)
        assert names(place.parent) == []


class TestDamage:
    def test_nothing_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no portfolio in .*nowhere'"):
            Portfolio.load(tmp_path / "nowhere")
        with pytest.raises(FileNotFoundError, match="it has no portfolio.json. Write one with"):
            Portfolio.load(tmp_path)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "sdmbtl portfolio"}'])
    def test_json_that_is_none(self, place, text):
        (place / "portfolio.json").write_text(text)
        with pytest.raises(PortfolioError, match="portfolio.json is not a portfolio of sdmbtl"):
            Portfolio.load(place)

    @pytest.mark.parametrize(
        "changes",
        [
            {"format": "shares"},
            {"space": {"version": 1}},
            {"space": 3},
            {"members": None},
            {"members": [3]},
            {"members": [{"id": 0}]},
            {"members": [{"id": "x", "context": {}, "file": "", "sha256": ""}]},
        ],
    )
    def test_parts_that_are_none(self, place, changes):
        change_manifest(place, **changes)
        with pytest.raises(PortfolioError, match="portfolio.json is not a portfolio of sdmbtl"):
            Portfolio.load(place)

    def test_another_version(self, place):
        change_manifest(place, version=2)
        with pytest.raises(PortfolioError, match="has format version 2; this release reads 1. Use"):
            Portfolio.load(place)

    @pytest.mark.parametrize("how", ["changed", "swapped", "missing"])
    def test_the_returns(self, place, tmp_path, how):
        if how == "changed":
            content = bytearray((place / "returns.npz").read_bytes())
            content[len(content) // 2] ^= 1
            (place / "returns.npz").write_bytes(content)
        elif how == "swapped":
            some(1).export(tmp_path / "other")
            shutil.copy(tmp_path / "other" / "returns.npz", place)
        else:
            (place / "returns.npz").unlink()
        with pytest.raises(PortfolioError) as caught:
            Portfolio.load(place)
        assert str(caught.value).startswith("The returns of the policies cannot be read: ")
        assert "SHA-256" in str(caught.value) or "no file" in str(caught.value)

    @pytest.mark.parametrize("how", ["changed", "cut", "missing", "no policy"])
    def test_one_policy(self, place, how):
        path = place / "policies" / "0003.safetensors"
        content = path.read_bytes()
        if how == "missing":
            path.unlink()
        elif how == "no policy":
            path.write_bytes(b"nothing")
            manifest = json.loads((place / "portfolio.json").read_text())
            manifest["members"][1]["sha256"] = storage._sha256(path)
            change_manifest(place, members=manifest["members"])
        else:
            path.write_bytes(content[:-1] + (b"" if how == "cut" else bytes([content[-1] ^ 1])))
        with pytest.raises(PortfolioError) as caught:
            Portfolio.load(place)
        assert str(caught.value).startswith("Policy 3 is damaged: ")
        assert "0003.safetensors" in str(caught.value)


class TestForeignDirectories:
    """A portfolio from elsewhere reads its own files only; an export replaces its own only."""

    @pytest.mark.parametrize(
        "file",
        [
            "/etc/passwd",
            "../secret.safetensors",
            "policies/../../x",
            "policies/0001.safetensors",
            5,
        ],
    )
    def test_members_are_in_their_own_place(self, place, file):
        listed = json.loads((place / "portfolio.json").read_text())["members"]
        listed[0]["file"] = file
        change_manifest(place, members=listed)
        with pytest.raises(PortfolioError, match="file of policy 0 must be 'policies/0000"):
            Portfolio.load(place)

    @pytest.mark.parametrize("name", ["portfolio.json", "returns.npz", "policies/0000.safetensors"])
    def test_links_out_of_the_directory_are_not_followed(self, place, name):
        outside = place.parent / "outside"
        (place / name).rename(outside)
        (place / name).symlink_to(outside)
        with pytest.raises(PortfolioError, match="is a link that leads out of the portfolio"):
            Portfolio.load(place)

    def test_nor_is_a_folder_that_is_one(self, place):
        (place / "policies").rename(place.parent / "outside")
        (place / "policies").symlink_to(place.parent / "outside")
        with pytest.raises(PortfolioError, match="is a link that leads out of the portfolio"):
            Portfolio.load(place)

    @pytest.mark.parametrize(
        "name", ["policies/notes.txt", "policies/9999.safetensors", "policies/mine/a.txt"]
    )
    def test_an_export_deletes_no_file_that_is_not_its_own(self, place, name):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("years of work")
        before = files(place)
        with pytest.raises(PortfolioError, match="holds 'policies/.*not replaced"):
            some(1).export(place)
        assert files(place) == before

    def test_nor_one_that_the_earlier_index_claims(self, place):
        (place / "policies/notes.txt").write_text("years of work")
        listed = json.loads((place / "portfolio.json").read_text())["members"]
        listed[0]["file"] = "policies/notes.txt"
        change_manifest(place, members=listed)
        with pytest.raises(PortfolioError, match="is not replaced"):
            some(1).export(place)
        assert (place / "policies/notes.txt").read_text() == "years of work"
