"""The benchmark on real matrices: what is drawn, what is counted, what is shown."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl_lab.benchmarks import MatrixProblem, real_benchmark
from sdmbtl_lab.benchmarks.columns import MULTI_TASK
from sdmbtl_lab.benchmarks.paper_tables import margin_table, performance_table
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.margins import choice_margin

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
    return real_benchmark(places, 5, (2, 4, 8), SELECTORS)


@pytest.fixture(scope="module")
def journal(benchmark, tmp_path_factory):
    journal = benchmark.journal(tmp_path_factory.mktemp("journal"))
    benchmark.run(journal)
    return journal


@pytest.fixture(scope="module")
def result(benchmark, journal):
    return benchmark.result(journal)


def test_every_row_of_a_drawn_matrix_is_one_training_run(places):
    data = MatrixProblem(places[0])
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
    low, high = benchmark.problems[0].return_range
    entry = result.problems[0]
    assert entry.labels == {"data": "peaked", "N": "16", "seeds": "3"}
    curves = np.array([journal["peaked", str(t), "m-mbtl"]["curve"] for t in range(5)])
    curves = (curves - low) / (high - low)
    for k in (2, 4, 8):
        final = entry.statistics("m-mbtl", k, "final")
        assert final.mean == pytest.approx(curves[:, k - 1].mean())
        assert final.median == pytest.approx(np.median(curves[:, k - 1]))
        assert final.half_width > 0
        assert final.iqm_half_width >= 0
        auc = entry.statistics("m-mbtl", k, "auc")
        assert auc.mean == pytest.approx(curves[:, :k].mean())


def test_multi_task_has_the_steps_of_so_many_policies(benchmark, result):
    low, high = benchmark.problems[0].return_range
    found = result.problems[0].of(MULTI_TASK).at
    assert set(found) == {2, 4}, "none was trained for 8"
    for k in (2, 4):
        values = (np.array([40.0, 41.0, 42.0]) + k - low) / (high - low)
        final = found[k]["final"]
        assert final.mean == pytest.approx(values.mean(), abs=1e-4)
        assert final.half_width == pytest.approx(np.ptp(values) / 2, rel=0.2), "over the seeds"


def test_only_data_where_choosing_matters_are_aggregated(benchmark, result):
    peaked, flat = result.problems
    scaled = benchmark.problems[0].dataset.matrices.normalised().returns
    assert peaked.margin == pytest.approx(choice_margin(scaled))
    assert peaked.matters
    assert not flat.matters, "two of any sources cover everything"
    for k in (2, 4, 8):
        own, random, oracle = (
            peaked.statistics(name, k, "final").mean
            for name in ("m-mbtl", "random", "myopic-oracle")
        )
        assert peaked.margin_at(k) == pytest.approx(oracle - random)
        found = result.aggregated[k]["m-mbtl"]["final"]
        assert found.mean == pytest.approx((own - random) / (oracle - random))
    assert result.aggregated[8][MULTI_TASK]["final"].mean is None


def test_what_a_column_lacks_is_said(places, tmp_path):
    """One of the two has no multi-task policies, and both have no more than 16 contexts."""
    other = saved(tmp_path, "other", peaks=True, multi_task=())
    result = real_benchmark((places[0], other), 2, (2, 50), ()).run()
    assert len(result.entering(2)) == 2
    found = result.aggregated[2][MULTI_TASK]["final"]
    assert found.without == ("other",)
    peaked = result.problems[0]
    mean = peaked.statistics(MULTI_TASK, 2, "final").mean
    random = peaked.statistics("random", 2, "final").mean
    assert found.mean == pytest.approx((mean - random) / peaked.margin_at(2))
    table = performance_table(result, 2)
    assert "The aggregate of Multi-task is without other." in table.notes
    assert not table.rows[-1].cells[0].bold, "it does not compete"
    assert result.aggregated[2]["myopic-oracle"]["final"].mean == pytest.approx(1)
    assert result.entering(50) == (), "they have 16 contexts"
    assert [p.rounds for p in result.problems] == [16, 16]
    assert performance_table(result, 50).rows[0].labels == ("Aggregated",)
    assert table.rows[1].cells[0] is None


def test_tables(result):
    table = performance_table(result, 4)
    assert table.columns[:3] == ("Independent", "Multi-task", "Random")
    assert table.columns[-2:] == ("Myopic Oracle", "Sequential Oracle")
    assert table.rows[0].labels[3] == f"{result.problems[0].margin_at(4):.3f}"
    assert table.rows[0].cells[1].mean > 0
    assert performance_table(result, 8).rows[0].cells[1] is None
    ablation = performance_table(result, 8, ablation=True)
    assert "M+Random" in ablation.columns
    assert "Multi-task" not in ablation.columns
    assert [row.labels for row in margin_table(result).rows] == [
        ("peaked", "16", "3", "yes"),
        ("flat", "16", "3", "no"),
    ]
