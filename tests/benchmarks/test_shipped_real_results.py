"""The shipped result on real matrices is what this code makes of the shipped data."""

import subprocess
import sys
from pathlib import Path

import pytest
from sdmbtl.benchmarks.real_results import summarise
from sdmbtl.benchmarks.results import load_result

from sdmbtl.benchmarks import RealBenchmark
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.matrices import load_matrix, matrix_names
from sdmbtl.matrices.margins import CHOICE_MATTERS

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "results" / "real.json"
pytestmark = pytest.mark.skipif(not RESULT.exists(), reason="results are not part of a wheel")

#: Small, so that all of it can be made again here.
SMALL = "bipedal-walker"


@pytest.fixture(scope="module")
def shipped():
    return load_result(RESULT)


def test_all_data_sets_took_part(shipped):
    assert tuple(d["name"] for d in shipped["data"]) == matrix_names()
    assert shipped["matrices"] == 100
    assert shipped["budgets"] == [6, 12, 50]
    for entry in shipped["data"]:
        assert entry["matters"] == (entry["margin"] >= CHOICE_MATTERS)


def test_made_again_from_the_shipped_data(shipped, tmp_path):
    benchmark = RealBenchmark(data=(SMALL,), selectors=("m-mbtl", "m/gp-mbtl"))
    journal = Journal(tmp_path / "a.jsonl", benchmark.settings)
    benchmark.run(journal)
    (again,) = summarise(benchmark, journal)["data"]
    (before,) = [d for d in shipped["data"] if d["name"] == SMALL]
    assert before["margin"] == pytest.approx(again["margin"], abs=1e-6)
    for name in benchmark.selectors:
        found = again["selectors"][name]["curve"]
        assert before["selectors"][name]["curve"] == pytest.approx(found, abs=1e-6), name


def test_policies_of_the_papers_cartpole_are_good():
    data = load_matrix("cartpole")
    assert len(data.space) == 900
    assert data.card["recipe"]["episodes"] >= 10
    assert data.returns.diagonal(axis1=1, axis2=2).mean() >= 0.99 * 500


def test_the_page_about_the_matrices_is_up_to_date():
    finished = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "describe_matrices.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
