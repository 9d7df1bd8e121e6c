"""detect and environments, and how quickly the command line starts."""

import subprocess
import sys

import numpy as np
import pytest
from command_runner import terminal

from sdmbtl import ContextSpace, ObservedRows
from sdmbtl.environments import family_names
from sdmbtl.studies import Study
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices

SPACE = ContextSpace(length=[1.0, 2.0, 3.0, 4.0], mass=[1.0, 2.0, 3.0, 4.0])
DISTANCES = np.abs(SPACE.unit_targets[:, None] - SPACE.unit_targets).sum(axis=2)


def test_a_mountain_in_a_matrix(command, tmp_path):
    TransferMatrices(SPACE, 10 - 3 * DISTANCES).save(tmp_path / "m.npz")
    text = command("detect", tmp_path / "m.npz").stdout
    assert text.startswith("Detected structure: mountain (16 policies, 16 targets)")
    assert 'Criterion "small variance" holds: policies differ less' in text
    assert 'Criterion "slope" holds: performance falls on both sides in every dimension' in text
    data = command.json("detect", tmp_path / "m.npz")
    assert data["structure"] == "mountain"
    assert np.allclose([data["slopes"][n]["left"] for n in SPACE.names], -3)


def test_prose_fits_a_terminal(command, tmp_path, monkeypatch):
    TransferMatrices(SPACE, 10 - 3 * DISTANCES).save(tmp_path / "m.npz")
    where = terminal()
    monkeypatch.setattr(sys.modules["sdmbtl.cli.detect"], "result_console", lambda: where)
    command("detect", tmp_path / "m.npz")
    lines = where.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(
        command.json("detect", tmp_path / "m.npz")["criteria"][1]["explanation"].split()
    )
    assert words in " ".join(" ".join(lines).split()), "broken between words only"


def test_rows_without_structure(command, tmp_path):
    rows = ObservedRows(SPACE, SPACE.targets[:3], np.arange(48.0).reshape(3, 16) % 7)
    rows.save(tmp_path / "r.npz")
    text = command("detect", tmp_path / "r.npz").stdout
    assert text.startswith("Detected structure: none (3 policies, 16 targets)")
    assert "does not hold" in text
    assert "length" in text.split("dimension")[-1]


def test_a_study(command, trained):
    data = command.json("detect", trained[0])
    assert (data["policies"], data["targets"]) == (3, 8)
    assert [criterion["name"] for criterion in data["criteria"]] == ["small variance", "slope"]
    text = command("detect", trained[0]).stdout
    assert "The selector of this study, auto, does not choose by the structure" in text


@pytest.mark.parametrize("criteria", [["small variance"], ["small variance", "slope"]])
def test_status_and_detect_agree_on_the_structure(command, tmp_path, criteria):
    """With a detector of its own, a study is judged by that one."""
    options = {"detector": {"name": "mountain", "criteria": criteria}}
    study = Study.open(
        tmp_path / "study", space=SPACE, selector="m/gp-mbtl", selector_options=options
    )
    for _ in range(6):  # equally good where they were trained, but better far away
        trial = study.ask()
        study.tell(trial, 3 * DISTANCES[trial.index])
    expected = "mountain" if criteria == ["small variance"] else "none"
    assert command.json("detect", study.path)["structure"] == expected
    assert command.json("status", study.path)["structure"] == expected
    for name in ("detect", "status"):
        assert f"Detected structure: {expected}" in command(name, study.path).stdout
    assert "does not choose by the structure" not in command("detect", study.path).stdout


def test_what_has_no_structure_at_all(command, tmp_path):
    assert "Give the directory of a study" in command.error("detect", tmp_path / "none.npz")
    (tmp_path / "x.npz").write_text("[1]")
    assert "is not a file of sdmbtl" in command.error("detect", tmp_path / "x.npz")
    ObservedRows(SPACE, SPACE.targets[:1], np.ones((1, 16))).save(tmp_path / "one.npz")
    assert "row" in command.error("detect", tmp_path / "one.npz")


def test_structure_of_a_data_set(command, tmp_path):
    space = ContextSpace(a=range(5))
    returns = 100 - 10 * abs(space.targets - space.targets.T)
    data = TransferDataset(TransferMatrices(space, returns), np.zeros((1, 5)), np.zeros((1, 5)))
    data.save(str(tmp_path / "matrix.npz"))
    for path in (tmp_path, tmp_path / "matrix.npz"):
        assert (
            "Detected structure: mountain (5 policies, 5 targets)" in command("detect", path).stdout
        )


def test_environments(command):
    found = {entry["name"]: entry for entry in command.json("environments")}
    assert set(found) == set(family_names())
    assert found["CartPole"]["trainer"] == "ppo"
    assert found["CartPole"]["spaces"]["wide"]["targets"] == 512
    assert found["BipedalWalker"]["trainer"] == "ppo"
    text = command("environments").stdout
    assert "    length: 8 values, 0.05 to 5 (log)" in text
    assert "sdmbtl run module:function --space FILE.toml" in text
    assert "sdmbtl run gym:LunarLander-v3 --space FILE.toml" in text
    assert max(map(len, text.splitlines())) <= 80


def test_every_command_has_help(command):
    names = ["run", "resume", "status", "evaluate", "portfolio", "ask", "tell", "detect", "doctor"]
    listed = command("--help").stdout
    for name in [*names, "targets", "environments", "bench", "matrix", "describe"]:
        assert f" {name} " in listed
        assert max(map(len, command(name, "--help").stdout.splitlines())) <= 80


def test_help_imports_only_what_it_shows():
    """What is slow to import is imported by the command that needs it."""
    program = (
        "import sys; sys.argv = ['sdmbtl', '--help']\n"
        "from sdmbtl.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "Train a few policies" in done.stdout
    loaded = {name for name in done.stderr.split() if name.count(".") < 2}
    heavy = {"jax", "torch", "gymnasium", "stable_baselines3", "matplotlib", "safetensors"}
    rooms = ("benchmarks", "environments", "plots", "portfolio", "studies", "trainers")
    assert not loaded & heavy
    assert not loaded & {f"sdmbtl.{room}" for room in rooms}


def test_short_help_everywhere(command):
    for words in ([], ["run"], ["bench"], ["bench", "show"]):
        assert command(*words, "-h").stdout == command(*words, "--help").stdout
