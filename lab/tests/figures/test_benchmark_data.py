"""What the page of a benchmark is made of."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdmbtl.errors import BenchmarkError
from sdmbtl.report import make_page
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.result import Aggregate, ProblemResult, SelectorResult, Statistics
from sdmbtl_lab.figures.benchmark_data import benchmark_data

RESULTS = Path(__file__).parents[3] / "results"
LEVELS = {"random": 0.5, "m-mbtl": 0.6, "m/gp-mbtl": 0.7, "myopic-oracle": 0.8}
ROUNDS = 4


def selector(level, start):
    curve = tuple(np.linspace(start, level, ROUNDS).tolist())
    numbers = {"final": Statistics(level, 0.01), "auc": Statistics(level, 0.01)}
    strategies = {"clustering": (1.0, 1.0, 0.5, 0.0), "gp": (0.0, 0.0, 0.5, 1.0)}
    return SelectorResult({ROUNDS: numbers}, curve, strategies=strategies if level == 0.7 else {})


def problem(name, start):
    return ProblemResult(
        name=name,
        labels={"data": name, "N": "9"},
        rounds=ROUNDS,
        low=0.0,
        high=1.0,
        selectors={n: selector(level, start * level) for n, level in LEVELS.items()},
        all_policies=0.9,
    )


def small_result():
    scores = {n: Aggregate((level - 0.5) / 0.3, 0.02) for n, level in LEVELS.items()}
    return BenchmarkResult(
        name="own",
        title="own problems",
        headers=("data", "N"),
        trials=7,
        policies=(ROUNDS,),
        selectors=tuple(LEVELS),
        problems=(problem("hills", 0.5), problem("plains", 0.8)),
        aggregated={ROUNDS: {n: {"final": s, "auc": s} for n, s in scores.items()}},
    )


def test_scores_are_the_aggregate_at_every_number_of_policies():
    data = benchmark_data(small_result())
    assert [score.selector for score in data.scores] == ["m-mbtl", "m/gp-mbtl"]
    score = data.scores[1]
    assert len(score.means) == ROUNDS
    # Every curve is a share of its level, so the score is the same all the way.
    assert score.means == pytest.approx([2 / 3] * ROUNDS)
    assert score.half_widths == {ROUNDS: 0.02}


def test_the_shipped_aggregates_are_what_the_curves_give():
    """The score of every round is computed here, and by the benchmark for some rounds."""
    result = BenchmarkResult.load(RESULTS / "synthetic-3d-noise5.json")
    for score in benchmark_data(result).scores:
        curves = np.array([p.selectors[score.selector].curve for p in result.problems])
        low, high = (
            np.array([p.selectors[n].curve for p in result.problems])
            for n in ("random", "myopic-oracle")
        )
        expected = ((curves - low) / (high - low)).mean(axis=0)
        # In the first round all of them may be equal.
        assert np.allclose(score.means[1:], expected[1:], atol=2e-4)


def test_curves_choices_and_tables_are_those_of_the_result():
    result = small_result()
    data = benchmark_data(result)
    hills = data.problems[0]
    assert {c.selector: c.means for c in hills.curves} == {
        n: s.curve for n, s in result.problems[0].selectors.items()
    }
    assert hills.curves[2].choices["gp"] == (0.0, 0.0, 0.5, 1.0)
    table = data.tables[0]
    assert table.policies == ROUNDS
    assert table.rows[0]["cells"][2][:2] == [0.7, 0.01]
    assert table.rows[-1]["summary"]


@pytest.mark.parametrize(
    "file", ["real.json", "synthetic-3d-noise0.json", "synthetic-7d-noise5.json"]
)
def test_shipped_results_become_small_pages(file):
    page = make_page(benchmark_data(BenchmarkResult.load(RESULTS / file)))
    assert len(page) < 500_000


@pytest.mark.parametrize(
    "changes",
    [
        {"problems": ()},
        {"problems": (replace(problem("a", 0.5), selectors={}),)},
        {"problems": (replace(problem("a", 0.5), rounds=9),)},
        {"problems": (replace(problem("a", 0.5), labels={}),)},
    ],
)
def test_what_is_not_complete_is_said(changes):
    with pytest.raises(BenchmarkError, match="not complete"):
        benchmark_data(replace(small_result(), **changes))


def test_curves_have_bands_where_every_interval_is_known():
    result = small_result()
    widths = {4: 0.01}
    assert benchmark_data(result).problems[0].curves[0].half_widths == widths
    known = replace(result.problems[0].selectors["random"], half_widths=(0.1, 0.2, 0.3, 0.4))
    hills = replace(result.problems[0], selectors={**result.problems[0].selectors, "random": known})
    curve = benchmark_data(replace(result, problems=(hills,))).problems[0].curves[0]
    assert curve.half_widths == {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}
