"""All parts together: what each is made of, what its result says, what a file keeps."""

import numpy as np
import pytest
from sdmbtl.benchmarks.results import load_result
from sdmbtl.benchmarks.selectors_benchmark import (
    PARTS,
    VARIATION_PARTS,
    Part,
    SelectorsBenchmark,
    part_names,
)
from sdmbtl.benchmarks.selectors_results import is_kept, keep, tables
from sdmbtl.benchmarks.variation_benchmark import VariationBenchmark
from sdmbtl.benchmarks.variation_results import below_random, difference_table, score_table
from sdmbtl.benchmarks.variations import CHECK, DEVELOPMENT, Plateau, Variation

from sdmbtl.benchmarks import selectors_benchmark, simulate
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.metrics import expected_random_curve
from sdmbtl.errors import BenchmarkError
from sdmbtl.selectors import make_selector

SMALL = (
    Variation("a", sizes=(4, 4), h=Plateau(50.0, (1.0, 2.0)), noise=2.0, luck=4.0),
    Variation("b", sizes=(9,), h=Plateau(20.0, (2.0,)), noise=1.0),
)
PART = Part("check", VariationBenchmark(SMALL, ("m-mbtl",), trials=3))


def finished(part, folder, name="journal"):
    journal = Journal(folder / f"{name}.jsonl", part.benchmark.settings)
    part.benchmark.run(journal)
    return journal


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return PART.summarise(finished(PART, tmp_path_factory.mktemp("journal")))


def test_every_part_is_made_of_what_it_says():
    benchmark = SelectorsBenchmark()
    of = {name: benchmark.part(name).benchmark for name in PARTS}
    assert [(of[p].dim, of[p].noise, of[p].n_trials) for p in PARTS[:6]] == [
        (3, 0.0, 1),
        (3, 5.0, 100),
        (3, 30.0, 100),
        (5, 5.0, 5),
        (7, 5.0, 5),
        (3, 5.0, 20),
    ]
    assert {c.f for c in of["further"].configurations} == {"quadratic", "smooth", "random"}
    assert (of["real"].matrices, of["real"].budgets) == (50, (6, 12, 50))
    assert of["development"].variations == DEVELOPMENT
    assert of["check"].variations == CHECK
    assert of["check"].trials == 10
    for name, part in of.items():
        assert part.selectors[:4] == ("auto", "m/gp-mbtl", "gp-mbtl", "m-mbtl"), name


def test_number_of_trials_for_a_quick_look():
    benchmark = SelectorsBenchmark(trials=2)
    assert benchmark.part("synthetic-3d-noise0").benchmark.n_trials == 1
    for name in ("synthetic-3d-noise5", "synthetic-7d", "further"):
        assert benchmark.part(name).benchmark.n_trials == 2
    assert benchmark.part("check").benchmark.trials == 2


def test_result_files_do_not_collide():
    names = {
        SelectorsBenchmark().name,
        SelectorsBenchmark(trials=2).name,
        SelectorsBenchmark(matrices=2).name,
        SelectorsBenchmark(data=("pendulum",)).name,
        SelectorsBenchmark(("auto",)).name,
        SelectorsBenchmark(("random",)).name,
    }
    assert len(names) == 6
    assert SelectorsBenchmark(("m-mbtl", "gp-mbtl", "m/gp-mbtl", "auto")).name == "selectors"


def test_names_of_parts():
    assert part_names([]) == PARTS
    assert part_names(["cost", "real"]) == ("real", "cost"), "in their order"
    assert part_names(["synthetic-3d"]) == PARTS[:3]
    assert part_names(["synthetic", "check"]) == (*PARTS[:5], "check")
    with pytest.raises(BenchmarkError, match=r"no part 'chek'.*cost. Did you mean 'check'"):
        part_names(["check", "chek"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"selectors": ("best",)}, "Unknown selector 'best'"),
        ({"trials": 0}, "'trials' must be a whole number >= 1. Got 0"),
        ({"matrices": 0}, "'matrices' must be a whole number >= 1"),
    ],
)
def test_bad_settings(options, text):
    with pytest.raises(BenchmarkError, match=text):
        SelectorsBenchmark(**options)


def test_scores_of_variations_by_hand(result):
    for variation, entry in zip(SMALL, result["variations"], strict=True):
        rounds = len(variation.space) // 2
        matrices = np.array([variation.matrix(t) for t in range(3)])
        low, high = matrices.min(), matrices.max()
        own, random = [], []
        for trial, matrix in enumerate(matrices):
            selector = make_selector("m-mbtl", variation.space, seed=trial)
            run = simulate(selector, matrix, rounds)
            own.append((run.curve[-1] - low) / (high - low))
            random.append((expected_random_curve(matrix, rounds)[-1] - low) / (high - low))
        found = entry["selectors"]["m-mbtl"]
        assert entry["rounds"] == rounds
        assert found["final"]["mean"] == pytest.approx(np.mean(own))
        difference = np.subtract(own, random)
        assert found["ahead_of_random"]["mean"] == pytest.approx(difference.mean())
        assert 0 < found["ahead_of_random"]["half_width"] <= np.ptp(difference)
        expected = difference.mean() / entry["margin"]
        assert found["score"]["mean"] == pytest.approx(expected)
        assert entry["selectors"]["myopic-oracle"]["score"]["mean"] == pytest.approx(1)
        assert entry["selectors"]["random"]["score"]["mean"] == pytest.approx(0)
        assert "trials" not in found["final"], "single trials are most of a file"
    assert result["trials"] == 3


def test_tables_of_variations(result):
    table = score_table(result, "check")
    assert table.title == "Score on the check set, 3 trials"
    assert table.columns == ("M-MBTL",)
    assert table.rows[0].labels[:3] == ("a", "4x4", "8")
    found = result["variations"][0]["selectors"]["m-mbtl"]["ahead_of_random"]
    assert difference_table(result, "check").rows[0].cells[0].mean == found["mean"]
    found["mean"], found["half_width"] = -0.2, 0.1
    assert below_random(result, "m-mbtl") == ["a"]


def test_part_is_kept_until_settings_selectors_or_code_change(tmp_path, monkeypatch):
    path = tmp_path / "results" / "selectors.json"
    assert not is_kept(PART, path)
    keep(PART, finished(PART, tmp_path), path)
    assert is_kept(PART, path)
    assert not is_kept(Part("development", PART.benchmark), path)
    assert not is_kept(Part("check", VariationBenchmark(SMALL, ("m-mbtl",), trials=2)), path)
    assert not is_kept(Part("check", VariationBenchmark(SMALL, ("gp-mbtl",), trials=3)), path)
    monkeypatch.setattr(selectors_benchmark, "code_fingerprint", lambda: "other code")
    assert not is_kept(PART, path)


def test_a_part_replaces_itself_and_leaves_the_others(tmp_path):
    path = tmp_path / "selectors.json"
    other = Part("development", VariationBenchmark(SMALL[1:], ("m-mbtl",), trials=2))
    keep(PART, finished(PART, tmp_path), path)
    first = load_result(path)["parts"]["check"]
    keep(other, finished(other, tmp_path, "other"), path)
    parts = load_result(path)["parts"]
    assert list(parts) == ["development", "check"], "in their order"
    assert parts["check"] == first
    assert parts["development"]["made_from"]["trials"] == 2
    assert parts["development"]["result"]["code"] == parts["development"]["made_from"]["code"]
    again = Part("check", VariationBenchmark(SMALL[:1], ("m-mbtl",), trials=2))
    keep(again, finished(again, tmp_path, "again"), path)
    now = load_result(path)["parts"]
    assert [v["name"] for v in now["check"]["result"]["variations"]] == ["a"]
    assert now["development"] == parts["development"]


def test_file_that_is_no_result(tmp_path):
    path = tmp_path / "selectors.json"
    path.write_text('{"benchmark": "selectors"}')
    with pytest.raises(BenchmarkError, match="no result of `sdmbtl bench selectors`"):
        is_kept(PART, path)


def test_tables_of_a_file_with_some_parts(tmp_path):
    path = tmp_path / "selectors.json"
    keep(PART, finished(PART, tmp_path), path)
    titles = [table.title for table in tables(load_result(path))]
    assert titles[0].startswith("Goals of the default selector")
    assert [t.split(" on ")[0] for t in titles[1:]] == ["Score", "Performance less that of Random"]
    assert set(VARIATION_PARTS) <= set(PARTS)


def test_parts_of_different_code_are_told_apart(tmp_path):
    path = tmp_path / "selectors.json"
    keep(PART, finished(PART, tmp_path), path)
    written = load_result(path)
    assert "different code" not in next(tables(written)).to_text()
    older = written["parts"]["check"]["result"]
    written["parts"]["development"] = {"made_from": {}, "result": {**older, "code": "older"}}
    text = next(tables(written)).to_text()
    assert f"made by different code: check ({older['code']}); development (older)." in text
