"""Portfolios on the Hugging Face Hub, with a folder in place of the network."""

import fnmatch
import inspect
import shutil
import sys

import numpy as np
import pytest
from portfolio_makers import some_portfolio

from sdmbtl.errors import MissingPackageError
from sdmbtl.portfolio import Portfolio

FAMILY = {"name": "CartPole", "options": {}}


class FolderApi:
    """The calls of `huggingface_hub.HfApi` that are used, on a folder."""

    def __init__(self, root):
        self.root = root

    def create_repo(self, repo_id, *, private=None, exist_ok=False):
        (self.root / repo_id).mkdir(parents=True, exist_ok=exist_ok)

    def upload_folder(self, *, repo_id, folder_path, commit_message=None, delete_patterns=None):
        for old in (self.root / repo_id).rglob("*"):
            if any(fnmatch.fnmatch(old.name, pattern) for pattern in delete_patterns):
                old.unlink()
        shutil.copytree(folder_path, self.root / repo_id, dirs_exist_ok=True)
        return f"folder://{repo_id}"

    def snapshot_download(self, repo_id, *, revision=None, local_dir=None):
        shutil.copytree(self.root / repo_id, local_dir, dirs_exist_ok=True)
        return local_dir


def test_a_portfolio_comes_back_from_the_hub(tmp_path):
    api, portfolio = FolderApi(tmp_path), some_portfolio(0, family=FAMILY, return_range=(0, 200))
    for _ in range(2):  # the second replaces the first
        assert portfolio.push_to_hub("me/carts", api=api) == "folder://me/carts"
    loaded = Portfolio.load_from_hub("me/carts", api=api)
    context = portfolio.space.middle()
    assert loaded.choose(context) == portfolio.choose(context)
    observation = np.array([0.5, -1.0])
    acts = (each.policy_for(context).act(observation) for each in (loaded, portfolio))
    assert len(set(acts)) == 1
    assert len(list((tmp_path / "me/carts").rglob("*.npz"))) == 1


def test_an_older_portfolio_leaves_no_files(tmp_path):
    api = FolderApi(tmp_path)
    some_portfolio(0).push_to_hub("me/carts", api=api)
    second = some_portfolio(1)
    second.push_to_hub("me/carts", api=api)
    second.export(tmp_path / "alone")
    there = {p.name for p in (tmp_path / "me/carts").rglob("*") if p.is_file()}
    assert there == {"README.md", *(p.name for p in (tmp_path / "alone").rglob("*") if p.is_file())}


def test_the_model_card_describes_the_portfolio(tmp_path):
    portfolio = some_portfolio(0, family=FAMILY)
    portfolio.push_to_hub("me/carts", api=FolderApi(tmp_path))
    card = (tmp_path / "me/carts/README.md").read_text()
    assert card.startswith("---\nlibrary_name: sdmbtl\n")
    assert portfolio.describe() in card
    assert 'load_from_hub("me/carts")' in card


def test_the_stand_in_has_the_signatures_of_the_package():
    api = pytest.importorskip("huggingface_hub").HfApi
    for name in ("create_repo", "upload_folder", "snapshot_download"):
        ours = inspect.signature(getattr(FolderApi, name)).parameters
        assert set(ours) <= set(inspect.signature(getattr(api, name)).parameters), name


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingPackageError, match=r"sdmbtl\[hub\]"):
        Portfolio.load_from_hub("me/carts")
