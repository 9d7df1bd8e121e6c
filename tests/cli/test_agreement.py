"""Views of a study agree: one name for a coverage, and one value under that name."""

import re

import numpy as np
import pytest
from command_runner import Command
from small_study import POINTS, REGIONS, open_small

from sdmbtl import ContextSpace
from sdmbtl.studies import Study

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
    assert exported["expected_coverage"] == pytest.approx(data["coverage"], abs=1e-9)
    assert f"{100 * data['coverage']:.1f} %" == headline
    command("report", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"coverage {headline}" in page
    played = command("evaluate", path).stdout.splitlines()[0]
    assert "new episodes" in played, "another quantity, by name"
    assert COVERAGE.search(played)


def test_a_portfolio_that_expects_less_than_was_observed_names_it(tmp_path):
    command, space = Command(), ContextSpace(x=np.linspace(0, 1, 8))
    study = Study.open(tmp_path / "study", space=space, return_range=(0, 100))
    rng = np.random.default_rng(0)
    for _ in range(3):
        study.tell(study.ask(), rng.normal(50, 20, (8, 4)))
    observed = COVERAGE.findall(command("status", study.path).stdout)
    headline = command("portfolio", study.path).stdout.splitlines()[0]
    assert COVERAGE.findall(headline) != observed, "the best of noisy means is too high"
    assert re.search(r"expected coverage \d+\.\d % in new episodes", headline)
    assert "coverage" not in command.json("portfolio", study.path)
