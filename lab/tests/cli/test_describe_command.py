"""`sdmbtl lab describe`: what it prints, draws and refuses."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.anatomy import anatomy

SPACE = ContextSpace(length=[1.0, 2.0, 3.0, 4.0], mass=[0.1, 0.2, 0.3])
DISTANCES = np.abs(SPACE.unit_targets[:, None] - SPACE.unit_targets).sum(axis=2)


def made(name, returns):
    returns = TransferMatrices(SPACE, returns).returns
    return TransferDataset(
        TransferMatrices(SPACE, returns),
        returns.diagonal(axis1=1, axis2=2).copy(),
        np.zeros(returns.shape[:2]),
        {3: returns.mean(axis=1)},
        {"name": name, "seeds": len(returns), "recipe": {"episodes": 10}},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two data sets, as they would ship with the package."""
    path = tmp_path_factory.mktemp("matrices")
    noise = np.random.default_rng(0).integers(0, 9, size=(2, 12, 12))
    made("hill", np.array([100 - 30 * DISTANCES] * 2)).save(path / "hill.npz")
    made("noise", noise).save(path / "noise.npz")
    return path


@pytest.fixture
def shipped(folder, monkeypatch):
    monkeypatch.setattr("sdmbtl_lab.matrices.shipped.folder", lambda: folder)
    return folder


def test_what_is_printed(command, folder):
    text = command("describe", folder / "hill.npz").stdout
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[:5] == [
        "hill: 12 contexts, 2 seeds, 10 episodes per pair",
        "  length  4 values, 1 to 4",
        "  mass    3 values, 0.1 to 0.3",
        "Returns from 40 (shown as 0) to 100 (shown as 1).",
        "Structure detected in all rows: mountain.",
    ]
    found = anatomy(TransferDataset.load(folder / "hill.npz"))
    assert f"  f  policy quality    {100 * found.shares.quality:.0f} %" in lines
    assert f"  h  dissimilarity    {100 * found.shares.dissimilarity:.0f} %" in lines
    assert "Seeds: 100 % common to all, 0 % noise between training runs, 0 % other." in lines
    assert "R² of a weighted distance for h: 1.00" in lines
    (length,) = [line for line in lines if line.startswith("  length   ")]
    swing = found.quality.main_effects[0].swing
    assert length.split() == ["length", *["hill", f"{swing:.3f}"] * 2, "-0.500", "-0.500"]
    for name in ("oracle", "random"):
        (row,) = [line for line in lines if line.startswith(f"  {name}")]
        curve = getattr(found.few_policies, name)
        assert row.split()[1:3] == [f"{curve[k - 1]:.3f}" for k in (1, 3)]
    assert lines[-1] == "The own policy of a context reaches 1.000 there."


def test_all_shipped_ones_as_text_and_json(command, shipped):
    text = command("describe").stdout
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.index("hill: 12") < text.index("\n\nnoise: 12")
    assert [data["name"] for data in command.json("describe")] == ["hill", "noise"]
    (data,) = command.json("describe", "noise")
    assert data == anatomy(TransferDataset.load(shipped / "noise.npz")).to_dict()


def test_figures(command, shipped, tmp_path):
    out = tmp_path / "new" / "figures"
    result = command("describe", "hill", "--json", "--figures", out)
    assert (out / "matrix-hill.png").read_bytes().startswith(b"\x89PNG")
    assert result.stdout.startswith("[")


def test_what_is_refused(command, shipped, tmp_path):
    assert "There is no matrix 'hil'" in command.error("describe", "hil")
    (tmp_path / "x.npz").write_text("{}")
    assert "is not a file of sdmbtl" in command.error("describe", tmp_path / "x.npz")
