"""The shipped result on real matrices is what this code makes of the shipped data."""

import subprocess
import sys
from pathlib import Path

import pytest

from sdmbtl_lab.benchmarks import BenchmarkResult, real_benchmark
from sdmbtl_lab.matrices import load_matrix, matrix_names
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS

ROOT = Path(__file__).parents[3]
RESULT = ROOT / "results" / "real.json"
pytestmark = pytest.mark.skipif(not RESULT.exists(), reason="results are not part of a wheel")

#: Small, so that all of it can be made again here.
SMALL = "bipedal-walker"


@pytest.fixture(scope="module")
def shipped():
    return BenchmarkResult.load(RESULT)


def test_all_data_sets_took_part(shipped):
    assert tuple(problem.name for problem in shipped.problems) == matrix_names()
    assert shipped.trials == 100
    assert shipped.policies == (6, 12, 50)
    for problem in shipped.problems:
        assert problem.matters == (problem.margin >= CHOICE_MATTERS)


def test_made_again_from_the_shipped_data(shipped):
    benchmark = real_benchmark((SMALL,), selectors=("m-mbtl",))
    (again,) = benchmark.run().problems
    before = shipped.problem(SMALL)
    assert before.margin == pytest.approx(again.margin, abs=1e-6)
    for name in benchmark.selectors:
        assert before.of(name).curve == pytest.approx(again.of(name).curve, abs=1e-6), name


def test_policies_of_the_papers_cartpole_are_good():
    data = load_matrix("cartpole")
    assert len(data.space) == 900
    assert data.card["recipe"]["episodes"] >= 10
    assert data.returns.diagonal(axis1=1, axis2=2).mean() >= 0.99 * 500


def test_the_page_about_the_matrices_is_up_to_date():
    finished = subprocess.run(
        [sys.executable, str(ROOT / "lab" / "experiments" / "describe_matrices.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
