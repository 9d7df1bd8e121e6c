"""Recorded results against the paper and against the code; slow: made again from nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdmbtl_lab.benchmarks import (
    BenchmarkResult,
    paper_configurations,
    real_benchmark,
    synthetic_benchmark,
)
from sdmbtl_lab.benchmarks.published import published_table
from sdmbtl_lab.matrices import matrix_names
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
SELECTORS = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")
#: Two half-widths of the printed means, or more: runs of the authors drew other noise.
NEAR = 0.004
#: A data set that is small enough to be run again here.
SMALL = "bipedal-walker"


def recorded(dim, noise):
    return BenchmarkResult.load(RESULTS / f"synthetic-{dim}d-noise{noise}.json")


def pairs(result, names):
    """Yield ours and the printed mean for each row and selector."""
    dim = result.settings["dim"]
    table = published_table(dim, result.settings["noise"])
    problems = {problem.name: problem for problem in result.problems}
    for configuration in paper_configurations(dim):
        row = table.row(configuration.name)
        for name in names:
            found = problems[configuration.name].statistics(name, 50, "final").mean
            yield f"{configuration.name} {name}", found, row.values[name].mean


@pytest.mark.parametrize("noise", [0, 5, 30])
def test_three_dimensions_reproduce_the_paper(noise):
    result = recorded(3, noise)
    assert result.policies == (50,)
    assert result.trials == (100 if noise else 1)
    for name, found, printed in pairs(result, SELECTORS):
        assert found >= printed - NEAR, name
    for name, found, printed in pairs(result, ("random", "myopic-oracle")):
        assert found == pytest.approx(printed, abs=0.001), name


@pytest.mark.parametrize(
    ("dim", "noise", "as_printed", "unbiased"),
    [
        (3, 0, 0.98, 0.98),
        (3, 5, 0.86, 0.88),
        (3, 30, 0.33, 0.39),
        (5, 5, 0.46, 0.53),
        (7, 5, 0.72, 0.82),
    ],
)
def test_aggregated_performance(dim, noise, as_printed, unbiased):
    aggregated = recorded(dim, noise).aggregated[50]
    assert aggregated["m/gp-mbtl"]["final"].mean >= as_printed
    assert aggregated["m/gp-mbtl-unbiased"]["final"].mean >= unbiased


def test_oracle_reproduces_the_paper_in_five_dimensions():
    for name, found, printed in pairs(recorded(5, 5), ("myopic-oracle",)):
        assert found == pytest.approx(printed, abs=0.001), name


def test_detection_tells_mountain_from_the_rest():
    for problem in recorded(3, 5).problems:
        share = problem.of("m/gp-mbtl").structures.get("mountain", 0.0)
        assert share > 0.95 if problem.mountain else share < 0.4, problem.name


def made_again(dim, noise, selectors):
    benchmark = synthetic_benchmark(dim, float(noise), selectors=selectors)
    result, expected = benchmark.run(jobs=2), recorded(dim, noise)
    for found, kept in zip(result.problems, expected.problems, strict=True):
        for name in result.selectors:
            now, then = (p.statistics(name, 50, "final").mean for p in (found, kept))
            assert now == pytest.approx(then, abs=1e-5), (found.name, name)


@pytest.mark.slow
def test_without_noise_from_nothing():
    made_again(3, 0, ("m/gp-mbtl",))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [5, 30])
def test_with_noise_from_nothing(noise):
    made_again(3, noise, SELECTORS)


@pytest.mark.slow
def test_real_matrices_from_nothing():
    result = BenchmarkResult.load(RESULTS / "real.json")
    assert tuple(problem.name for problem in result.problems) == matrix_names()
    for problem in result.problems:
        assert problem.matters == (problem.margin >= CHOICE_MATTERS)
    (before,) = [problem for problem in result.problems if problem.name == SMALL]
    benchmark = real_benchmark((SMALL,), selectors=("m-mbtl",))
    (again,) = benchmark.run().problems
    assert before.margin == pytest.approx(again.margin, abs=1e-6)
    for name in benchmark.selectors:
        assert before.of(name).curve == pytest.approx(again.of(name).curve, abs=1e-6), name


def test_cost_and_coverage():
    by_size = {
        m["targets"]: m["selectors"]["m/gp-mbtl-unbiased"]
        for m in json.loads((RESULTS / "selection-speed.json").read_text())["measured"]
    }
    for size, milliseconds in ((512, 10), (3125, 85), (16384, 3000)):
        assert all(kind["median_ms"] < milliseconds for kind in by_size[size].values())
    speed = json.loads((RESULTS / "training-speed.json").read_text())
    assert speed["ratio_one"] >= 15
    measured = json.loads((RESULTS / "coverage.json").read_text())["measured"]
    assert all(
        seed["coverage"]["3"] >= 0.99 for seed in measured["paper: m/gp-mbtl-unbiased"].values()
    )


def test_pages_match_the_results():
    for script in ("make_tables.py", "describe_matrices.py"):
        finished = subprocess.run(
            [sys.executable, ROOT / "lab" / "experiments" / script, "--check"],
            capture_output=True,
            text=True,
        )
        assert finished.returncode == 0, finished.stderr


def test_marked_tables_are_replaced(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "lab" / "experiments"))
    import make_tables

    page = "<!-- {} table, made by lab/experiments/make_tables.py -->\nold\n<!-- end -->"
    filled = make_tables.fill(page.format("training"))
    assert "stable-baselines3" in filled
    assert "old" not in filled
    assert make_tables.fill(filled) == filled
    with pytest.raises(SystemExit, match="trainig"):
        make_tables.fill(page.format("trainig"))
