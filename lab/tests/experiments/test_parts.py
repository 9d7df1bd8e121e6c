"""All parts together: what each is made of, and what the file of all keeps."""

import pytest

from scoreboard.parts import (
    PARTS,
    VARIATION_PARTS,
    Scope,
    made_from,
    part_names,
)
from scoreboard.scoreboard import Scoreboard
from scoreboard.variations import CHECK, DEVELOPMENT, Plateau, Variation
from sdmbtl.errors import BenchmarkError

SMALL = (
    Variation("a", sizes=(4, 4), h=Plateau(50.0, (1.0, 2.0)), noise=2.0, run_deviation=4.0),
    Variation("b", sizes=(9,), h=Plateau(20.0, (2.0,)), noise=1.0),
)
SCOPE = Scope(("m-mbtl",), trials=3)
BENCHMARK = SCOPE.variation_benchmark("check", SMALL)


@pytest.fixture(scope="module")
def result():
    return BENCHMARK.run()


@pytest.fixture(scope="module")
def board(result):
    return Scoreboard().with_part("check", made_from(BENCHMARK), result)


def test_every_part_is_made_of_what_it_says():
    of = {name: Scope().benchmark(name) for name in PARTS}
    settings = [(of[p].settings["dim"], of[p].settings["noise"], of[p].trials) for p in PARTS[:6]]
    assert settings == [
        (3, 0.0, 1),
        (3, 5.0, 100),
        (3, 30.0, 100),
        (5, 5.0, 5),
        (7, 5.0, 5),
        (3, 5.0, 20),
    ]
    kinds = {problem.f for problem in of["further"].problems}
    assert kinds == {"quadratic", "smooth", "random"}
    assert (of["real"].trials, of["real"].policies) == (50, (6, 12, 50))
    assert of["development"].problems == DEVELOPMENT
    assert of["check"].problems == CHECK
    assert of["check"].trials == 10
    assert of["check"].rounds(CHECK[-1]) == min(50, len(CHECK[-1].space) // 2)
    for name, part in of.items():
        assert part.selectors[:4] == ("auto", "m/gp-mbtl", "gp-mbtl", "m-mbtl"), name


def test_number_of_trials_for_a_quick_look():
    scope = Scope(trials=2)
    assert scope.benchmark("synthetic-3d-noise0").trials == 1
    for name in ("synthetic-3d-noise5", "synthetic-7d", "further", "check"):
        assert scope.benchmark(name).trials == 2


def test_result_files_do_not_collide():
    names = {
        Scope().name,
        Scope(trials=2).name,
        Scope(matrices=2).name,
        Scope(data=("pendulum",)).name,
        Scope(("auto",)).name,
        Scope(("random",)).name,
    }
    assert len(names) == 6
    assert Scope(("m-mbtl", "gp-mbtl", "m/gp-mbtl", "auto")).name == "selectors"


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
        Scope(**options)


def test_variations_are_scored_after_half_of_the_contexts(result):
    assert [p.rounds for p in result.problems] == [8, 4]
    table = result.score_table()
    assert table.title == "Normalised performance, check set, 3 matrices"
    assert table.columns == ("M-MBTL",)
    assert table.rows[0].labels[:3] == ("a", "4x4", "8")
    found = result.problems[0].statistics("m-mbtl", 8, "score")
    assert table.rows[0].cells[0].mean == found.mean
    ahead = result.performance_table(metric="ahead")
    assert ahead.rows[1].cells[0].mean == result.problems[1].statistics("m-mbtl", 4, "ahead").mean


def test_a_part_is_there_until_settings_selectors_or_code_change(board, tmp_path):
    path = tmp_path / "results" / "selectors.json"
    assert not Scoreboard.load(path).has("check", made_from(BENCHMARK))
    board.save(path)
    kept = Scoreboard.load(path)
    assert kept.has("check", made_from(BENCHMARK))
    assert not kept.has("development", made_from(BENCHMARK))
    for other in (Scope(("m-mbtl",), trials=2), Scope(("gp-mbtl",), trials=3)):
        assert not kept.has("check", made_from(other.variation_benchmark("check", SMALL)))
    assert not kept.has("check", {**made_from(BENCHMARK), "code": "other code"})


def test_a_part_replaces_itself_and_leaves_the_others(board, result):
    both = board.with_part("development", {"code": "1"}, result)
    assert list(both.made_from) == list(both.benchmarks) == ["development", "check"], "in order"
    again = both.with_part("check", {"code": "2"}, result)
    assert again.made_from["check"] == {"code": "2"}
    assert again.made_from["development"] == {"code": "1"}


@pytest.mark.parametrize("content", ['{"parts": {}}', "[1]", "{"])
def test_file_that_is_another(tmp_path, content):
    path = tmp_path / "selectors.json"
    path.write_text(content)
    with pytest.raises(BenchmarkError, match="is not a scoreboard"):
        Scoreboard.load(path)


def test_tables_of_a_file_with_some_parts(board):
    titles = [table.title for table in board.tables()]
    assert titles[0].startswith("Goals of the default selector")
    assert [t.split(",")[0] for t in titles[1:]] == [
        "Normalised performance",
        "Performance minus that of Random",
    ]
    assert set(VARIATION_PARTS) <= set(PARTS)


def test_parts_of_different_code_are_named(board, result):
    assert "different code" not in next(board.tables()).to_text()
    both = board.with_part("development", {"code": "older"}, result)
    code = board.made_from["check"]["code"]
    text = " ".join(next(both.tables()).to_text().split())
    assert f"made by different code: development (older); check ({code})." in text
