"""describe: what it prints, draws and refuses."""

import sys

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
    assert lines[:4] == [
        "hill: 12 contexts, 2 seeds, 10 episodes for each pair",
        "  length  4 values, 1 to 4",
        "  mass    3 values, 0.1 to 0.3",
        "Returns lie between 40 and 100; from here on these are 0 and 1.",
    ]
    assert "  - Mountain: policies are alike, and the weighted distance of source and" in lines
    found = anatomy(TransferDataset.load(folder / "hill.npz"))
    assert f"  f  policy quality    {100 * found.shares.quality:.0f} %  which policy runs" in lines
    assert (
        f"  h  dissimilarity    {100 * found.shares.dissimilarity:.0f} %  how the two fit" in lines
    )
    assert "Between seeds: 100 % is common to all, 0 % is noise between training runs," in lines
    assert "R² of h: distance 1.00, curves of the difference 1.00, any places 1.00" in lines
    (length,) = [line for line in lines if line.startswith("  length   ")]
    swing = found.quality.main_effects[0].swing
    assert length.split() == ["length", *["hill", f"{swing:.3f}"] * 2, "-0.500", "-0.500"]
    (oracle,) = [line for line in lines if line.startswith("  oracle")]
    chosen = [found.few_policies.oracle[k - 1] for k in (1, 3, 6, 12)]
    assert oracle.split()[1:] == [f"{value:.3f}" for value in [*chosen, 1]]
    (random,) = [line for line in lines if line.startswith("  random")]
    assert random.split()[1:3] == [f"{found.few_policies.random[k - 1]:.3f}" for k in (1, 3)]
    assert "all 12" in text
    assert lines[-1] == "The own policy of a context reaches 1.000 there, the best one 1.000."


def test_every_line_fits_a_terminal(command, shipped):
    text = command("describe").stdout
    assert max(len(line) for line in text.splitlines()) <= 80
    findings = text.split("Findings\n")[1].split("\n\n")[0]
    assert all(line.startswith(("  - ", "    ")) for line in findings.splitlines())


def test_all_that_ship_with_the_package(command, shipped):
    text = command("describe").stdout
    assert text.index("hill: 12") < text.index("\n\nnoise: 12")
    assert [data["name"] for data in command.json("describe")] == ["hill", "noise"]
    assert [data["name"] for data in command.json("describe", "noise")] == ["noise"]


def test_json(command, folder):
    (data,) = command.json("describe", folder / "noise.npz")
    assert data == anatomy(TransferDataset.load(folder / "noise.npz")).to_dict()


def test_a_single_seed_says_nothing_about_run_variance(command, tmp_path):
    made("one", 1.0 * DISTANCES).save(tmp_path / "one.npz")
    text = command("describe", tmp_path / "one.npz").stdout
    assert "1 seed," in text
    assert "Between seeds" not in text


def test_figures(command, shipped, tmp_path):
    result = command("describe", "--json", "--figures", tmp_path / "new" / "figures")
    paths = [tmp_path / "new" / "figures" / f"matrix-{name}.png" for name in ("hill", "noise")]
    assert [path.read_bytes()[:4] for path in paths] == [b"\x89PNG"] * 2
    assert result.stderr.splitlines() == [f"Drawn: {path}" for path in paths]
    assert result.stdout.startswith("[")


def test_figures_without_matplotlib(command, folder, tmp_path, monkeypatch):
    for name in [n for n in sys.modules if n.startswith("sdmbtl.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = command.error("describe", folder / "hill.npz", "--figures", tmp_path / "figures")
    assert "Install it with: pip install 'sdmbtl[plots]'" in message
    assert not (tmp_path / "figures").exists()


def test_what_is_refused(command, shipped, tmp_path, monkeypatch):
    assert "There is no matrix 'hil'" in command.error("describe", "hil")
    (tmp_path / "x.npz").write_text("{}")
    assert "is not a file of sdmbtl" in command.error("describe", tmp_path / "x.npz")
    monkeypatch.setattr("sdmbtl_lab.matrices.shipped.folder", lambda: tmp_path / "none")
    message = command.error("describe")
    assert "No data sets ship with this installation" in message
    assert "Give the path of one, made with 'sdmbtl matrix'." in message


def test_it_is_listed_and_explained(command):
    assert " describe " in command("--help").stdout
    text = command("describe", "--help").stdout
    assert "--figures" in text
    assert max(map(len, text.splitlines())) <= 80
