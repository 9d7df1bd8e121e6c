"""`sdmbtl portfolio` and `sdmbtl play`."""

import json
import sys

import pytest
from command_runner import terminal
from PIL import Image

from sdmbtl import ContextSpace
from sdmbtl.errors import PortfolioError
from sdmbtl.portfolio import Portfolio
from sdmbtl.studies import Study

CONTEXT = json.dumps({"length": 0.7, "masscart": 1.0, "masspole": 0.1})


def test_description(command, trained):
    text = command("portfolio", trained[0]).stdout
    assert text.startswith("3 policies, 8 tasks: expected coverage ")
    data = command.json("portfolio", trained[0])
    assert [policy["id"] for policy in data["by_policy"]] == [0, 1, 2]
    assert sum(policy["targets"] for policy in data["by_policy"]) == 8
    assert data["expected_coverage"] == pytest.approx(data["expected_return"] / 500)


@pytest.mark.parametrize("known", [True, False])
def test_dimensions_that_are_left_out_have_usual_values(command, trained, tmp_path, known):
    portfolio, folder = Study.open(trained[0]).portfolio(), tmp_path / "exported"
    usual = portfolio.space.middle()
    if known:
        usual |= {n: v for n, v in portfolio.make_family("").defaults.items() if n in usual}
    if not known:  # as if the environments were made by a function without a name
        portfolio.family = None
    portfolio.export(folder)
    whole = " ".join(f"{name}={value!r}" for name, value in {**usual, "length": 0.7}.items())
    given = [("--context", "length=0.7"), ("--context", whole)]
    partial, full = (command.json("portfolio", folder, *words)["choice"] for words in given)
    assert partial == full
    stated = command("portfolio", folder, *given[0]).stderr
    assert ("at the usual value" if known else "in the middle") in stated
    assert f"masscart={usual['masscart']:g}" in stated
    assert "length=" not in stated


def test_the_policy_for_a_context(command, trained):
    one = command.json("portfolio", trained[0], "--context", CONTEXT)["choice"]
    words = ("--context", "length=0.7 masscart=1", "--context", "masspole=0.1")
    assert command.json("portfolio", trained[0], *words)["choice"] == one
    assert not one["is_target"]
    low, high = one["interval"]
    assert low <= one["expected_return"] <= high
    text = command("portfolio", trained[0], "--context", CONTEXT).stdout
    assert text.startswith(f"policy {one['policy']}, trained on ")
    assert one["reason"] in text


def test_text_fits_a_terminal(command, trained, monkeypatch):
    where = terminal()
    monkeypatch.setattr(sys.modules["sdmbtl.cli.output"], "PlainConsole", lambda: where)
    command("portfolio", trained[0])
    lines = where.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert {line[:2] for line in lines[1:]} == {"po", "  "}, "a policy, or the rest of one"


def test_policies_that_were_trained_elsewhere(command, tmp_path):
    space = ContextSpace(a=[0.0, 1.0, 2.0])
    study = Study.open(tmp_path / "s", space=space, return_range=(0, 20))
    study.tell({"a": 0.0}, [1, 2, 3])
    study.tell({"a": 2.0}, [3, 2, 1])
    data = command.json("portfolio", study.path, "--context", "a=0")
    assert (data["choice"]["policy"], data["return_range"]) == (1, [0, 20])
    command("portfolio", study.path, "--export", tmp_path / "out")
    without = Study.open(tmp_path / "without", space=ContextSpace(a=[0.0, 1.0], b=[0.0, 1.0]))
    without.tell({"a": 0.0, "b": 0.0}, [[1, 2], [2, 1], [3, 4], [7, 5]])
    figure = tmp_path / "map.svg"
    words = ("--context", "a=0 b=0", "--figure", figure)
    shown = (
        command("portfolio", without.path, *words).stdout + command("status", without.path).stdout
    )
    assert f"Wrote {figure}." in shown
    assert "%" not in shown.replace("20 %", "")
    assert "cover" not in figure.read_text().replace("badly covered", "")
    with pytest.raises(PortfolioError, match="trained elsewhere"):
        Portfolio.load(tmp_path / "out").policy_for([0.0])


def test_exported_and_read_again(command, trained, tmp_path):
    out = tmp_path / "out"
    assert "Portfolio.load(" in command("portfolio", trained[0], "--export", out).stdout
    assert len(Portfolio.load(out)) == 3
    assert command.json("portfolio", out) == command.json("portfolio", trained[0])
    words = ("--export", tmp_path / "two", "--figure", tmp_path / "map.png")
    data = command.json("portfolio", out, *words)
    assert (data["policies"], data["exported"]) == (3, str(tmp_path / "two"))
    with Image.open(tmp_path / "map.png") as image:
        assert image.width > 100


def test_a_damaged_policy_is_left_out_with_a_note(command, copied):
    (copied / "policies" / "0000.safetensors").unlink()
    result = command("portfolio", copied)
    assert "policy 0 is left out" in result.stderr
    assert ".py" not in result.stderr
    assert result.stdout.startswith("2 policies")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--context", "lenght=1"], "Did you mean"),
        (["--context", "1"], "--context takes KEY=VALUE"),
        (["--figure", "map.txt"], "'map.txt'"),
    ],
)
def test_mistakes(command, trained, words, text):
    assert text in command.error("portfolio", trained[0], *words)


def test_a_study_is_no_place_for_an_export(command, trained):
    assert "is not replaced" in command.error("portfolio", trained[0], "--export", trained[0])


# -- play ------------------------------------------------------------------------------------------


def test_policies_act_side_by_side(command, trained, tmp_path):
    out = tmp_path / "play.gif"
    words = ("--policy", 0, "--policy", 2, "--steps", 8, "--context", "length=0.3", "-o", out)
    found = command.json("play", trained[0], *words)
    assert found["context"]["length"] == 0.3
    assert set(found["context"]) == {"length", "masscart", "masspole"}
    assert [entry["policy"] for entry in found["played"]] == [0, 2]
    assert all(0 < entry["return"] <= 8 for entry in found["played"])
    assert (found["file"], found["seed"]) == (str(out), 0)
    with Image.open(out) as image:
        assert image.n_frames == found["pictures"]
        assert image.width > 2 * 500, "two films"


def test_by_default_the_generalist_and_the_chosen_policy(command, trained, tmp_path):
    text = command("play", trained[0], "--steps", 4, "-o", tmp_path / "play.gif").stdout
    assert text.startswith("CartPole with length=")
    assert "trained on the whole space" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--policy", "9"], "9"),
        (["-o", "play.png"], ".gif"),
        (["--context", "length=x"], "length"),
        (["--context", "length=99999"], "is outside the space"),
    ],
)
def test_mistakes_in_play(command, trained, words, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert text in command("play", trained[0], "--steps", 3, *words, status=2).stderr
