"""What the README shows runs, and its numbers are those of the result files."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_blocks_run_in_order(capsys):
    names = {"__name__": "readme"}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 (our own README)
    printed = capsys.readouterr().out
    assert "mountain" in printed
    assert len(re.findall(r"^ *[0-9.]+  {'length'", printed, flags=re.MULTILINE)) == 6


COMMANDS = [
    shlex.split(line, comments=True)
    for block in blocks("console")
    for line in block.splitlines()
    if line.startswith("sdmbtl ")
]


def test_there_are_commands():
    assert len(COMMANDS) == 3


def test_commands_run(tmp_path):
    """In order, in one folder; the long ones with few trials and rounds."""
    for command in COMMANDS:
        if "synthetic" in command and "--trials" not in command:
            command = [*command, "--trials", "2", "--rounds", "6"]  # else it takes minutes
        finished = subprocess.run(
            [sys.executable, "-m", "sdmbtl", *command[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert finished.returncode == 0, finished.stderr
    assert r"\toprule" in finished.stdout


def test_links_lead_somewhere():
    for text in (README, (ROOT / "docs" / "paper.md").read_text()):
        for target in re.findall(r"\]\(([^)#]+\.md)\)", text):
            assert (ROOT / target).exists() or (ROOT / "docs" / target).exists(), target


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="results are not part of a wheel")
def test_tables_are_those_of_the_result_files():
    finished = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "make_tables.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
