"""portfolio, for studies and exported portfolios."""

import json
import shutil

import pytest

from sdmbtl.portfolio import Portfolio


def test_description(command, trained):
    text = command("portfolio", trained[0]).stdout
    assert text.startswith("3 policies, 8 targets, coverage ")
    data = command.json("portfolio", trained[0])
    assert [member["id"] for member in data["members"]] == [0, 1, 2]
    assert sum(member["targets"] for member in data["members"]) == 8
    assert data["coverage"] == pytest.approx(data["expected_return"] / 500)


def test_the_policy_for_a_context(command, trained):
    context = {"length": 0.7, "masscart": 1.0, "masspole": 0.1}
    one = command.json("portfolio", trained[0], "--context", json.dumps(context))["choice"]
    other = command.json(
        *("portfolio", trained[0], "--context", "length=0.7 masscart=1"),
        *("--context", "masspole=0.1"),
    )["choice"]
    assert one == other
    assert not one["is_target"]
    low, high = one["interval"]
    assert low <= one["expected_return"] <= high
    text = command("portfolio", trained[0], "--context", json.dumps(context)).stdout
    assert text.startswith(f"policy {one['member']}, trained on length=")
    assert "expected return" in text
    assert one["reason"] in text


def test_exported_and_read_again(command, trained, tmp_path):
    out = tmp_path / "out"
    assert "Portfolio.load(" in command("portfolio", trained[0], "--export", out).stdout
    assert len(Portfolio.load(out)) == 3
    assert command.json("portfolio", out) == command.json("portfolio", trained[0])
    data = command.json("portfolio", out, "--smallest", 1, "--export", tmp_path / "one")
    assert data["policies"] == 1
    assert data["exported"] == str(tmp_path / "one")
    assert len(Portfolio.load(tmp_path / "one")) == 1


def test_a_damaged_policy_is_left_out_with_a_note(command, trained, tmp_path):
    shutil.copytree(trained[0], tmp_path / "s")
    (tmp_path / "s" / "policies" / "0000.safetensors").unlink()
    result = command("portfolio", tmp_path / "s")
    assert "policy 0 is left out" in result.stderr
    assert ".py" not in result.stderr
    assert result.stdout.startswith("2 policies")


def test_errors_are_sentences(command, trained, tmp_path):
    text = command.error("portfolio", tmp_path)
    assert "neither a study nor an exported portfolio" in text
    assert "has no 'masscart'" in command.error("portfolio", trained[0], "--context", "length=1")
    assert "Did you mean" in command.error("portfolio", trained[0], "--context", "lenght=1")
    assert "--context takes KEY=VALUE" in command.error("portfolio", trained[0], "--context", "1")
    assert "is not replaced" in command.error("portfolio", trained[0], "--export", trained[0])
