"""portfolio, for studies and exported portfolios."""

import json
import shutil
import sys

import pytest
from command_runner import terminal

from sdmbtl.errors import PortfolioError
from sdmbtl.portfolio import Portfolio


def test_description(command, trained):
    text = command("portfolio", trained[0]).stdout
    assert text.startswith("3 policies, 8 targets: coverage ")
    data = command.json("portfolio", trained[0])
    assert [policy["id"] for policy in data["by_policy"]] == [0, 1, 2]
    assert sum(policy["targets"] for policy in data["by_policy"]) == 8
    assert [line.split(",")[0] for line in text.splitlines()[1:4]] == [
        f"policy {number}" for number in range(3)
    ]
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
    assert text.startswith(f"policy {one['policy']}, trained on length=")
    assert "expected return" in text
    assert one["reason"] in text


def test_prose_fits_a_terminal(command, trained, monkeypatch):
    context = json.dumps({"length": 0.7, "masscart": 1.0, "masspole": 0.1})
    where = terminal()
    monkeypatch.setattr(sys.modules["sdmbtl.cli.portfolio"], "result_console", lambda: where)
    command("portfolio", trained[0], "--context", context)
    command("portfolio", trained[0])
    lines = where.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    reason = command.json("portfolio", trained[0], "--context", context)["choice"]["reason"]
    assert reason in " ".join(" ".join(lines).split()), "broken between words only"


def test_policies_that_were_trained_elsewhere(command, tiny, tmp_path):
    path = tmp_path / "s"
    file = tmp_path / "ranged.toml"
    file.write_text(tiny.read_text() + "\n[returns]\nmin = 0\nmax = 20\n")
    rows = [[1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]]
    for row in rows:
        command("ask", path, "--space", file)
        command("tell", path, "-", given=json.dumps(row))
    data = command.json("portfolio", path, "--context", "length=0.1 masscart=0.2 masspole=0.03")
    assert data["choice"]["policy"] == 1
    assert data["return_range"] == [0, 20]
    assert data["coverage"] == pytest.approx(data["expected_return"] / 20)
    command("portfolio", path, "--export", tmp_path / "out")
    with pytest.raises(PortfolioError, match="was trained elsewhere"):
        Portfolio.load(tmp_path / "out").policy_for([0.1, 0.2, 0.02])


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


def test_wrapped_lines_stand_to_the_right(command, trained, monkeypatch):
    where = terminal()
    monkeypatch.setattr(sys.modules["sdmbtl.cli.portfolio"], "result_console", lambda: where)
    command("portfolio", trained[0])
    starts = [line[:2] for line in where.file.getvalue().splitlines()]
    assert set(starts[1:]) == {"po", "  "}, "a policy, or the rest of one"
    assert starts.count("po") == 3
