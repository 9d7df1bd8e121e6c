"""Small files that ask for much: answered at once, with little memory and in a sentence."""

import json
import subprocess
import sys
from pathlib import Path

import crafted_bombs as bombs
import numpy as np
import pytest
from command_runner import Command

from sdmbtl.errors import LimitError, MatrixError
from sdmbtl.limits import raised_limits
from sdmbtl.studies import Study
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.transfer import ObservedRows
from sdmbtl_lab.benchmarks.journal import Journal

#: A few milliseconds are usual, a second for the largest; a busy machine takes longer.
SECONDS = 30

FILES = {
    "npz": bombs.NPZ,
    "toml": bombs.TOML,
    "policy": bombs.POLICIES,
    "network": bombs.NETWORKS,
    "recipe": bombs.RECIPES,
    "result": bombs.JSON,
    "weather": {**bombs.WEATHER, **bombs.WEATHER_PLACES},
    "study": bombs.STUDIES,
    "portfolio": bombs.PORTFOLIOS,
}
#: These are odd, and yet there is nothing wrong with them.
HARMLESS = {
    *(f"npz {name}" for name in bombs.HARMLESS_NPZ),
    *("policy discrete_of_its_size", "portfolio context"),
}
NAMES = [f"{kind} {name}" for kind, files in FILES.items() for name in files]


@pytest.fixture(scope="session")
def outcomes():
    """What came of reading each file, in one process whose memory is limited."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the memory of a process is looked up as on Linux")
    script = Path(__file__).with_name("read_bombs.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HARMLESS])
def test_refused_with_little_memory(name, outcomes):
    error, message, seconds = outcomes[name]
    assert error, "read as if nothing were wrong"
    assert not error.startswith("not ours"), (error, message)
    assert seconds < SECONDS
    if error == "LimitError":
        assert "SDMBTL_MAX_" in message
        assert "bomb-" in message, "the file is named"


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_read_with_little_memory(name, outcomes):
    error, message, seconds = outcomes[name]
    assert (error, message) == ("", "")
    assert seconds < SECONDS


# -- the commands that read such files ---------------------------------------------------------


def refused(*arguments, **options):
    """The message of a command that refuses something."""
    message = Command().error(*arguments, **options)
    assert message.startswith("Error: ")
    return message


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return bombs.make_study(tmp_path_factory.mktemp("study") / "study")


@pytest.mark.parametrize("name", bombs.NPZ)
def test_files_of_rows(name, tmp_path):
    bombs.NPZ[name](tmp_path / "rows.npz")
    for command in ("detect", "describe"):
        assert "rows.npz" in refused(command, tmp_path / "rows.npz")


@pytest.mark.parametrize("name", bombs.TOML)
def test_spaces(name, tmp_path):
    (tmp_path / "space.toml").write_text(bombs.TOML[name])
    assert "space.toml" in refused("ask", tmp_path / "new", "--space", tmp_path / "space.toml")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["endless_line", "huge", "large"])
def test_weather(name, tmp_path):
    (tmp_path / "it.csv").write_text(bombs.WEATHER[name])
    option = ["--option", f"site={tmp_path / 'it.csv'}"]
    assert "it.csv" in refused("run", "Crop", *option, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("levels", [10**6, 10**12, 10**30])
@pytest.mark.parametrize("command", ["run", "matrix"])
def test_levels(command, levels, tmp_path):
    out = ["--out", tmp_path / "new"]
    assert "SDMBTL_MAX_TARGETS" in refused(command, "CartPole", "--levels", levels, *out)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", bombs.JSON)
def test_rows_that_are_told(name, study, tmp_path):
    content = bombs.JSON[name]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "row.json").write_bytes(content)
    context = ["--context", "a=3"]
    before = len(Study.open(study).trials)
    for where, given in ((tmp_path / "row.json", None), ("-", content)):
        named = [] if "id" in name else context
        refused("tell", study, where, *named, given=given)
    assert len(Study.open(study).trials) == before


@pytest.mark.parametrize("name", bombs.STUDIES)
def test_studies(name, study, tmp_path):
    path = bombs.copied(study, tmp_path / "study", bombs.STUDIES[name])
    for command in ("status", "targets", "ask", "detect", "portfolio", "resume"):
        refused(command, path)


@pytest.mark.parametrize("name", ["view", "trigger", "generated", "deep_fact"])
def test_the_doctor_of_a_study(name, study, tmp_path):
    path = bombs.copied(study, tmp_path / "study", bombs.STUDIES[name])
    found = Command()("doctor", path, status=1)
    assert "damaged" in found.stdout


@pytest.mark.parametrize("name", [n for n in bombs.PORTFOLIOS if n != "context"])
def test_portfolios(name, tmp_path):
    original = bombs.make_portfolio(tmp_path / "original")
    path = bombs.copied(original, tmp_path / "portfolio", bombs.PORTFOLIOS[name])
    refused("portfolio", path)


# -- more is read where that is allowed ----------------------------------------------------------


def test_more_targets_can_be_allowed(tmp_path, monkeypatch):
    path = bombs.make_rows(tmp_path / "rows.npz")
    monkeypatch.setenv("SDMBTL_MAX_TARGETS", "3")
    with pytest.raises(LimitError, match=r"rows.npz: .* 4; at most 3 are .*SDMBTL_MAX_TARGETS=4"):
        ObservedRows.load(path)
    with raised_limits(targets=4):
        assert len(ObservedRows.load(path)) == 2
    monkeypatch.setenv("SDMBTL_MAX_TARGETS", "4")
    assert len(ObservedRows.load(path)) == 2


def test_larger_arrays_can_be_allowed(tmp_path):
    path = bombs.make_rows(tmp_path / "rows.npz")
    needed = 8 * (2 * 1 + 2 * 4 + 2)
    with (
        raised_limits(array_bytes=needed - 1),
        pytest.raises(LimitError, match=rf"take in memory are {needed}; at most {needed - 1} are"),
    ):
        ObservedRows.load(path)
    with raised_limits(array_bytes=needed):
        assert np.array_equal(ObservedRows.load(path).returns, np.arange(8.0).reshape(2, 4))


def test_longer_records_can_be_allowed(study):
    with raised_limits(text_bytes=100), pytest.raises(LimitError, match="SDMBTL_MAX_TEXT_BYTES"):
        Study.open(study)
    with raised_limits(records=1), pytest.raises(LimitError, match="SDMBTL_MAX_RECORDS=2"):
        Study.open(study)
    assert len(Study.open(study).trials) == 2


def test_a_longer_standard_input_can_be_allowed(study):
    with raised_limits(text_bytes=10):
        message = refused("tell", study, "-", given="[1.0, 2.0, 3.0, 4.0]")
    assert "The standard input is too long" in message


def test_a_million_targets(tmp_path):
    text = "".join(bombs.RANGE.format(name, 100) for name in "abc")
    (tmp_path / "space.toml").write_text(text)
    study = Study.open(tmp_path / "study", space=tmp_path / "space.toml", selector="random")
    assert len(study.space) == 10**6
    assert study.space.target(10**6 - 1) == {"a": 1.0, "b": 1.0, "c": 1.0}
    assert len(Study.open(tmp_path / "study").space) == 10**6


def test_a_checkpoint_that_is_too_large_is_not_used(tmp_path):
    entry = bombs.zeros_entry("lanes", (64 * bombs.GIGA,))
    (tmp_path / "run.npz").write_bytes(bombs.zip_of(entry))
    with pytest.warns(UserWarning, match="begins anew.*run.npz is too large.*MAX_ARRAY_BYTES"):
        assert Checkpoint(tmp_path / "run.npz", 60.0).load() is None


@pytest.mark.parametrize(
    "line", ["[" * bombs.DEEP, bombs.LONG, '{"key": 3}', '{"key": [{}]}', "{}"]
)
def test_lines_of_a_journal_that_are_no_records_are_skipped(line, tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"code": 1}\n{"key": ["a", 1], "value": 2}\n' + line + "\n")
    journal = Journal(path, {"code": 1})
    assert journal["a", 1] == {"value": 2}
    assert (len(journal), journal.note) == (1, "1 damaged lines were skipped.")


def test_damage_is_not_taken_for_size(tmp_path):
    path = bombs.make_rows(tmp_path / "rows.npz")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(MatrixError, match="damaged"):
        ObservedRows.load(path)
