"""The shipped results against the paper; slow: the same from nothing."""

import json
from pathlib import Path

import pytest

from sdmbtl_lab.benchmarks import BenchmarkResult, paper_configurations, synthetic_benchmark
from sdmbtl_lab.benchmarks.published import published_table

RESULTS = Path(__file__).parents[3] / "results"
SELECTORS = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")


def shipped(dim, noise):
    return BenchmarkResult.load(RESULTS / f"synthetic-{dim}d-noise{noise}.json")


def pairs(result, names):
    """Ours and the printed mean for each row and selector."""
    dim = result.settings["dim"]
    table = published_table(dim, result.settings["noise"])
    for configuration in paper_configurations(dim):
        row = table.row(configuration.name)
        problem = result.problem(configuration.name)
        for name in names:
            found = problem.statistics(name, 50, "final").mean
            yield f"{configuration.name} {name}", found, row.values[name].mean


@pytest.mark.parametrize("noise", [0, 5, 30])
def test_three_dimensions_reproduce_the_paper(noise):
    result = shipped(3, noise)
    assert result.policies == (50,)
    assert result.trials == (100 if noise else 1)
    for name, found, printed in pairs(result, SELECTORS):
        assert found >= printed - 0.003, name
    for name, found, printed in pairs(result, ("random", "myopic-oracle")):
        assert found == pytest.approx(printed, abs=0.001), name


@pytest.mark.parametrize(
    ("dim", "noise", "least"),
    [(3, 0, 0.98), (3, 5, 0.87), (3, 30, 0.31), (5, 5, 0.53), (7, 5, 0.72)],
)
def test_aggregated_performance(dim, noise, least):
    assert shipped(dim, noise).aggregated[50]["m/gp-mbtl"]["final"].mean >= least


def test_oracle_reproduces_the_paper_in_five_dimensions():
    for name, found, printed in pairs(shipped(5, 5), ("myopic-oracle",)):
        assert found == pytest.approx(printed, abs=0.001), name


def test_detection_tells_mountain_from_the_rest():
    for problem in shipped(3, 5).problems:
        share = problem.of("m/gp-mbtl").structures.get("mountain", 0.0)
        assert share > 0.95 if problem.mountain else share < 0.4, problem.name


def test_selection_is_fast_and_small():
    speed = json.loads((RESULTS / "selection-speed.json").read_text())
    by_size = {m["targets"]: m for m in speed["measured"]}
    for size, milliseconds in ((512, 10), (3125, 85), (16384, 3000)):
        for kind in ("mountain", "not_mountain"):
            assert by_size[size][kind]["mean_ms"] < milliseconds
    assert by_size[16384]["peak_mib"] < 2048


def same_again(dim, noise):
    result, expected = synthetic_benchmark(dim, float(noise)).run(jobs=2), shipped(dim, noise)
    for found, kept in zip(result.problems, expected.problems, strict=True):
        for name in result.selectors:
            now, then = (p.statistics(name, 50, "final").mean for p in (found, kept))
            assert now == pytest.approx(then, abs=1e-5), (found.name, name)


def test_without_noise_from_nothing():
    same_again(3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [5, 30])
def test_with_noise_from_nothing(noise):
    same_again(3, noise)
