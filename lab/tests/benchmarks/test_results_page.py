"""docs/results.md: short enough to be read, and its commands print what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "results.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
]


def test_it_is_read_in_five_minutes():
    assert len(PAGE) < 15_000


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command):
    program, *arguments = command.split()
    module = ["-m", "sdmbtl"] if program == "sdmbtl" else []
    finished = subprocess.run(
        [sys.executable, *module, *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("\n") > 5


def test_unknown_tables_are_named(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "lab" / "experiments"))
    import make_tables

    page = "<!-- {} table, made by lab/experiments/make_tables.py -->\nold\n<!-- end -->"
    filled = make_tables.fill(page.format("training"))
    assert "stable-baselines3" in filled
    assert "old" not in filled
    assert make_tables.fill(filled) == filled
    with pytest.raises(SystemExit, match="There is no table 'trainig'"):
        make_tables.fill(page.format("trainig"))
