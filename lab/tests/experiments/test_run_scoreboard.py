"""The script, as its developers run it."""

import json

import pytest

import run_scoreboard
from scoreboard import parts
from scoreboard.cost_benchmark import ROUNDS
from scoreboard.selection_cost import Measurement
from scoreboard.variations import Plateau, Variation
from sdmbtl_lab.benchmarks import records

PARTS = "development,check,cost"


def variation(name):
    return Variation(name, sizes=(5, 4), h=Plateau(50.0, (1.0, 2.0)), noise=2.0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """One small variation in each set, and no time for measuring the time."""
    sets = {"development": (variation("a"),), "check": (variation("b"),)}
    monkeypatch.setattr(parts, "VARIATION_PARTS", sets)
    monkeypatch.setattr(
        Measurement, "in_own_process", lambda self: {"seconds": [0.02] * 9, "peak_mib": 90.0}
    )


def run(out, *more, wanted=PARTS):
    options = ["--parts", wanted, "--selectors", "m-mbtl", "--trials", "2", "--jobs", "1"]
    run_scoreboard.main([*options, "--out", str(out), *more])


NAME = "selectors-m-mbtl-w2.json"


def test_tables_and_result_file(tmp_path, capsys):
    run(tmp_path)
    said = capsys.readouterr().out
    for text in (
        "Goals of the default selector",
        "check: variations below",
        "cost, 16384 targets: peak",
        "Normalised performance, development set, K = 10, 2 matrices",
        "Cost of a round",
    ):
        assert text in said, text
    written = json.loads((tmp_path / NAME).read_text())
    assert list(written["made_from"]) == PARTS.split(",")
    assert [c["targets"] for c in written["cost"]["measured"]] == list(ROUNDS)
    assert [p.name for p in tmp_path.iterdir()] == [NAME], "no leftovers of the run"
    run(tmp_path, "--show")
    assert capsys.readouterr().out == said


def test_interrupted_and_continued(tmp_path, monkeypatch, capsys):
    """What is finished, parts or pieces of a part, is not done again."""
    compute = records.Unit.compute
    seen = []

    def interrupted(unit):
        if len(seen) == 4:
            raise KeyboardInterrupt
        seen.append(unit)
        return compute(unit)

    monkeypatch.setattr(records.Unit, "compute", interrupted)
    with pytest.raises(SystemExit) as ended:
        run(tmp_path)
    assert ended.value.code == 130
    assert "Give the same command again" in capsys.readouterr().err
    path = tmp_path / NAME
    assert list(json.loads(path.read_text())["made_from"]) == ["development"], "3 of its pieces"
    monkeypatch.setattr(records.Unit, "compute", lambda unit: seen.append(unit) or compute(unit))
    run(tmp_path)
    errors = capsys.readouterr().err
    assert "development is finished" in errors
    assert "Continuing with" in errors
    assert len(seen) == len(set(seen)) == 2 * 3
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--parts", "development,chekc"], "There is no part 'chekc'"),
        (["--parts", "check", "--selectors", "best"], "Unknown selector 'best'"),
        (["--parts", "real", "--data", "cartpol"], "no matrix 'cartpol'"),
    ],
)
def test_bad_options(options, text, tmp_path):
    with pytest.raises(SystemExit, match=text):
        run_scoreboard.main([*options, "--out", str(tmp_path / "results")])
    assert not (tmp_path / "results").exists()
