"""The command line, as a newcomer runs it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys

import pytest
from command_runner import started, wait_until

from sdmbtl import __version__

SDMBTL = [sys.executable, "-m", "sdmbtl"]
QUICK = ["bench", "synthetic", "--matrices", "2", "--rounds", "7", "--selectors", "m/gp-mbtl"]


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


def test_help_and_version(command):
    assert command("--version").stdout == f"sdmbtl {__version__}\n"
    assert "synthetic" in command("bench", "-h").stdout
    for name in ("synthetic", "real", "show"):
        text = command("bench", name, "-h").stdout
        assert text == command("bench", name, "--help").stdout
        assert "--format" in text
        assert "…" not in text, "no default is cut"


def test_benchmarks_are_loaded_by_those_who_run_them(tmp_path):
    code = "import sys, sdmbtl.cli; print([m for m in sys.modules if 'sdmbtl_lab.benchmarks' in m])"
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert finished.stdout == "[]\n"


def test_table_and_result_file(folder):
    text = (folder / "first.txt").read_text()
    assert "M/GP-MBTL" in text
    assert "Aggregated" in text
    assert "Mountain was detected" in text
    assert max(map(len, text.splitlines())) <= 80, "it fits a terminal"
    result = json.loads(
        (folder / "results" / "synthetic-3d-noise5-mgp-mbtl-w2-k7.json").read_text()
    )
    assert result["trials"] == 2
    assert len(result["problems"]) == 8
    assert not list((folder / "results").glob("*.partial.jsonl"))


def test_show_in_every_format(folder, command):
    path = folder / "results" / "synthetic-3d-noise5-mgp-mbtl-w2-k7.json"

    def shown(*options):
        return command("bench", "show", path, *options).stdout

    assert shown() == (folder / "first.txt").read_text()
    assert "| f(x) |" in shown("--format", "markdown")
    assert r"\toprule" in shown("--format", "latex")
    rows = list(csv.reader(io.StringIO(shown("--format", "csv").split("\n\n")[0])))
    assert len(rows) > 8 * 3
    assert "Area under" in shown("--auc")
    more = shown("--statistic", "iqm", "--rounds-to")
    assert "Interquartile mean of Performance" in more
    assert "Rounds to 0.05-suboptimal" in more


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--dim", "4"], "3, 5 and 7 dimensions. Got dim=4"),
        (["--selectors", "atuo"], "Unknown selector 'atuo'"),
        (["--selectors", "atuo"], "Did you mean 'auto'?"),
        (["--rounds", "9999"], "between 1 and 512"),
        (["--noise", "-3"], "'noise' must be a finite number >= 0"),
    ],
)
def test_bad_options_give_a_sentence_and_no_traceback(arguments, text, command, tmp_path):
    assert text in command.error("bench", "synthetic", *arguments, "--out", tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_output_that_is_not_a_folder(command, tmp_path):
    (tmp_path / "file").write_text("")
    assert "Cannot write to" in command.error(*QUICK, "--out", tmp_path / "file")


def test_show_of_something_else(command, tmp_path):
    (tmp_path / "x.json").write_text("{}")
    assert "is not a result file" in command.error("bench", "show", tmp_path / "x.json")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_and_continued(how, folder, tmp_path):
    process = started(*QUICK, cwd=tmp_path, start_new_session=True)
    partial = tmp_path / "results" / "synthetic-3d-noise5-mgp-mbtl-w2-k7.partial.jsonl"
    wait_until(process, lambda: partial.exists() and partial.read_text().count("\n") > 3)
    os.killpg(process.pid, how)
    _, errors = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "Give the same command again to continue" in errors
        assert "Traceback" not in errors
    kept = partial.read_text().count("\n") - 1
    assert kept >= 3
    again = run(*QUICK, cwd=tmp_path)
    assert "Continuing with" in again.stderr
    assert again.stdout == (folder / "first.txt").read_text()
