"""No command runs anything of a foreign file, shows a traceback, or lets it steer the terminal."""

import pickle
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from foreign_files import CANARY, EVERY, ROWS, Bomb, base_study
from typer.testing import CliRunner

from sdmbtl.cli import app

SPACE = "[dimensions.length]\nvalues = [0.3, 0.6]\n[dimensions.masspole]\nvalues = [0.1, 0.2]\n"

#: So many commands of each kind are tried always, all of them in the slow tests.
FIRST = 3

#: Events that Python reports when a program is started, a pickle is opened, a library is loaded.
REFUSED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork")
REFUSED += ("pickle.find_class", "pty.spawn", "webbrowser.open", "code.__new__", "socket.connect")

_watched: list[list[str]] = []


def _watch(event, arguments):
    if not _watched:
        return
    if event in REFUSED:
        _watched[-1].append(f"{event} {arguments}")
    elif event == "import" and arguments[0].partition(".")[0] in ("canary", "antigravity"):
        _watched[-1].append(f"import {arguments[0]}")
    elif event == "exec" and "canary" in getattr(arguments[0], "co_filename", ""):
        _watched[-1].append("exec of the canary")


sys.addaudithook(_watch)


@contextmanager
def watched(problems):
    """Add whatever is executed meanwhile to the problems."""
    _watched.append(problems)
    try:
        yield
    finally:
        _watched.pop()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    path = tmp_path_factory.mktemp("base") / "study"
    base_study(path)
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory as after unpacking what somebody sent, with a module that would be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SDMBTL_TRUST", raising=False)
    outside = tmp_path / "outside"
    outside.mkdir()
    Path("canary.py").write_text(CANARY.format(place=str(outside)))
    Path("space.toml").write_text(SPACE)
    Path("row.json").write_text(str(ROWS[0]))
    return tmp_path


@pytest.mark.parametrize("case", EVERY, ids=lambda case: ascii(case.name))
def test_commands_that_might_run_something(case, place, base):
    read_foreign_file(case, case.commands[:FIRST], place, base)


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=lambda case: ascii(case.name))
def test_every_command(case, place, base):
    read_foreign_file(case, case.commands[FIRST:], place, base)


def read_foreign_file(case, commands, place, base):
    if case.name.startswith("row"):
        shutil.copytree(base, "asked")
    case.write(place / "it", base)
    problems = []
    with watched(problems):
        for command in commands:
            words = [word.replace("@", "it") for word in command]
            result = CliRunner(env={"COLUMNS": "80"}).invoke(app, words)
            if not isinstance(result.exception, SystemExit | None):
                problems.append(f"{words}: {type(result.exception)} {result.exception}")
            shown = result.stdout + result.stderr
            steering = {c for c in shown if not c.isprintable() and c != "\n"}
            if steering or "Traceback" in shown:
                problems.append(f"{words} shows {steering}: {shown}")
    assert problems == []
    assert list((place / "outside").iterdir()) == []
    assert "canary" not in sys.modules


def test_the_watch_sees_what_would_happen(place):
    """The campaign can fail: each kind of harm is noticed when it happens."""
    problems = []
    sys.path.insert(0, str(place))
    try:
        with watched(problems):
            __import__("canary")
            pickle.loads(pickle.dumps(Bomb()))  # noqa: S301
            subprocess.run([sys.executable, "-c", ""], check=True)
    finally:
        sys.path.remove(str(place))
        sys.modules.pop("canary", None)
    seen = {problem.split(" ")[0] for problem in problems}
    assert {"import", "exec", "pickle.find_class", "os.system", "subprocess.Popen"} <= seen
    assert {path.name for path in (place / "outside").iterdir()} == {"imported", "unpickled"}


def test_how_much_is_tried(capsys):
    cases = len(EVERY)
    readings = sum(len(case.commands) for case in EVERY)
    first = sum(len(case.commands[:FIRST]) for case in EVERY)
    with capsys.disabled():
        print(f"\n{cases} foreign files, read {readings} times; without slow tests {first} times")
    assert cases >= 60
