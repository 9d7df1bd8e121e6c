"""What a round costs: measured in a process of its own, summed up, shown."""

import numpy as np
import pytest

from scoreboard.cost_benchmark import CostBenchmark, CostResult
from scoreboard.selection_cost import Measurement, make_row, make_space
from sdmbtl.errors import BenchmarkError
from sdmbtl.json_data import as_json, from_json
from sdmbtl_lab.benchmarks.journal import Journal
from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem


@pytest.mark.parametrize(("h", "mountain"), [("l1", True), ("non-distance", False)])
def test_rows_are_those_of_the_synthetic_benchmark(h, mountain):
    configuration = SyntheticProblem(3, "constant", "constant", h)
    matrix = configuration.matrix(0)
    for index in (0, 77, 511):
        noise = 5.0 * np.random.default_rng(index).standard_normal(512)
        expected = matrix[index] + noise
        np.testing.assert_allclose(make_row(make_space(512), index, mountain), expected)


def test_measured_in_a_process_of_its_own():
    figures = Measurement("m-mbtl", 64, 6, mountain=True).in_own_process()
    assert len(figures["seconds"]) == 6
    assert all(0 < s < 5 for s in figures["seconds"])


def test_peak_memory_is_that_of_the_measuring_process():
    ballast = np.ones(60_000_000)  # 458 MiB, in this process
    figures = Measurement("m-mbtl", 64, 3, mountain=True).in_own_process()
    assert ballast[-1] == 1
    assert 20 < figures["peak_mib"] < 300


def test_failing_measurement_says_why():
    with pytest.raises(BenchmarkError, match=r"cost of 'best' on 64 targets.*Unknown selector"):
        Measurement("best", 64, 6, mountain=True).in_own_process()
    with pytest.raises(BenchmarkError, match=r"on 64, 512, 3125, 16384 targets. Got 100 instead"):
        Measurement("auto", 100, 6, mountain=True)


def test_benchmark_measures_once_and_sums_up(tmp_path, monkeypatch):
    benchmark = CostBenchmark(("m-mbtl", "random", "myopic-oracle"), {64: 6})
    assert benchmark.selectors == ("m-mbtl",), "what sets the scale has no cost"
    asked = []

    def measured(self):
        asked.append(self)
        fast = self.mountain
        return {"seconds": [9, 9, 0.001, 0.002, 0.003, 0.01 if fast else 0.03], "peak_mib": 80.0}

    monkeypatch.setattr(Measurement, "in_own_process", measured)
    for _ in range(2):
        journal = Journal(tmp_path / "cost.jsonl", benchmark.heading)
        result = benchmark.run(journal, jobs=4)
    assert [m.mountain for m in asked] == [True, False]
    (cost,) = result.measured
    assert cost.selectors["m-mbtl"]["mountain"] == {
        "median_ms": pytest.approx(2.5),
        "slowest_ms": pytest.approx(10.0),
        "peak_mib": 80.0,
    }
    assert cost.highest("m-mbtl", "slowest_ms") == pytest.approx(30.0)
    assert from_json(CostResult, as_json(result)) == result
    table = result.table()
    assert table.rows[0].labels == ("64", "Mountain", "3..6", "median ms")
    assert table.columns == ("M-MBTL",)
    assert len(table.rows) == 6


def test_unknown_selector():
    with pytest.raises(BenchmarkError, match="Unknown selector 'best'"):
        CostBenchmark(("best",))
