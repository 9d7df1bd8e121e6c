"""No command runs anything of a foreign file, shows a traceback, or lets it steer the terminal."""

import io
import json
import pickle
import resource
import shutil
import struct
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from foreign_files import CANARY, EVERY, ROWS, SPACE, Bomb, base_study, policy_file
from typer.testing import CliRunner

from sdmbtl.cli import app
from sdmbtl.contexts import load_space
from sdmbtl.errors import SdmbtlError
from sdmbtl.policies import load_policy
from sdmbtl.transfer.storage import load_arrays

TOML = "[dimensions.length]\nvalues = [0.3, 0.6]\n[dimensions.masspole]\nvalues = [0.1, 0.2]\n"

#: This many commands of each kind are tried always, all of them in the slow tests.
FIRST = 2

#: Events that Python reports when a program is started, a pickle is opened, a library is loaded.
REFUSED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork")
REFUSED += ("pickle.find_class", "pty.spawn", "webbrowser.open", "code.__new__", "socket.connect")

_watched: list[list[str]] = []


def _watch(event, arguments):
    if not _watched:
        return
    if event in REFUSED:
        _watched[-1].append(f"{event} {arguments}")
    elif event == "import" and arguments[0].partition(".")[0] == "canary":
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
    Path("space.toml").write_text(TOML)
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


# -- small files that ask for much memory ----------------------------------------------------

DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 500


def npz(declared_bytes=None, header=None, **shapes):
    """An archive of rows; arrays of these shapes are declared, with nothing behind them."""
    text = header or json.dumps({"version": 1, "kind": "rows", "space": SPACE.to_dict()})
    usual = {"sources": (1, 2), "returns": (1, 4), "source_returns": (1,)}
    content, file = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        np.lib.format.write_array(file, np.array(text))
        archive.writestr("header.npy", file.getvalue())
        for name, shape in (usual | shapes).items():
            file = io.BytesIO()
            description = {"shape": shape, "fortran_order": False, "descr": "<f8"}
            np.lib.format.write_array_header_1_0(file, description)
            archive.writestr(f"{name}.npy", file.getvalue() + bytes(8 * 4))
    packed = content.getvalue()
    if declared_bytes is not None:  # in the directory of the archive, for its last entry
        place = packed.rindex(b"PK\1\2") + 24
        packed = packed[:place] + struct.pack("<I", declared_bytes) + packed[place + 4 :]
    return packed


def load_rows(path):
    shapes = {"sources": ("rows", 2), "returns": ("rows", "targets"), "source_returns": ("rows",)}
    return load_arrays(path, kind="rows", arrays=shapes)


def declared_weights(size):
    """A policy file that declares an array it does not have."""
    weight = {"dtype": "F32", "shape": [size], "data_offsets": [0, 4 * size]}
    text = json.dumps({"__metadata__": {"sdmbtl": "{}"}, "weight_0": weight}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16)


def observing(**space):
    return policy_file(observation_space=space)


RANGE = "[dimensions.{}]\nlow = 0\nhigh = 1\nlevels = {}\n"
BOX = {"type": "Box", "dtype": "float32", "low": 0.0, "high": 1.0}
BOMBS = {
    "npz that lies": (load_rows, npz(returns=(10**12, 4))),
    "npz that unpacks": (load_rows, npz(declared_bytes=2**32 - 2)),
    "npz that is deep": (load_rows, npz(header=DEEP)),
    "npz with long numbers": (load_rows, npz(header=f'{{"version": {LONG}}}')),
    "toml levels": (load_space, RANGE.format("a", 10**12)),
    "toml levels together": (load_space, "".join(RANGE.format(c, 9_000_000) for c in "abc")),
    "toml numbers": (load_space, f"[dimensions.a]\nvalues = [1, {LONG * 10}]"),
    "toml depth": (load_space, f"[dimensions.a]\nvalues = {DEEP}"),
    "toml size": (load_space, "[dimensions.a]\nvalues = [1]\n#" + " " * 5 * 2**20),
    "policy that lies": (load_policy, declared_weights(2**40)),
    "policy with a long header": (load_policy, struct.pack("<Q", 2**62) + b"{}"),
    "policy of a large box": (load_policy, observing(**BOX, shape=[30_000, 30_000])),
    "policy of an endless box": (load_policy, observing(**BOX, shape=[10**18, 10**18])),
    "policy of a discrete space": (load_policy, observing(type="Discrete", n=10**18, start=0)),
    "policy of binaries": (load_policy, observing(type="MultiBinary", n=10**12)),
}


@contextmanager
def little_memory(more=500 * 10**6):
    """Let the process have only this many bytes more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read as on Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_refused_with_little_memory(name, tmp_path):
    read, content = BOMBS[name]
    path = tmp_path / "bomb"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with little_memory(), pytest.raises(SdmbtlError, match="bomb"):
        read(path)
