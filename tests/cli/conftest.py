"""One trained study, which all tests of commands share."""

import shutil

import pytest
from command_runner import QUICK, command, own_signals, tiny

__all__ = ["command", "own_signals", "tiny"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory, command, tiny):
    """A generalist and two policies that start from it, and the output of their run."""
    path = tmp_path_factory.mktemp("studies") / "cartpole"
    same = ("run", "CartPole", "--space", tiny, *QUICK, "--seed", 1, "--out", path)
    return path, command(*same, "--budget", 3)


@pytest.fixture
def copied(trained, tmp_path):
    """A copy of the trained study, which may be changed."""
    path = tmp_path / "copy"
    shutil.copytree(trained[0], path)
    return path
