"""`sdmbtl distill`: one network from a study."""

import pytest

from sdmbtl.policies import load_policy
from sdmbtl.portfolio.distillation import learner


@pytest.fixture(autouse=True)
def little_learning(monkeypatch):
    """Few updates: no good student is asked for."""
    monkeypatch.setattr(learner, "FEWEST", 1)


def test_a_network_of_a_study_is_shown_with_it(command, copied, tmp_path):
    data = command.json("distill", copied, "--steps", 100)
    assert data["context"] == "told"
    assert data["steps"] >= 100
    assert data["policies"] == 3
    network = load_policy(copied / "networks" / "told.safetensors")
    assert not network.remembers
    (recorded,) = command.json("status", copied)["networks"]
    assert recorded["mean_return"] == pytest.approx(data["mean_return"])
    assert "one network, context told: " in command("status", copied).stdout
    again = command("distill", copied, "--steps", 100)
    assert "Written to" in again.stdout
    command("distill", copied, "--out", tmp_path / "out", "--context", "hidden", "--steps", 50)
    assert load_policy(tmp_path / "out" / "hidden.safetensors").remembers


def test_bad_input_writes_nothing(command, copied, tmp_path):
    assert "told" in command.error("distill", copied, "--context", "guessed")
    assert "not a study" in command.error("distill", tmp_path / "no", "--out", tmp_path)
    assert not (copied / "networks").exists()
