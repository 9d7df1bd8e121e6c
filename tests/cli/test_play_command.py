"""`sdmbtl play` on a study of its own."""

import json

import pytest
from PIL import Image
from typer.testing import CliRunner

from sdmbtl.cli import app
from sdmbtl.studies import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("play") / "study"
    made = Study.open(
        path,
        "CartPole",
        space="wide",
        episodes=1,
        trainer_options={"total_timesteps": 4096},
    )
    made.run(budget=2, progress=False)
    return path


def invoke(*words):
    return CliRunner().invoke(app, ["play", *map(str, words)])


def test_the_generalist_and_the_chosen_one_act_side_by_side(study, tmp_path):
    out = tmp_path / "play.gif"
    done = invoke(study, "--policy", "0", "--policy", "1", "--steps", "30", "-o", out)
    assert done.exit_code == 0, done.output
    assert "policy 0, trained on the whole space: return" in done.output
    assert "policy 1, trained on" in done.output
    with Image.open(out) as image:
        assert image.size == (1206, 444)
        assert 1 < image.n_frames <= 16


def test_as_json(study, tmp_path):
    out = tmp_path / "play.gif"
    words = ["--policy", "0", "--policy", "1", "--steps", "8", "--context", "length=0.3"]
    done = invoke(study, *words, "-o", out, "--json")
    found = json.loads(done.stdout)
    assert found["context"]["length"] == 0.3
    assert [(p["policy"], p["return"]) for p in found["played"]] == [(0, 7.0), (1, 7.0)]
    assert (found["file"], found["seed"]) == (str(out), 0)
    with Image.open(out) as image:
        assert image.n_frames == found["pictures"]


def test_without_anything_it_is_the_middle_and_the_best(study, tmp_path):
    done = invoke(study, "--steps", "4", "-o", tmp_path / "play.gif")
    assert done.exit_code == 0, done.output
    assert "CartPole with length=" in done.output


def test_what_a_context_leaves_out_is_in_the_middle(study, tmp_path):
    done = invoke(study, "--steps", "2", "--context", "length=0.3", "-o", tmp_path / "play.gif")
    assert done.exit_code == 0, done.output
    assert "CartPole with length=0.3 masscart=" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "9"], "9"),
        (["-o", "play.png"], ".gif"),
        (["--context", "length=x"], "length"),
    ],
)
def test_mistakes_are_named(study, words, message):
    done = invoke(study, "--steps", "3", *words)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception or "")
