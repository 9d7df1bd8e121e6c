"""`sdmbtl bench selectors`, as its developers run it."""

import json

import pytest
from sdmbtl.benchmarks.cost_benchmark import ROUNDS
from sdmbtl.benchmarks.selection_cost import Measurement
from sdmbtl.benchmarks.variations import CHECK, DEVELOPMENT

from sdmbtl.benchmarks import runner, selectors_benchmark

PARTS = "real,development,check,cost"


def make_small(patch):
    """Two variations of each set, and no time for measuring the time."""
    sets = {"development": DEVELOPMENT[-2:], "check": CHECK[-2:]}
    patch.setattr(selectors_benchmark, "VARIATION_PARTS", sets)
    patch.setattr(
        Measurement, "in_own_process", lambda self: {"seconds": [0.02] * 9, "peak_mib": 90.0}
    )


@pytest.fixture(autouse=True)
def small(monkeypatch):
    make_small(monkeypatch)


def arguments(out, *more, parts=PARTS):
    return (
        *("bench", "selectors", "--parts", parts, "--selectors", "auto,m-mbtl", "--trials", 2),
        *("--matrices", 1, "--data", "bipedal-walker", "--jobs", 1, "--out", out, *more),
    )


@pytest.fixture(scope="module")
def finished(command, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        result = command(*arguments(out))
    return out / "selectors-auto-m-mbtl-bipedal-walker-w2-m1.json", result


def test_tables_and_result_file(finished):
    path, result = finished
    for text in (
        "Goals of the default selector",
        "real: aggregated, K = 12",
        "check: variations below Random",
        "cost, 16384 targets: peak MiB",
        "Score on real matrices, K = 6",
        "Lowest score on real matrices with k = 3..50",
        "Score on the development set, 2 trials",
        "Cost of a round",
    ):
        assert text in result.stdout, text
    assert "M-MBTL" in result.stdout
    assert "Written to" in result.stderr
    written = json.loads(path.read_text())
    assert list(written["parts"]) == PARTS.split(",")
    assert list(path.parent.iterdir()) == [path], "no leftovers of the run"
    costs = written["parts"]["cost"]["result"]["measured"]
    assert [c["targets"] for c in costs] == list(ROUNDS)


def test_shown_again_in_every_format(command, finished):
    path, result = finished
    assert command("bench", "show", path).stdout == result.stdout
    more = command("bench", "show", path, "--rounds-to", "--auc", "--format", "markdown").stdout
    assert "| goal | wanted | reached |" in more
    assert r"\toprule" in command("bench", "show", path, "--format", "latex").stdout
    assert command("bench", "show", path, "--format", "csv").stdout.startswith("table,goal")


def test_interrupted_and_resumed(command, finished, tmp_path, monkeypatch):
    """What is finished, parts or pieces of a part, is not done again."""
    compute = runner.Unit.compute
    seen = []

    def interrupted(unit):
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(unit)
        return compute(unit)

    monkeypatch.setattr(runner.Unit, "compute", interrupted)
    assert "Give the same command again" in command(*arguments(tmp_path), status=130).stderr
    path = tmp_path / finished[0].name
    assert list(json.loads(path.read_text())["parts"]) == ["real"], "2 pieces of real, 3 of others"
    monkeypatch.setattr(runner.Unit, "compute", lambda unit: seen.append(unit) or compute(unit))
    result = command(*arguments(tmp_path))
    assert "real is finished" in result.stderr
    assert "Going on with" in result.stderr
    assert len(seen) == len(set(seen)) == 2 + 2 * 2 * 3
    assert result.stdout == finished[1].stdout
    assert list(tmp_path.iterdir()) == [path]


def test_other_parts_stay_as_they_are(command, finished, tmp_path):
    path = tmp_path / finished[0].name
    given = json.loads(finished[0].read_text())
    given["parts"]["development"]["made_from"]["code"] = "older"
    given["parts"]["check"]["made_from"]["code"] = "older"
    path.write_text(json.dumps(given))
    command(*arguments(tmp_path, parts="check"))
    parts = json.loads(path.read_text())["parts"]
    assert parts["development"] == given["parts"]["development"]
    assert parts["check"]["made_from"]["code"] != "older"
    assert list(parts) == PARTS.split(",")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--parts", "development,chekc"], "There is no part 'chekc'"),
        (["--parts", "check", "--selectors", "best"], "Unknown selector 'best'"),
        (["--parts", "real", "--data", "cartpol"], "no matrix 'cartpol'"),
    ],
)
def test_bad_options(command, options, text, tmp_path):
    assert text in command.error("bench", "selectors", *options, "--out", tmp_path / "results")
    assert not (tmp_path / "results").exists()
