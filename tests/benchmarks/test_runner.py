"""The benchmark's loop: the same records however it runs, resumed without loss."""

import json

import numpy as np
import pytest
from sdmbtl.benchmarks.results import load_result, save_result
from sdmbtl.benchmarks.synthetic_results import (
    performance_table,
    rounds_table,
    share_table,
    summarise,
)

from sdmbtl import make_selector
from sdmbtl.benchmarks import (
    SyntheticBenchmark,
    further_configurations,
    paper_configurations,
    simulate,
)
from sdmbtl.benchmarks import journal as journal_module
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.errors import BenchmarkError

TWO = paper_configurations(3)[:2]
SMALL = SyntheticBenchmark(
    dim=3,
    noise=5.0,
    trials=2,
    rounds=8,
    selectors=("m-mbtl", "m/gp-mbtl", "independent", "sequential-oracle"),
    configurations=TWO,
)


def fresh(tmp_path, benchmark=SMALL, name="a"):
    return Journal(tmp_path / f"{name}.jsonl", benchmark.settings)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    journal = fresh(tmp_path_factory.mktemp("journal"))
    SMALL.run(journal)
    return journal


def mountain_share(result):
    return result["configurations"][1]["selectors"]["m/gp-mbtl"]["structures"]["mountain"]


def expected_share(journal):
    strategies = [journal[TWO[1].name, str(t), "m/gp-mbtl"]["strategies"] for t in (0, 1)]
    return np.mean([s == "m-mbtl" for run in strategies for s in run[5:]])


def test_records_are_what_the_selectors_do(finished):
    for configuration in TWO:
        matrix = configuration.trial(1, 5.0)
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


def test_random_and_oracle_always_take_part():
    assert set(SMALL.selectors) >= {"random", "myopic-oracle"}


def test_two_processes_give_the_same_records(finished, tmp_path):
    journal = fresh(tmp_path)
    SMALL.run(journal, jobs=2)
    assert len(journal) == len(finished)
    for key, record in finished._records.items():
        assert journal[key] == record, key


def test_resumed_after_an_interruption(finished, tmp_path):
    class StopError(Exception):
        pass

    def stop_after_three(done, total, label):
        assert total == 2 * (2 + 1)
        if done == 3:
            raise StopError

    with pytest.raises(StopError):
        SMALL.run(fresh(tmp_path), progress=stop_after_three)
    path = tmp_path / "a.jsonl"
    with path.open("a") as file:
        file.write('{"key": ["torn')  # killed while writing
    again = fresh(tmp_path)
    seen = []
    SMALL.run(again, progress=lambda done, total, label: seen.append(done))
    assert seen == [3, 4, 5, 6], "what was done must not be done again"
    assert again._records == finished._records
    assert fresh(tmp_path)._records == finished._records, "the torn line must not break the file"


def test_records_of_other_settings_or_code_are_not_used(finished, tmp_path, monkeypatch):
    journal = fresh(tmp_path)
    journal.write(("x", "0", "random"), {"curve": [1.0]})
    assert len(fresh(tmp_path)) == 1
    other = SyntheticBenchmark(dim=3, noise=5.0, trials=3, rounds=8)
    assert len(fresh(tmp_path, other)) == 0
    journal = fresh(tmp_path, name="b")
    journal.write(("x", "0", "random"), {"curve": [1.0]})
    monkeypatch.setattr(journal_module, "code_fingerprint", lambda: "other code")
    assert len(fresh(tmp_path, name="b")) == 0


def test_damaged_journal_starts_afresh(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("not json\n")
    journal = fresh(tmp_path)
    assert len(journal) == 0
    assert "set aside" in journal.note
    assert (tmp_path / "a.old").read_text() == "not json\n"
    assert json.loads(path.read_text())["benchmark"] == "synthetic"


def test_damaged_lines_are_skipped(tmp_path):
    journal = fresh(tmp_path)
    journal.write(("x", "0", "random"), {"curve": [1.0]})
    with journal.path.open("a") as file:
        file.write('{"half\n[1]\n')
    journal.write(("y", "0", "random"), {"curve": [2.0]})
    again = fresh(tmp_path)
    assert len(again) == 2
    assert again.note == "2 damaged lines were skipped."
    assert fresh(tmp_path).note == ""


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchmarkError, match="Cannot write to .*Choose another folder"):
        Journal(tmp_path / "file" / "a.jsonl", SMALL.settings)


def test_summary_normalises_over_all_trials(finished):
    result = summarise(SMALL, finished)
    for number, configuration in enumerate(TWO):
        matrices = [configuration.trial(t, 5.0) for t in (0, 1)]
        low, high = np.min(matrices), np.max(matrices)
        found = result["configurations"][number]
        assert (found["low"], found["high"]) == (low, high)
        record = finished[configuration.name, "0", "m-mbtl"]
        selector = found["selectors"]["m-mbtl"]
        assert selector["final"]["trials"][0] == pytest.approx(
            (record["curve"][-1] - low) / (high - low)
        )
        assert selector["final"]["mean"] == pytest.approx(np.mean(selector["final"]["trials"]))
        assert selector["auc"]["trials"][0] == pytest.approx(
            (np.mean(record["curve"]) - low) / (high - low)
        )
        assert selector["shares"] == {"m-mbtl": 1.0}
    assert mountain_share(result) == expected_share(finished)
    assert result["aggregated"]["random"]["final"]["mean"] == pytest.approx(0)
    assert result["aggregated"]["myopic-oracle"]["final"]["mean"] == pytest.approx(1)


def test_result_file_round_trip_and_tables(finished, tmp_path):
    result = summarise(SMALL, finished)
    path = tmp_path / "deep" / "result.json"
    save_result(result, path)
    assert [p.name for p in path.parent.iterdir()] == ["result.json"]
    loaded = load_result(path)
    table = performance_table(loaded)
    assert table.columns == (
        "Independent",
        "Random",
        "M-MBTL",
        "M/GP-MBTL",
        "Myopic Oracle",
        "Sequential Oracle",
    )
    assert [row.labels for row in table.rows] == [
        ("Constant", "Linear", "Non-distance"),
        ("Constant", "Linear", "L1 norm"),
        ("Aggregated",),
    ]
    assert [row.shaded for row in table.rows] == [False, True, False]
    assert all(cell.published is None for row in table.rows for cell in row.cells), "K is not 50"
    assert "Area under" in performance_table(loaded, "auc").title
    median = performance_table(loaded, statistic="median")
    found = loaded["configurations"][0]["selectors"]["m-mbtl"]["final"]
    assert median.rows[0].cells[2].mean == pytest.approx(np.median(found["trials"]), abs=1e-6)
    assert median.title.startswith("Median of")
    assert len(median.rows) == 2, "the aggregate is defined by means"
    shares = share_table(loaded)
    assert [row.cells[0].mean for row in shares.rows] == [
        0.0,
        pytest.approx(expected_share(finished), abs=1e-6),
    ]


def test_rounds_to_near_optimal(finished):
    result = summarise(SMALL, finished)
    selector = result["configurations"][1]["selectors"]["m-mbtl"]
    selector["rounds_to"]["0.1"] = {"reached": 1.0, "rounds": 4.5}
    table = rounds_table(result, 0.1)
    assert table.rows[1].cells[2].mean == 4.5
    selector["rounds_to"]["0.1"] = {"reached": 0.5, "rounds": 4.5}
    assert rounds_table(result, 0.1).rows[1].cells[2] is None


def test_published_values_stand_beside_ours():
    result = {
        "benchmark": "synthetic",
        "dim": 3,
        "noise": 5.0,
        "trials": 1,
        "rounds": 50,
        "selectors": ["random", "m/gp-mbtl", "myopic-oracle"],
        "configurations": [],
        "aggregated": {
            name: {"final": {"mean": 0.5, "half_width": 0.0}}
            for name in ("random", "m/gp-mbtl", "myopic-oracle")
        },
    }
    table = performance_table(result)
    assert table.rows[0].cells[1].published == 0.8721
    cells = {n: {"final": {"mean": 0.5, "half_width": 0.0}} for n in result["selectors"]}
    further = {"name": "x", "f": "quadratic", "g": "random", "h": "l1", "mountain": False}
    result["configurations"] = [{**further, "selectors": cells}]
    assert all(c.published is None for r in performance_table(result).rows for c in r.cells)


def test_bad_result_files(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(BenchmarkError, match="no result of a benchmark"):
        load_result(path)
    path.write_text("[1]")
    with pytest.raises(BenchmarkError, match="no result of `sdmbtl bench`"):
        load_result(path)
    path.write_text('{"benchmark": "synthetic"}')
    with pytest.raises(BenchmarkError, match="it has no 'dim'"):
        load_result(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BenchmarkError, match="no result"):
        load_result(path)
    with pytest.raises(BenchmarkError, match="no result"):
        load_result(tmp_path)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dim": 4}, "3, 5 and 7 dimensions"),
        ({"noise": -1.0}, "'noise' must be a finite number >= 0. Got -1.0"),
        ({"noise": float("nan")}, "'noise' must be"),
        ({"trials": 0}, "'trials' must be a whole number >= 1"),
        ({"configurations": paper_configurations(5)}, "must have 3 dimensions"),
        ({"rounds": 0}, "between 1 and 512"),
        ({"rounds": 513}, "between 1 and 512.*Got 513"),
        ({"selectors": ("best",)}, "Unknown selector 'best'.*gp-mbtl"),
    ],
)
def test_bad_settings(options, text):
    with pytest.raises(BenchmarkError, match=text):
        SyntheticBenchmark(**{"dim": 3, "noise": 5.0, **options})


def test_result_files_do_not_collide():
    further = further_configurations(3)
    names = {
        SyntheticBenchmark(dim=3, noise=5.0).name,
        SyntheticBenchmark(dim=3, noise=0.5).name,
        SyntheticBenchmark(dim=3, noise=5.0, configurations=further).name,
        SyntheticBenchmark(dim=3, noise=5.0, trials=4).name,
        SyntheticBenchmark(dim=3, noise=5.0, rounds=20).name,
        SMALL.name,
    }
    assert len(names) == 6
    assert "synthetic-3d-noise5" in names


def test_without_noise_one_trial_is_enough():
    assert SyntheticBenchmark(dim=3, noise=0.0, trials=100).n_trials == 1
    assert SyntheticBenchmark(dim=3, noise=5.0).n_trials == 100
    assert SyntheticBenchmark(dim=5, noise=5.0).n_trials == 5
