"""The one benchmark: the same records however it runs, resumed without loss, numbers by hand."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sdmbtl import ContextSpace, make_selector
from sdmbtl_lab.benchmarks import (
    Benchmark,
    Problem,
    further_configurations,
    paper_configurations,
    simulate,
    synthetic_benchmark,
)
from sdmbtl_lab.benchmarks.paper_benchmarks import SYNTHETIC_SELECTORS
from sdmbtl_lab.benchmarks.paper_tables import performance_table
from sdmbtl_lab.benchmarks.records import record_key

TWO = paper_configurations(3, noise=5.0)[:2]
SMALL = synthetic_benchmark(
    dim=3,
    noise=5.0,
    trials=2,
    rounds=8,
    selectors=("m-mbtl", "m/gp-mbtl", "independent", "sequential-oracle"),
    configurations=TWO,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    journal = SMALL.journal(tmp_path_factory.mktemp("journal"))
    SMALL.run(journal)
    return journal


@pytest.fixture(scope="module")
def result(finished):
    return SMALL.result(finished)


def test_records_are_what_the_selectors_do(finished):
    for configuration in TWO:
        matrix = configuration.matrix(1)
        record = finished[configuration.name, "1", "m/gp-mbtl"]
        run = simulate(make_selector("m/gp-mbtl", configuration.space, seed=1), matrix, 8)
        assert record["indices"] == run.indices
        assert record["strategies"] == run.strategies
        for k in range(8):
            best = matrix[run.indices[: k + 1]].max(axis=0).mean()
            assert record["curve"][k] == pytest.approx(best)
        assert record["low"] == matrix.min()
        assert record["high"] == matrix.max()
        assert record["all_policies"] == pytest.approx(matrix.max(axis=0).mean())
        independent = finished[configuration.name, "1", "independent"]
        assert independent["curve"] == pytest.approx([np.diagonal(matrix).mean()] * 8)
        sequential = finished[configuration.name, "1", "sequential-oracle"]["curve"]
        assert sequential[-1] >= record["curve"][-1]


def test_two_processes_give_the_same_result(result):
    assert SMALL.run(jobs=2) == result


def test_numbers_by_hand(finished, result):
    for number, configuration in enumerate(TWO):
        matrices = [configuration.matrix(t) for t in (0, 1)]
        low, high = np.min(matrices), np.max(matrices)
        found = result.problems[number]
        assert (found.low, found.high) == (low, high)
        curves = {
            name: (
                np.array([finished[record_key(found.name, t, name)]["curve"] for t in (0, 1)]) - low
            )
            / (high - low)
            for name in SMALL.selectors
        }
        for name in ("m-mbtl", "independent"):
            own, random = curves[name], curves["random"]
            assert found.of(name).curve == pytest.approx(own.mean(axis=0))
            assert found.statistics(name, 8, "final").mean == pytest.approx(own[:, 7].mean())
            assert found.statistics(name, 8, "final").median == pytest.approx(own[:, 7].mean())
            assert found.statistics(name, 8, "auc").mean == pytest.approx(own.mean())
            ahead = found.statistics(name, 8, "ahead")
            assert ahead.mean == pytest.approx((own - random)[:, 7].mean())
            assert 0 < ahead.half_width <= np.ptp((own - random)[:, 7])
            margin = curves["myopic-oracle"][:, 7].mean() - random[:, 7].mean()
            assert found.margin_at(8) == pytest.approx(margin)
            score = found.statistics(name, 8, "score")
            assert score.mean == pytest.approx((own - random)[:, 7].mean() / margin)
        assert found.of("m-mbtl").strategies == {"m-mbtl": (1.0,) * 8}
    strategies = [finished[TWO[1].name, str(t), "m/gp-mbtl"]["strategies"] for t in (0, 1)]
    share = np.mean([s == "m-mbtl" for run in strategies for s in run[5:]])
    assert result.problems[1].of("m/gp-mbtl").structures["mountain"] == share
    assert result.aggregated[8]["random"]["final"].mean == pytest.approx(0)
    assert result.aggregated[8]["myopic-oracle"]["final"].mean == pytest.approx(1)


@dataclass(frozen=True)
class Steps(Problem):
    """A problem of one's own: a policy serves targets above its own, the more the nearer."""

    size: int = 6

    @property
    def name(self):
        return f"steps-{self.size}"

    @property
    def space(self):
        return ContextSpace(a=range(self.size))

    def matrix(self, trial):
        a = np.arange(self.size)
        return np.where(a >= a[:, None], 10.0 - (a - a[:, None]), 0.0) + trial


def test_a_problem_of_ones_own():
    benchmark = Benchmark((Steps(), Steps(9)), ("m-mbtl",), trials=2, policies=(2, 8))
    result = benchmark.run()
    small, large = result.problems
    assert (small.rounds, large.rounds) == (6, 8)
    assert set(small.of("m-mbtl").at) == {2, 6}, "what was asked for, and the last round"
    assert set(large.of("m-mbtl").at) == {2, 8}
    assert [p.name for p in result.entering(8)] == ["steps-9"]
    table = performance_table(result)
    assert table.label_headers == ("problem",)
    assert [row.labels for row in table.rows] == [("steps-6",), ("steps-9",)]
    assert "K =" not in table.title
    assert [row.labels for row in performance_table(result, 2).rows][-1] == ("Aggregated",)


def test_what_the_records_depend_on():
    assert SMALL.heading == SMALL.heading
    for other in (
        replace(SMALL, trials=3),
        replace(SMALL, policies=(7,)),
        replace(SMALL, problems=SMALL.problems[:1]),
        replace(SMALL, selectors=("predictive",)),
        synthetic_benchmark(3, 4.0, 2, 8, SMALL.selectors, TWO),
    ):
        assert other.heading != SMALL.heading


def test_result_files_do_not_collide():
    names = {
        synthetic_benchmark(dim=3, noise=5.0).name,
        synthetic_benchmark(dim=3, noise=0.5).name,
        synthetic_benchmark(dim=3, noise=5.0, configurations=further_configurations(3)).name,
        synthetic_benchmark(dim=3, noise=5.0, trials=4).name,
        synthetic_benchmark(dim=3, noise=5.0, rounds=20).name,
        synthetic_benchmark(dim=3, noise=5.0, selectors=("m-mbtl",)).name,
        synthetic_benchmark(dim=3, noise=5.0, selectors=(*SYNTHETIC_SELECTORS, "predictive")).name,
        SMALL.name,
    }
    assert len(names) == 8
    assert {"synthetic-3d-noise5", "synthetic-3d-noise5-with-predictive"} <= names
