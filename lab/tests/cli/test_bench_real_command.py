"""`sdmbtl bench real`, as a newcomer runs it."""

import json
import shutil

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """A directory with a matrix in which a policy serves its own column of targets."""
    space = ContextSpace(a=range(4), b=range(4))
    rng = np.random.default_rng(0)
    same = space.targets[:, None, 0] == space.targets[:, 0]
    returns = np.where(same, 100.0, 10.0) + rng.normal(0, 1, (2, 16, 16))
    path = tmp_path_factory.mktemp("matrices") / "columns"
    path.mkdir()
    TransferDataset(
        TransferMatrices(space, returns),
        np.full((2, 16), 100.0),
        np.zeros((2, 16)),
        {6: np.full((2, 16), 50.0)},
        {"name": "columns"},
    ).save(path / "matrix.npz")
    return path


@pytest.fixture(scope="module")
def finished(command, matrix, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    result = command(
        *("bench", "real", "--data", matrix, "--matrices", 3, "--policies", "6,12"),
        *("--selectors", "m/gp-mbtl,m+random", "--jobs", 1, "--out", out),
    )
    return out / "real-columns-mgp-mbtl-m+random-w3-k6-12.json", result


def test_tables_and_result_file(finished):
    path, result = finished
    text = result.stdout
    assert max(map(len, text.splitlines())) <= 80
    for expected in ("What choosing can gain", "K = 6", "K = 12", "Aggregated", "Multi-task"):
        assert expected in text
    assert "ablation" in text
    assert "paper: BipedalWalker" in text
    assert text.count("Performance is scaled to 0..1") == 1, "notes stand once"
    assert "Written to" in result.stderr
    written = json.loads(path.read_text())
    assert written["problems"][0]["name"] == "columns"
    assert list(path.parent.iterdir()) == [path], "no leftovers of the run"


def test_shown_again(command, finished):
    path, result = finished
    assert command("bench", "show", path).stdout == result.stdout
    more = command(
        "bench", "show", path, "--auc", "--statistic", "median", "--rounds-to", "--format", "csv"
    ).stdout
    assert "Median of Area under" in more
    assert "Rounds to 0.05-suboptimal" in more


def test_resumed(command, matrix, finished, tmp_path, monkeypatch):
    """Records of an interrupted run are used again, not made again."""
    from sdmbtl_lab.benchmarks import records

    arguments = (
        *("bench", "real", "--data", matrix, "--matrices", 3, "--policies", "6,12"),
        *("--selectors", "m/gp-mbtl,m+random", "--jobs", 1, "--out", tmp_path),
    )
    compute = records.Unit.compute
    seen = []

    def interrupted(unit):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(unit)
        return compute(unit)

    monkeypatch.setattr(records.Unit, "compute", interrupted)
    assert "results are kept" in command(*arguments, status=130).stderr
    monkeypatch.setattr(records.Unit, "compute", lambda unit: seen.append(unit) or compute(unit))
    result = command(*arguments)
    assert "Continuing with" in result.stderr
    assert len(seen) == len(set(seen)) == 4
    assert result.stdout == finished[1].stdout


@pytest.mark.parametrize(
    ("chosen", "name", "shown"),
    [((), "real-columns-with-auto", True), (("--selectors", "paper"), "real-columns", False)],
)
def test_default_selectors(command, matrix, tmp_path, chosen, name, shown):
    result = command(
        *("bench", "real", "--data", matrix, "--matrices", 1, "--policies", 3, *chosen),
        *("--jobs", 1, "--out", tmp_path),
    )
    assert ("auto" in result.stdout.split()) is shown, "the default selector is compared"
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}-w1-k3.json"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--data", "cartpol"], "no matrix 'cartpol'"),
        (["--policies", "6,x"], "--policies takes whole numbers >= 1 separated by commas"),
        (["--selectors", "atuo"], "Unknown selector 'atuo'"),
        (["--selectors", "atuo"], "Did you mean 'auto'?"),
    ],
)
def test_bad_options(command, matrix, arguments, text, tmp_path):
    given = arguments if "--data" in arguments else ["--data", matrix, *arguments]
    assert text in command.error("bench", "real", *given, "--out", tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_damaged_matrix(command, matrix, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(matrix, copy)
    (copy / "matrix.npz").write_bytes((copy / "matrix.npz").read_bytes()[:500])
    text = command.error("bench", "real", "--data", copy, "--out", tmp_path / "results")
    assert "damaged" in text
