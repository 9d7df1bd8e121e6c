"""The command line, as a newcomer runs it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from sdmbtl import __version__

SDMBTL = [sys.executable, "-m", "sdmbtl"]
QUICK = ["bench", "synthetic", "--trials", "2", "--rounds", "7", "--selectors", "m/gp-mbtl"]


def run(*arguments, cwd, check=True):
    finished = subprocess.run(
        [*SDMBTL, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    if check:
        assert finished.returncode == 0, finished.stderr
    return finished


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench")
    (path / "first.txt").write_text(run(*QUICK, cwd=path).stdout)
    return path


def test_help_and_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout == f"sdmbtl {__version__}\n"
    assert "synthetic" in run("bench", "--help", cwd=tmp_path).stdout
    assert "--trials" in run("bench", "synthetic", "--help", cwd=tmp_path).stdout


def test_table_and_result_file(folder):
    text = (folder / "first.txt").read_text()
    assert "M/GP-MBTL" in text
    assert "Aggregated" in text
    assert "Mountain was detected" in text
    result = json.loads((folder / "results" / "synthetic-3d-noise5-w2-k7.json").read_text())
    assert result["trials"] == 2
    assert len(result["configurations"]) == 8
    assert not list((folder / "results").glob("*.partial.jsonl"))


def test_show_in_every_format(folder):
    path = "results/synthetic-3d-noise5-w2-k7.json"
    assert run("bench", "show", path, cwd=folder).stdout == (folder / "first.txt").read_text()
    assert "| f(x) |" in run("bench", "show", path, "--format", "markdown", cwd=folder).stdout
    assert r"\toprule" in run("bench", "show", path, "--format", "latex", cwd=folder).stdout
    text = run("bench", "show", path, "--format", "csv", cwd=folder).stdout
    rows = list(csv.reader(io.StringIO(text.split("\n\n")[0])))
    assert len(rows) > 8 * 3
    assert "Area under" in run("bench", "show", path, "--auc", cwd=folder).stdout
    more = run("bench", "show", path, "--statistic", "iqm", "--rounds-to", cwd=folder).stdout
    assert "Interquartile mean of Performance" in more
    assert "Rounds to 0.05-suboptimal" in more


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--dim", "4"], "3, 5 and 7 dimensions. Got dim=4"),
        (["--selectors", "best"], "Unknown selector 'best'"),
        (["--rounds", "9999"], "between 1 and 512"),
        (["--noise", "-3"], "'noise' must be a finite number >= 0"),
    ],
)
def test_bad_options_give_a_sentence_and_no_traceback(arguments, text, tmp_path):
    finished = run("bench", "synthetic", *arguments, cwd=tmp_path, check=False)
    assert finished.returncode == 2
    assert text in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "results").exists()


def test_output_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    finished = run(*QUICK, "--out", "file", cwd=tmp_path, check=False)
    assert finished.returncode == 2
    assert "Cannot write to 'file'" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_show_of_something_else(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    finished = run("bench", "show", "x.json", cwd=tmp_path, check=False)
    assert finished.returncode == 2
    assert "no result of" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_and_resumed(how, folder, tmp_path):
    process = subprocess.Popen(
        [*SDMBTL, *QUICK],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    partial = tmp_path / "results" / "synthetic-3d-noise5-w2-k7.partial.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if partial.exists() and partial.read_text().count("\n") > 3:
            break
        time.sleep(0.02)
    os.killpg(process.pid, how)
    _, errors = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "Give the same command again to go on" in errors
        assert "Traceback" not in errors
    kept = partial.read_text().count("\n") - 1
    assert kept >= 3
    again = run(*QUICK, cwd=tmp_path)
    assert "Going on with" in again.stderr
    assert again.stdout == (folder / "first.txt").read_text()
