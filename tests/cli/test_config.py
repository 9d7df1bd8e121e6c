"""Options from a file: `sdmbtl run --config`."""

import pytest
from typer.testing import CliRunner

from sdmbtl.cli import app
from sdmbtl.studies import Study

FILE = """
[run]
env = "CartPole"
budget = 1
episodes = 2
specialist-steps = 2048
observe_context = false
set = {{total_timesteps = 4096, learning_rate = 0.001}}
out = "{out}"

[dimensions.length]
low = 0.1
high = 2.0
scale = "log"

[dimensions.masscart]
values = [0.5, 1, 2]

[targets]
sample = 20

[returns]
min = 0
max = 400
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(FILE.format(out=tmp_path / "study"))
    return path


def invoke(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_a_file_says_everything(file, tmp_path):
    done = invoke("run", "--config", file, "--json")
    assert done.exit_code == 0, done.output
    study = Study.open(tmp_path / "study")
    assert len(study.space) == 20
    assert study.space.names == ("length", "masscart")
    assert study.return_range == (0, 400)
    assert study.configuration.episodes == 2
    settings = study.trainer.settings()
    assert settings["total_timesteps"] == 4096
    assert settings["learning_rate"] == 0.001
    assert study.n_finished == 1


def test_the_command_line_comes_first(file, tmp_path):
    other = tmp_path / "other"
    words = ["Pendulum", "--out", other, "--space", "wide", "--levels", "2", "--episodes", "3"]
    done = invoke("run", "--config", file, *words, "--quiet")
    assert done.exit_code == 0, done.output
    study = Study.open(other)
    assert study.family.name == "Pendulum"
    assert study.configuration.episodes == 3
    assert study.trainer.settings()["learning_rate"] == 0.001


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nenv = 'CartPole'\nbugdet = 3", "does not take. Did you mean 'budget'?"),
        ("run = 3", "[run] is a table. Got 3 instead."),
        ("[run", "this is not valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    path = tmp_path / "study.toml"
    path.write_text(text)
    done = invoke("run", "--config", path)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    done = invoke("run", "--config", tmp_path / "none.toml")
    assert "cannot be read" in " ".join(done.output.split())
