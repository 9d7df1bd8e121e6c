"""The benchmark on real matrices: what is drawn, what is counted, what is shown."""

import json

import numpy as np
import pytest
from sdmbtl.benchmarks.layout import MULTI_TASK
from sdmbtl.benchmarks.real_benchmark import RealData
from sdmbtl.benchmarks.real_results import (
    entering,
    margin_table,
    performance_table,
    rounds_table,
    strategy_table,
    summarise,
)
from sdmbtl.benchmarks.results import load_result, save_result

from sdmbtl import ContextSpace
from sdmbtl.benchmarks import RealBenchmark, real_benchmark
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.errors import BenchmarkError
from sdmbtl.matrices import TransferDataset, TransferMatrices, load_matrix, matrix_names
from sdmbtl.matrices.margins import choice_margin

SPACE = ContextSpace(a=range(4), b=range(4))
SELECTORS = ("independent", "m-mbtl", "m/gp-mbtl", "m+random", "sequential-oracle")


def returns(seed, *, peaks):
    """Three seeds of (16, 16): four sources cover a quarter each; or nearly any covers all."""
    if not peaks:
        flat = np.full((3, 16, 16), 90.0)
        flat[:, 0] = 0.0
        return flat
    rng = np.random.default_rng(seed)
    same_quarter = (SPACE.targets[:, None] // 2 == SPACE.targets // 2).all(axis=2)
    good = (SPACE.targets % 2 == 1).all(axis=1)
    level = np.where(same_quarter & good[:, None], 100.0, 20.0)
    return level + rng.normal(0, 3, (3, 16, 1)) + rng.normal(0, 0.5, (3, 16, 16))


def saved(folder, name, *, peaks, multi_task=(2, 4)):
    dataset = TransferDataset(
        TransferMatrices(SPACE, returns(1, peaks=peaks)),
        source_returns=np.full((3, 16), 100.0),
        episode_variance=np.zeros((3, 16)),
        multi_task={k: np.full((3, 16), 40.0 + k) + np.arange(3.0)[:, None] for k in multi_task},
        card={"name": name, "recipe": {"episodes": 10}},
    )
    (folder / name).mkdir()
    dataset.save(folder / name / "matrix.npz")
    return str(folder / name)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrices")
    return (saved(folder, "peaked", peaks=True), saved(folder, "flat", peaks=False))


@pytest.fixture(scope="module")
def benchmark(places):
    return RealBenchmark(data=places, matrices=5, budgets=(2, 4, 8), selectors=SELECTORS)


@pytest.fixture(scope="module")
def journal(benchmark, tmp_path_factory):
    journal = Journal(tmp_path_factory.mktemp("journal") / "a.jsonl", benchmark.settings)
    benchmark.run(journal)
    return journal


@pytest.fixture(scope="module")
def result(benchmark, journal):
    return summarise(benchmark, journal)


def test_every_row_of_a_drawn_matrix_is_one_training_run(places):
    data = RealData(places[0])
    every = data.dataset.returns
    drawn = [data.matrix(trial) for trial in range(4)]
    seeds = np.array([[_seed_of(every, m, row) for row in range(16)] for m in drawn])
    assert set(seeds.ravel()) == {0, 1, 2}
    assert len({tuple(row) for row in seeds}) == 4, "each matrix is another draw"
    np.testing.assert_array_equal(data.matrix(2), drawn[2])


def _seed_of(every, matrix, row):
    (found,) = [s for s in range(3) if np.array_equal(every[s, row], matrix[row])]
    return found


def test_performance_is_normalised_over_the_data_set(benchmark, journal, result):
    data = benchmark.every_data()[0]
    low, high = data.dataset.returns.min(), data.dataset.returns.max()
    entry = result["data"][0]
    assert (entry["name"], entry["contexts"], entry["seeds"]) == ("peaked", 16, 3)
    curves = np.array([journal["peaked", str(t), "m-mbtl"]["curve"] for t in range(5)])
    curves = (curves - low) / (high - low)
    for budget in (2, 4, 8):
        at = entry["selectors"]["m-mbtl"]["at"][str(budget)]
        assert at["final"]["mean"] == pytest.approx(curves[:, budget - 1].mean())
        assert at["final"]["median"] == pytest.approx(np.median(curves[:, budget - 1]))
        assert at["auc"]["mean"] == pytest.approx(curves[:, :budget].mean())
        assert at["final"]["half_width"] > 0
        assert at["final"]["iqm_half_width"] >= 0
        assert "trials" not in at["final"]


def test_multi_task_has_the_steps_of_so_many_policies(benchmark, result):
    data = benchmark.every_data()[0]
    low, high = data.dataset.returns.min(), data.dataset.returns.max()
    found = result["data"][0]["selectors"][MULTI_TASK]["at"]
    assert set(found) == {"2", "4"}, "none was trained for 8"
    for k in (2, 4):
        values = (np.array([40.0, 41.0, 42.0]) + k - low) / (high - low)
        final = found[str(k)]["final"]
        assert final["mean"] == pytest.approx(values.mean(), abs=1e-4)
        assert final["half_width"] == pytest.approx(np.ptp(values) / 2, rel=0.2), "over the seeds"


def test_only_data_where_choosing_matters_are_aggregated(benchmark, result):
    peaked, flat = result["data"]
    scaled = RealData(benchmark.data[0]).dataset.matrices.normalised().returns
    assert peaked["margin"] == pytest.approx(choice_margin(scaled))
    assert peaked["matters"]
    assert not flat["matters"], "two of any sources cover everything"
    for budget in (2, 4, 8):
        at = {
            name: peaked["selectors"][name]["at"][str(budget)]["final"]["mean"]
            for name in ("m-mbtl", "random", "myopic-oracle")
        }
        margin = at["myopic-oracle"] - at["random"]
        assert peaked["margins"][str(budget)] == pytest.approx(margin)
        found = result["aggregated"][str(budget)]["m-mbtl"]["final"]
        assert found["mean"] == pytest.approx((at["m-mbtl"] - at["random"]) / margin)
    assert result["aggregated"]["8"][MULTI_TASK]["final"]["mean"] is None


def test_what_a_column_lacks_is_said(places, tmp_path):
    """One of the two has no multi-task policies, and one no more than 16 contexts."""
    other = saved(tmp_path, "other", peaks=True, multi_task=())
    benchmark = RealBenchmark(data=(places[0], other), matrices=2, budgets=(2, 50), selectors=())
    journal = Journal(tmp_path / "a.jsonl", benchmark.settings)
    benchmark.run(journal)
    result = summarise(benchmark, journal)
    assert len(entering(result["data"], 2)) == 2
    found = result["aggregated"]["2"][MULTI_TASK]["final"]
    assert found["without"] == ["other"]
    peaked = result["data"][0]
    mean = peaked["selectors"][MULTI_TASK]["at"]["2"]["final"]["mean"]
    random = peaked["selectors"]["random"]["at"]["2"]["final"]["mean"]
    assert found["mean"] == pytest.approx((mean - random) / peaked["margins"]["2"])
    table = performance_table(result, 2)
    assert "The aggregate of Multi-task is without other." in table.notes
    assert not table.rows[-1].cells[0].bold, "it does not compete"
    assert result["aggregated"]["2"]["myopic-oracle"]["final"]["mean"] == pytest.approx(1)
    assert entering(result["data"], 50) == [], "they have 16 contexts"
    assert performance_table(result, 50).rows[0].labels == ("Aggregated",)
    assert performance_table(result, 2).rows[1].cells[0] is None


def test_data_enter_while_there_is_something_to_gain():
    data = [
        {"name": "a", "matters": True, "margins": {"6": 0.05, "50": 0.009}},
        {"name": "b", "matters": True, "margins": {"6": 0.04, "50": 0.01}},
        {"name": "c", "matters": False, "margins": {"6": 0.02, "50": 0.02}},
    ]
    assert [d["name"] for d in entering(data, 6)] == ["a", "b"]
    assert [d["name"] for d in entering(data, 50)] == ["b"]


def test_one_seed_says_nothing_about_others(places, tmp_path):
    data = load_matrix(places[0])
    single = TransferDataset(
        TransferMatrices(SPACE, data.returns[:1]),
        data.source_returns[:1],
        data.episode_variance[:1],
        card={"name": "single"},
    )
    single.save(tmp_path / "single.npz")
    benchmark = RealBenchmark(
        data=(str(tmp_path / "single.npz"),), matrices=3, budgets=(2,), selectors=("m+random",)
    )
    journal = Journal(tmp_path / "a.jsonl", benchmark.settings)
    benchmark.run(journal)
    (entry,) = summarise(benchmark, journal)["data"]
    assert entry["seeds"] == 1
    for name in ("m+random", "random", "myopic-oracle"):
        assert entry["selectors"][name]["at"]["2"]["final"]["half_width"] is None


def test_shares_of_strategies_by_round(result):
    shares = result["data"][0]["selectors"]["m/gp-mbtl"]["strategies"]
    assert set(shares) <= {"m-mbtl", "gp-mbtl"}
    np.testing.assert_allclose(np.sum(list(shares.values()), axis=0), 1.0)
    assert shares["m-mbtl"][:5] == [1.0] * 5, "as in the paper, the first rounds are M-MBTL's"
    assert result["data"][0]["selectors"]["random"]["strategies"] == {}


def test_which_strategy_chose(result):
    changed = json.loads(json.dumps(result))
    for entry in changed["data"]:
        entry["selectors"]["m/gp-mbtl"]["strategies"] = {"a": [1.0] * 8, "b": [0.25] * 8}
    table = strategy_table(changed, "m/gp-mbtl")
    assert [row.labels for row in table.rows][:2] == [("peaked", "a"), ("peaked", "b")]
    assert table.columns == ("round 1", "round 5", "round 6", "round 8")
    assert [cell.mean for cell in table.rows[1].cells] == [0.25] * 4
    assert strategy_table(changed, "m-mbtl") is None


def test_tables(result, tmp_path):
    path = tmp_path / "real.json"
    save_result(result, path)
    loaded = load_result(path)
    table = performance_table(loaded, 4)
    assert table.columns == (
        "Independent",
        "Multi-task",
        "Random",
        "M-MBTL",
        "M/GP-MBTL",
        "Myopic Oracle",
        "Sequential Oracle",
    )
    assert [row.labels[0] for row in table.rows] == ["peaked", "flat", "Aggregated"]
    assert table.rows[0].cells[1].mean > 0
    assert performance_table(loaded, 8).rows[0].cells[1] is None
    ablation = performance_table(loaded, 8, ablation=True)
    assert "M+Random" in ablation.columns
    assert "Multi-task" not in ablation.columns
    areas = performance_table(loaded, 8, "auc", "iqm")
    assert areas.title.startswith("Interquartile mean of Area")
    assert [row.labels[0] for row in areas.rows] == ["peaked", "flat"]
    assert areas.rows[0].cells[2].half_width is not None
    margins = margin_table(loaded)
    assert [row.labels for row in margins.rows] == [
        ("peaked", "16", "3", "yes"),
        ("flat", "16", "3", "no"),
    ]
    assert rounds_table(loaded, 0.1).rows[1].cells[-1].mean == 1.0
    assert table.rows[0].labels[3] == f"{loaded['data'][0]['margins']['4']:.3f}"


def test_the_papers_rows_stand_below_ours(result):
    twelve = json.loads(json.dumps(result))
    for entry in twelve["data"]:
        entry["margins"] = {"12": 0.1}
        for selector in entry["selectors"].values():
            selector["at"] = {"12": next(iter(selector["at"].values()))}
    twelve["aggregated"] = {"12": result["aggregated"]["2"]}
    table = performance_table(twelve, 12)
    assert [row.labels[0] for row in table.rows[2:]] == [
        "Aggregated",
        "paper: CartPole",
        "paper: BipedalWalker",
        "paper: aggregated, K = 12 and 50",
    ]
    assert table.rows[3].cells[1].mean == 0.9967
    assert table.rows[5].cells[4].mean == 0.293


def test_data_sets_smaller_than_the_budget(places):
    benchmark = RealBenchmark(data=places[:1], matrices=1, budgets=(2, 50), selectors=())
    (data,) = benchmark.every_data()
    assert benchmark.rounds(data) == 16


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"data": ("cartpol",)}, "no matrix 'cartpol'"),
        ({"matrices": 0}, "'matrices' must be a whole number >= 1"),
        ({"budgets": ()}, "no number of policies"),
        ({"budgets": (0,)}, "'budgets' must be a whole number >= 1"),
        ({"selectors": ("best",)}, "Unknown selector 'best'"),
    ],
)
def test_bad_settings(options, text, places):
    with pytest.raises(BenchmarkError, match=text):
        RealBenchmark(**{"data": places, **options})


def test_the_same_name_twice(places):
    with pytest.raises(BenchmarkError, match="Two data sets are called 'peaked'"):
        RealBenchmark(data=(places[0], f"{places[0]}/matrix.npz"))


def test_result_files_do_not_collide(places):
    several = {
        "real-peaked-flat": {},
        "real-peaked-flat-w5": {"matrices": 5},
        "real-peaked-flat-k2-4": {"budgets": (2, 4)},
        "real-peaked-flat-k4": {"budgets": (4,)},
        "real-peaked-flat-mgp-mbtl-m+random": {"selectors": ("m/gp-mbtl", "m+random")},
        "real-peaked-flat-random": {"selectors": ()},
        "real-peaked": {"data": places[:1]},
    }
    for name, options in several.items():
        assert RealBenchmark(**{"data": places, **options}).name == name
    many = RealBenchmark(data=places, selectors=("m-mbtl", "gp-mbtl", "m+random", "gp+random"))
    assert many.name.startswith("real-peaked-flat-4-")


def test_all_that_ships_has_the_short_name(monkeypatch, places):
    monkeypatch.setattr(real_benchmark, "matrix_names", lambda: places)
    assert RealBenchmark().name == "real"
    monkeypatch.setattr(real_benchmark, "matrix_names", tuple)
    with pytest.raises(BenchmarkError, match="No matrices ship"):
        RealBenchmark()


def test_records_of_other_returns_are_not_used(benchmark, places, tmp_path):
    changed = saved(tmp_path, "peaked", peaks=False)
    other = RealBenchmark(data=(changed, places[1]), matrices=5, budgets=(2, 4, 8))
    assert other.settings != benchmark.settings


@pytest.mark.parametrize("name", matrix_names())
def test_shipped_data_sets(name):
    dataset = load_matrix(name)
    assert dataset.name == name
    n = len(dataset.space)
    assert dataset.returns.shape == (dataset.card["seeds"], n, n)
    assert dataset.source_returns.shape == dataset.returns.shape[:2]
    assert {"family", "targets", "trainer", "training", "episodes"} <= set(dataset.card["recipe"])
