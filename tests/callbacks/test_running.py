"""Real runs: on a terminal, and as lines."""

import fcntl
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from types import SimpleNamespace

import pytest
from small_study import open_small

from sdmbtl.callbacks import displays
from sdmbtl.errors import StudyError

GRAVITIES = """
[dimensions.gravity]
values = [5, 10, 15]
"""

#: Trains for some seconds without anything to compile.
PENDULUM = [
    *(sys.executable, "-m", "sdmbtl", "run", "Pendulum", "--space", "gravities.toml"),
    *("--trainer", "sb3", "--set", "num_envs=2", "--set", "num_steps=64"),
    *("--set", "eval_every=100000", "--episodes", "1", "--budget", "1"),
    *("--selector", "m/gp-mbtl"),
]

TRAINING = re.compile(r"[\d,]+/5,120")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gravities.toml").write_text(GRAVITIES)
    return tmp_path


def run_on_terminal(command, folder):
    """What a command writes on a terminal of 80 columns, in the pieces in which it comes."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    variables = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**variables, "TERM": "xterm"},
        stdin=its,
        stdout=its,
        stderr=its,
        close_fds=True,
    )
    os.close(its)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # nobody has it open any more
            break
        pieces.append(piece.decode(errors="replace"))
    os.close(ours)
    assert process.wait() == 0, "".join(pieces)
    return pieces


@pytest.mark.slow
def test_a_terminal_is_drawn_all_the_time(folder):
    pieces = run_on_terminal([*PENDULUM, "--steps", "5120"], folder)
    text = "".join(piece for piece in pieces if " elapsed" in piece)
    assert len(set(TRAINING.findall(text))) >= 3
    assert re.search(r"/5,120  return -[\d.]+", text)
    assert re.search(r"[\d,]+ steps/s", text)
    everything = "".join(pieces)
    assert len(re.findall(r"  0  gravity=10 .* %", everything)) == 1, "nothing is printed twice"


def test_logging_has_a_line_for_each_policy(tmp_path, caplog, capsys):
    caplog.set_level(logging.INFO, logger="sdmbtl")
    open_small(tmp_path / "study").run(budget=2)
    records = [r for r in caplog.records if "does no better" not in r.message]
    assert {(r.name, r.levelname) for r in records} == {("sdmbtl", "INFO")}
    assert [r.message.split()[0] for r in records] == ["#", "0", "1"]
    assert capsys.readouterr() == ("", ""), "what is logged is not shown a second time"


def test_logging_says_where_an_interrupted_training_run_continues(tmp_path, caplog):
    def interrupt(event):
        if event.stage == "training" and event.trial.id == 1:
            raise KeyboardInterrupt

    study = open_small(tmp_path / "study")
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=2, callbacks=[interrupt])
    caplog.set_level(logging.INFO, logger="sdmbtl")
    study.run(budget=2)
    assert "continues policy 1 at 2,048 of 4,096 steps" in caplog.records[1].message


def test_logging_has_a_line_now_and_then(tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="sdmbtl")
    monkeypatch.setattr(displays, "LOG_EVERY", 0.01)

    def wait(event):
        if event.stage == "training":
            time.sleep(0.05)

    open_small(tmp_path / "study").run(budget=1, callbacks=[wait])
    assert any("/4,096 " in record.message for record in caplog.records)


def test_without_a_terminal_a_notebook_shows_lines_or_whoever_is_told_to(
    tmp_path, capsys, monkeypatch
):
    study = open_small(tmp_path / "study")
    study.run(budget=1)
    assert capsys.readouterr() == ("", "")
    study.run(budget=2, progress=True)
    assert capsys.readouterr().err.splitlines()[1].startswith("  1  length=")
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    study.run(budget=3)
    assert capsys.readouterr().err.splitlines()[1].startswith("  2  length=")
    study.run(budget=4, progress=False)
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_shown(study):
    with pytest.raises(StudyError, match="'progress'"):
        study.run(budget=3, progress="bar")
