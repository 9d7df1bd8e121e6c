"""`sdmbtl lab matrix`: what it prints, what it refuses, and how it is interrupted."""

import fcntl
import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from command_runner import OWN_ENVIRONMENT, started, wait_until

from sdmbtl_lab.cli import progress
from sdmbtl_lab.matrices import load_matrix

SETTINGS = (
    *("num_envs=2", "num_steps=32", "minibatch_size=32", "update_epochs=1", "hidden_sizes=[8]"),
    *("eval_every=4", "eval_episodes=2", "chunk=4"),
)
SHORT = [
    *("--steps", "512", *(word for setting in SETTINGS for word in ("--set", setting))),
    *("--episodes", "2", "--multi-task", "2"),
]


@pytest.fixture(scope="module")
def asked(tiny):
    """The command, but for its seeds and its directory."""
    return ["matrix", "CartPole", "--space", tiny, *SHORT, "--jobs", "1"]


@pytest.fixture(scope="module")
def small(tmp_path_factory, command, asked):
    """A finished matrix of two seeds, and what was printed; not to be changed."""
    path = tmp_path_factory.mktemp("matrices") / "small"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "LINES_EVERY", float("inf"))  # however slow this machine is
        return path, command(*asked, "--seeds", 2, "--out", path)


@pytest.fixture
def begun(small, tmp_path):
    return shutil.copytree(small[0], tmp_path / "begun")


class TestResult:
    def test_words(self, small):
        path, result = small
        returns = load_matrix(path).returns
        diagonal = returns[:, range(8), range(8)]
        assert [line.split()[-1] for line in result.stdout.splitlines()] == [
            f"{returns.mean():.4g}",
            f"{diagonal.mean():.4g}",
            f"{returns.max(axis=1).mean():.4g}",
            f"{load_matrix(path).multi_task[2].mean():.4g}",
            str(path / "matrix.npz"),
        ]
        assert result.stderr == (
            "CartPole: 8 contexts (length, masscart, masspole), 2 seeds, trainer ppo with 512 "
            f"steps, 2 episodes per pair, in {path}\n"
            f"Describe it:         sdmbtl lab describe {path}\n"
            f"Compare selectors:   sdmbtl lab bench real --data {path}\n"
        )

    def test_json(self, command, asked, begun):
        summary = command.json(*asked, "--seeds", 2, "--out", begun)
        dataset = load_matrix(begun)
        assert summary["contexts"] == 8
        assert summary["seeds"] == 2
        assert summary["path"] == str(begun / "matrix.npz")
        assert summary["mean_return"] == dataset.returns.mean()
        assert summary["multi_task"] == {"2": dataset.multi_task[2].mean()}
        assert summary["recipe"] == dataset.card["recipe"]
        assert summary["cost"]["training_steps"] == 2 * 10 * 512
        assert summary["versions"]["numpy"] == np.__version__


class TestGoingOn:
    def test_what_was_done_and_what_is_damaged(self, command, asked, begun, small):
        damaged = begun / "rows/seed-0/00004.npz"
        damaged.write_bytes(b"")
        result = command(*asked, "--seeds", 2, "--out", begun)
        assert "Continuing after 16 of 20 policies.\n" in result.stderr
        assert (begun / "matrix.npz").read_bytes() == (small[0] / "matrix.npz").read_bytes()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("number", "jobs", "moment"),
        [(signal.SIGINT, 1, "rows/*/*.npz"), (signal.SIGTERM, 2, "recipe.json")],
    )
    def test_interrupted(self, number, jobs, moment, command, asked, small, tmp_path):
        """After the first rows are written, or while two processes compile."""
        path = tmp_path / "inter rupted"
        process = started("lab", *asked, "--seeds", 99, "--jobs", jobs, "--out", path)
        wait_until(process, lambda: list(path.glob(moment)))
        process.send_signal(number)
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 128 + number, errors
        assert f"finished work is kept in '{path}'" in errors.splitlines()[-1]
        assert "Traceback" not in errors
        assert not output
        assert not list(path.rglob(".*.tmp"))
        command(*asked, "--seeds", 2, "--out", path)
        assert (path / "matrix.npz").read_bytes() == (small[0] / "matrix.npz").read_bytes()

    def test_only_one_process(self, command, asked, begun):
        with (begun / "matrix.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            error = command.error(*asked, "--out", begun)
        assert "Another process" in error
        assert "is making the matrix in" in error


class TestRefused:
    @pytest.mark.parametrize("text", ["6,x", "0", "-3", "²"])
    def test_multi_task(self, text, command, asked, tmp_path):
        error = command.error(*asked, "--multi-task", text, "--out", tmp_path / "m")
        assert "--multi-task" in error
        assert repr(text) in error
        assert not (tmp_path / "m").exists()

    def test_other_settings_than_before(self, command, asked, begun):
        error = command.error(*asked, "--seed", 5, "--out", begun)
        assert "was begun with other settings: seed: recorded 0, now 5" in error


@pytest.mark.slow
def test_environments_of_ones_own(tmp_path):
    (tmp_path / "my_envs.py").write_text(OWN_ENVIRONMENT)
    (tmp_path / "gravities.toml").write_text("[dimensions.gravity]\nvalues = [5, 15]\n")
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "sdmbtl", "lab", "matrix", "my_envs:pendulum"),
            *("--space", "gravities.toml", "--seeds", "1", "--jobs", "2", "--json"),
            *("--steps", "64", "--set", "num_steps=32", "--set", "num_envs=2"),
            *("--episodes", "2", "--multi-task", ""),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["contexts"] == 2
    returns = load_matrix(tmp_path / "matrices" / "my_envs-pendulum").returns
    assert returns.shape == (1, 2, 2)
    assert (returns < 0).all()
