"""`sdmbtl evaluate` and `sdmbtl doctor`."""

import os
import signal

import numpy as np
import pytest

from sdmbtl.studies import Study


def test_evaluate_on_the_targets(command, trained):
    path, _ = trained
    result = command.json("evaluate", path, "--episodes", 3)
    assert (result["count"], result["episodes"], result["split"]) == (8, 3, "train")
    means = [entry["mean"] for entry in result["by_context"]]
    assert result["mean"] == pytest.approx(sum(means) / 8)
    assert [entry["mean"] for entry in result["worst"]] == sorted(means)[:5]
    assert result["covered"]["coverage"] == pytest.approx(result["coverage"])
    assert result["covered"]["worst_tenth"] == pytest.approx(min(means) / 500), "one of 8"
    text = command("evaluate", path, "--episodes", 3).stdout
    assert "3 new episodes on each of 8 tasks" in text
    assert "Worst contexts:" in text
    other = command.json("evaluate", path, "--episodes", 3, "--seed", 5)
    assert other["by_context"] != result["by_context"]


def test_evaluate_between_the_targets(command, trained):
    path, _ = trained
    result = command.json("evaluate", path, "--samples", 64, "--episodes", 1)
    space = Study.open(path).space
    contexts = [entry["context"] for entry in result["by_context"]]
    assert len(contexts) == 64
    assert all(context in space and space.find(context) is None for context in contexts)
    # Even on a logarithmic scale: about half lie below the geometric mean of 0.1 and 2.
    assert sum(c["length"] < 0.2**0.5 for c in contexts) == pytest.approx(32, abs=4)
    text = command("evaluate", path, "--samples", 1, "--episodes", 1).stdout
    assert "1 new episode on each of 1 contexts between the tasks" in text


def test_several_splits(command, trained):
    given = ("--split", "train", "--split", "extrapolation", "--samples", 16, "--episodes", 1)
    train, beyond = command.json("evaluate", trained[0], *given)["splits"]
    assert (train["split"], train["count"], beyond["split"]) == ("train", 8, "extrapolation")
    space = Study.open(trained[0]).space
    assert not any(entry["context"] in space for entry in beyond["by_context"])
    text = command("evaluate", trained[0], *given).stdout
    assert f"16 contexts beyond the tasks: coverage {100 * beyond['coverage']:.1f} %" in text


def test_contexts_whose_evaluation_failed(command, trained, monkeypatch):
    returns = np.array([[500.0]] * 6 + [[300.0], [np.nan]])
    monkeypatch.setattr(Study, "evaluate", lambda *_, **__: returns)
    result = command.json("evaluate", trained[0])
    assert (result["count"], result["failed"]) == (7, 1)
    assert result["mean"] == pytest.approx(np.mean([500] * 6 + [300]))
    assert "failed on 1 more" in command("evaluate", trained[0]).stdout


def test_missing_evaluations(command, copied):
    before = np.isnan([trial.row for trial in Study.open(copied).trials]).sum()
    text = command("evaluate", copied, "--missing").stdout
    assert f"{before} returns missing before" in text
    assert command.json("evaluate", copied, "--missing") == {
        "path": str(copied),
        "missing": 0,
        "left": 0,
    }
    assert "--missing" in command.error("evaluate", copied, "--missing", "--seed", 3)


@pytest.mark.parametrize("more", [(), ("--missing",)])
def test_signals_end_an_evaluation(more, command, copied, monkeypatch):
    def evaluate(*_, callbacks=None, progress=None, **__):
        os.kill(os.getpid(), signal.SIGINT)
        (callbacks[0] if progress is None else progress)(None)

    monkeypatch.setattr(Study, "evaluate", evaluate)
    monkeypatch.setattr(Study, "evaluate_missing", lambda _, c, **__: evaluate(callbacks=c))
    assert "Interrupted; " in command("evaluate", copied, *more, status=130).stderr


def test_doctor(command, trained, copied):
    assert "healthy" in command("doctor", trained[0]).stdout
    (copied / "policies" / "0001.safetensors").write_bytes(b"rust")
    ill = command("doctor", copied, status=1)
    assert "--forget" in ill.stdout
    assert command.json("doctor", copied, status=1)["healthy"] is False
    command("doctor", copied, "--repair", status=1)
    rounds = command.json("status", copied)["rounds"]
    assert rounds == command.json("status", trained[0])["rounds"], "no returns are given up"
    command("tell", copied, "--id", 1, "--forget")
    assert command.json("doctor", copied)["healthy"] is True
