"""Odd surroundings: disks that refuse, clocks that jump, environments that talk, poor terminals."""

import errno
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from sdmbtl import ContextSpace, files
from sdmbtl.cli.output import prints_as_notes
from sdmbtl.errors import StudyError, error_text
from sdmbtl.plots import portfolio_figure, save_axes
from sdmbtl.studies import Study, store
from sdmbtl.studies.doctor import examine

SPACE = ContextSpace(x=[0.0, 1.0, 2.0])


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINVAL])
def test_a_disk_that_cannot_flush(number, tmp_path, monkeypatch, caplog):
    made = Study.open(tmp_path / "made", space=SPACE)

    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "fsync", refuse)
    if number == errno.EINVAL:  # there are file systems that cannot flush a directory
        assert Study.open(tmp_path / "new", space=SPACE).n_finished == 0
    else:
        with pytest.raises(StudyError, match="Cannot write"):
            Study.open(tmp_path / "new", space=SPACE)
    made.tell(made.ask(), [1.0, 2.0, 3.0])  # only the copy of it cannot be made
    assert "Everything is recorded" in caplog.text
    assert "not recorded" not in caplog.text
    monkeypatch.undo()
    assert Study.open(made.path).n_finished == 1
    assert examine(made.path).healthy


def test_a_clock_that_was_set_back_does_not_stop_copies(tmp_path, monkeypatch):
    study = Study.open(tmp_path / "study", space=SPACE)
    study.ask()
    monkeypatch.setattr(store, "BACKUP_SIZE", 0)
    os.utime(study.store.backup_path, (time.time() + 1e6,) * 2)
    study.tell(0, [1.0, 2.0, 3.0])
    assert Study(tmp_path, store.StudyStore(study.store.backup_path)).n_finished == 1


class SpeechlessError(Exception):
    def __str__(self):
        raise KeyError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("wheel"), "ValueError: wheel"),
        (SpeechlessError(), "SpeechlessError: (no message: KeyError)"),
        (ValueError("y" * 10**6), f"ValueError: {'y' * 1000} ... {'y' * 1000}"),
    ],
)
def test_any_error_becomes_a_short_text(error, text):
    assert error_text(error) == text


def test_what_environments_print_is_not_the_result(capfd):
    with prints_as_notes():
        print("noise")
        os.write(1, b"raw noise\n")
        subprocess.run([sys.executable, "-c", "print('noise of a worker')"], check=True)
    print("result")
    out, err = capfd.readouterr()
    assert out == "result\n"
    for line in ("noise", "raw noise", "noise of a worker"):
        assert line in err.splitlines()


def test_a_terminal_without_our_characters(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    study.tell(study.ask(), [1.0, 2.0, 3.0])
    done = subprocess.run(
        [sys.executable, "-m", "sdmbtl", "status", str(study.path)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "mean best return 2" in done.stdout


def test_names_are_not_formulas(tmp_path):
    space = ContextSpace(**{r"$\frac{": [0.0, 1.0], "$$": [0.0, 1.0]})
    study = Study.open(tmp_path / "study", space=space)
    study.tell(study.ask(), np.arange(4.0))
    save_axes(study.plot.map(), tmp_path / "map.png")
    save_axes(portfolio_figure(study.portfolio()).axes[0], tmp_path / "portfolio.png")
