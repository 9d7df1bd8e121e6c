"""Results of single data sets are put into a result of many."""

from dataclasses import replace
from pathlib import Path

import pytest

from merge_benchmarks import aggregate, merge, merge_part
from scoreboard.scoreboard import Scoreboard
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks import BenchmarkResult

RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture(scope="module")
def whole():
    """Measured in one run; its aggregates come from the single matrices."""
    return BenchmarkResult.load(RESULTS / "synthetic-3d-noise5.json")


def part(result, *names):
    problems = tuple(p for p in result.problems if p.name in names)
    settings = {name: result.settings["problems"][name] for name in names}
    settings = {**result.settings, "problems": settings}
    return replace(result, problems=problems, settings=settings, aggregated={}, notes=())


def test_aggregates_are_those_of_one_run_of_everything(whole):
    found = aggregate(whole)
    for k, by_selector in whole.aggregated.items():
        for name, by_metric in by_selector.items():
            for metric, expected in by_metric.items():
                again = found[k][name][metric]
                assert again.mean == pytest.approx(expected.mean, abs=1e-4), (k, name, metric)
                assert again.half_width == pytest.approx(expected.half_width, rel=0.1, abs=1e-4)
                assert again.without == expected.without


def test_added_problems_come_in_place_of_older_ones(whole):
    first, second, *_ = (p.name for p in whole.problems)
    older = part(whole, first, second)
    worse = [replace(p, high=p.high + 1.0) for p in older.problems if p.name == second]
    older = replace(older, problems=(older.problems[0], *worse), notes=("A note.",))
    merged = merge(older, replace(part(whole, second), code="later"))
    assert [p.name for p in merged.problems] == sorted([first, second])
    assert merged.problem(second) == whole.problem(second)
    assert set(merged.settings["problems"]) == {first, second}
    assert merged.notes == ("A note.", f"Measured later, with code later: {second}.")
    assert merged.aggregated == aggregate(merged)


def test_what_was_not_measured_alike_is_refused(whole):
    with pytest.raises(BenchmarkError, match="the same 'trials'. Got 100 and 3"):
        merge(whole, replace(whole, trials=3))
    with pytest.raises(BenchmarkError, match="nothing of m-mbtl"):
        merge(whole, replace(whole, selectors=tuple(s for s in whole.selectors if s != "m-mbtl")))


def test_a_part_of_the_scoreboard(whole):
    first, second, *_ = (p.name for p in whole.problems)
    name = "synthetic-3d-noise5"
    board = Scoreboard().with_part(name, {"code": "older"}, part(whole, first))
    other = Scoreboard().with_part(name, {"code": "later"}, part(whole, second))
    merged = merge_part(board, other, name)
    assert [p.name for p in merged.benchmarks[name].problems] == sorted([first, second])
    assert merged.made_from[name] == {"code": "older", "merged with": {"code": "later"}}
    assert not merged.has(name, {"code": "older"})
