"""Views of a study agree: one name for a coverage, and one value under that name."""

import re

import pytest
from command_runner import Command
from small_study import POINTS, REGIONS, open_small

COVERAGE = re.compile(r"coverage (-?\d+\.\d %)")


@pytest.mark.parametrize(
    ("settings", "budget"),
    [
        (POINTS, 2),
        pytest.param(REGIONS, 3, marks=pytest.mark.slow),
        ({**REGIONS, "evaluate": "chosen"}, 2),
    ],
    ids=["points", "regions", "chosen"],
)
def test_every_view_gives_the_same_coverage(tmp_path, settings, budget):
    command, path = Command(), tmp_path / "study"
    open_small(path, **settings).close()
    run = command("resume", path, "--budget", budget).stdout
    (headline,) = COVERAGE.findall(run)
    status, portfolio = command("status", path).stdout, command("portfolio", path).stdout
    assert COVERAGE.findall(status) == COVERAGE.findall(portfolio) == [headline]
    last = next(line for line in status.splitlines() if line.startswith(f"{budget - 1} "))
    assert headline in last, "the table ends with the headline"
    data, exported = command.json("status", path), command.json("portfolio", path)
    assert exported["coverage"] == pytest.approx(data["coverage"], abs=1e-9)
    assert f"{100 * data['coverage']:.1f} %" == headline
    command("report", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"coverage {headline}" in page
    played = command("evaluate", path).stdout.splitlines()[0]
    assert "new episodes" in played, "another quantity, by name"
    assert COVERAGE.search(played)
