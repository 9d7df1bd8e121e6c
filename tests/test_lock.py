"""Locks: waited for, held by one, and nothing but a lock is ever opened."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from sdmbtl.errors import StudyError
from sdmbtl.lock import exclusive


def lock(path, **options):
    return exclusive(path, doing="counting", error=StudyError, **options)


def test_a_lock_that_is_held_is_refused_with_who_holds_it(tmp_path):
    with lock(tmp_path / "a.lock"):
        with (
            pytest.raises(
                StudyError, match=rf"\(number {os.getpid()} on .*\) is counting in .*Wait until"
            ),
            lock(tmp_path / "a.lock"),
        ):
            pass
        with (
            pytest.raises(StudyError, match="did not end within 0.01 s"),
            lock(tmp_path / "a.lock", wait=0.01),
        ):
            pass
    with lock(tmp_path / "a.lock"):
        pass


FORKING = """
import os, sys, time
from pathlib import Path
from sdmbtl.lock import exclusive
with exclusive(Path(sys.argv[1]), doing="counting"):
    child = os.fork()
    if not child:
        os.close(1)
        os.close(2)
        time.sleep(600)
    print(child, flush=True)
    os._exit(0)
"""


def test_a_forked_child_does_not_hold_the_lock_of_its_parent(tmp_path):
    place = str(tmp_path / "a.lock")
    forked = subprocess.run([sys.executable, "-c", FORKING, place], capture_output=True)
    child = int(forked.stdout)
    try:
        with lock(tmp_path / "a.lock"):
            os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_who_waits_gets_it(tmp_path):
    held, order = threading.Event(), []

    def hold():
        with lock(tmp_path / "a.lock"):
            held.set()
            order.append("first")
            threading.Event().wait(0.05)
            order.append("first done")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with lock(tmp_path / "a.lock", wait=600.0):
        order.append("second")
    thread.join()
    assert order == ["first", "first done", "second"]


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe", "directory"])
def test_nothing_but_a_lock_is_opened(kind, tmp_path):
    treasure, place = tmp_path / "treasure", tmp_path / "a.lock"
    treasure.write_text("gold")
    if kind == "link":
        place.symlink_to(treasure)
    elif kind == "dangling link":
        place.symlink_to(tmp_path / "new")
    elif kind == "hard link":
        place.hardlink_to(treasure)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    with pytest.raises(StudyError, match=r"Cannot lock .*a\.lock is .*Move it away"), lock(place):
        pass
    assert treasure.read_text() == "gold"
    assert not (tmp_path / "new").exists()


def test_errors_of_the_system_are_ours(tmp_path):
    with pytest.raises(StudyError, match="Cannot write to .*No such file.*Nothing was changed"):
        lock(tmp_path / "nowhere" / "a.lock").__enter__()


def test_a_full_disk_does_not_keep_one_from_locking(tmp_path, monkeypatch):
    """Who holds it is not noted, that is all."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with (
        lock(tmp_path / "a.lock"),
        pytest.raises(StudyError, match="number unknown"),
        lock(tmp_path / "a.lock"),
    ):
        pass
