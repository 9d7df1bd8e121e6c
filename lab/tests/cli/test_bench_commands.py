"""`sdmbtl lab bench`: tables, result files, resuming, and what it refuses."""

import json
import shutil

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices

QUICK = ("bench", "synthetic", "--matrices", "2", "--rounds", "7", "--selectors", "m/gp-mbtl")
NAME = "synthetic-3d-noise5-mgp-mbtl-w2-k7"


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory, command):
    """Result file and printed text of a small run."""
    out = tmp_path_factory.mktemp("bench")
    text = command(*QUICK, "--jobs", 1, "--out", out).stdout
    return out / f"{NAME}.json", text


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
def real(matrix):
    """A small run on that matrix, but for its directory."""
    return (
        *("bench", "real", "--data", matrix, "--matrices", 3, "--policies", "6,12"),
        *("--selectors", "m/gp-mbtl,m+random", "--jobs", 1),
    )


@pytest.fixture(scope="module")
def finished(command, real, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    return out / "real-columns-mgp-mbtl-m+random-w3-k6-12.json", command(*real, "--out", out)


def test_synthetic_tables_and_result_file(synthetic):
    path, text = synthetic
    for expected in ("M/GP-MBTL", "Aggregated", "Mountain was detected"):
        assert expected in text
    assert max(map(len, text.splitlines())) <= 80, "it fits a terminal"
    result = json.loads(path.read_text())
    assert (result["trials"], len(result["problems"])) == (2, 8)
    assert list(path.parent.iterdir()) == [path], "no journal is left"


def test_real_tables_and_result_file(finished):
    path, result = finished
    text = result.stdout
    for expected in ("Possible gain", "K = 6", "K = 12", "Aggregated", "Multi-task", "ablation"):
        assert expected in text
    assert "paper: BipedalWalker" in text
    assert text.count("Performance is scaled to 0..1") == 1, "notes stand once"
    assert "Written to" in result.stderr
    assert json.loads(path.read_text())["problems"][0]["name"] == "columns"


def test_show_in_every_format(synthetic, command):
    path, text = synthetic

    def shown(*options):
        return command("bench", "show", path, *options).stdout

    assert shown() == text
    assert "| f(x) |" in shown("--format", "markdown")
    assert r"\toprule" in shown("--format", "latex")
    assert "Area under" in shown("--auc")
    older = path.with_name("older.json")
    older.write_text(path.read_text().replace('"code": "', '"code": "0'))
    assert text not in (marked := command("bench", "show", older).stdout)
    assert marked.count("Made by older code.") == 1
    older.unlink()


def test_json(command, real, finished, tmp_path):
    data = command.json(*real, "--out", tmp_path)
    assert data["result"] == str(tmp_path / finished[0].name)
    assert set(data["aggregated"]) == {"6", "12"}


def test_interrupted_and_resumed(command, real, finished, tmp_path, monkeypatch):
    """Records of an interrupted run are used again, not made again."""
    from sdmbtl_lab.benchmarks import records

    compute = records.Unit.compute
    seen = []

    def interrupted(unit):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(unit)
        return compute(unit)

    monkeypatch.setattr(records.Unit, "compute", interrupted)
    assert "results are kept" in command(*real, "--out", tmp_path, status=130).stderr
    monkeypatch.setattr(records.Unit, "compute", lambda unit: seen.append(unit) or compute(unit))
    result = command(*real, "--out", tmp_path)
    assert "Continuing with" in result.stderr
    assert len(seen) == len(set(seen)) == 4
    assert result.stdout == finished[1].stdout


@pytest.mark.parametrize(
    ("chosen", "name", "shown"),
    [((), "real-columns-with-predictive", True), (("--selectors", "paper"), "real-columns", False)],
)
def test_default_selectors(command, matrix, tmp_path, chosen, name, shown):
    result = command(
        *("bench", "real", "--data", matrix, "--matrices", 1, "--policies", 3, *chosen),
        *("--jobs", 1, "--out", tmp_path),
    )
    assert ("predictive" in result.stdout.split()) is shown
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}-w1-k3.json"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["synthetic", "--dim", "4"], "dim=4"),
        (["synthetic", "--selectors", "predictiv"], "Did you mean 'predictive'?"),
        (["synthetic", "--rounds", "9999"], "512"),
        (["synthetic", "--noise", "-3"], "'noise'"),
        (["real", "--data", "cartpol"], "no matrix 'cartpol'"),
        (["real", "--policies", "6,x"], "--policies"),
    ],
)
def test_bad_options(arguments, text, command, tmp_path):
    assert text in command.error("bench", *arguments, "--out", tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_files_that_cannot_be_used(command, matrix, tmp_path):
    (tmp_path / "file").write_text("{}")
    assert "Cannot write to" in command.error(*QUICK, "--out", tmp_path / "file")
    assert "not the result" in command.error("bench", "show", tmp_path / "file")
    copy = shutil.copytree(matrix, tmp_path / "copy")
    (copy / "matrix.npz").write_bytes((copy / "matrix.npz").read_bytes()[:500])
    error = command.error("bench", "real", "--data", copy, "--out", tmp_path / "results")
    assert "damaged" in error
