"""Files that are written completely or not at all, and what killed writers leave."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sdmbtl.files import (
    PreparedFile,
    free_name,
    network_file_system,
    obstacle,
    replaced_atomically,
    write_atomically,
)

DAY = 24 * 3600


def dead_process():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left_by(folder, host, process, age=0.0):
    path = folder / f".a.txt.sdmbtl-{host}-{process}.tmp"
    path.write_text("half")
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    return path


def test_the_next_writer_deletes_what_dead_ones_left(tmp_path):
    here = socket.gethostname()
    dead = left_by(tmp_path, here, dead_process())
    journal = dead.with_name(f"{dead.name}-journal")
    journal.write_text("half")
    alive = left_by(tmp_path, here, os.getppid())
    elsewhere = left_by(tmp_path, "elsewhere", 17)
    old = left_by(tmp_path, "elsewhere", 18, age=DAY + 60)
    mine = tmp_path / ".mine.tmp"
    mine.write_text("mine")
    write_atomically(tmp_path / "b.txt", b"content")
    assert (tmp_path / "b.txt").read_bytes() == b"content"
    assert [p.exists() for p in (dead, journal, old)] == [False] * 3
    assert [p.exists() for p in (alive, elsewhere, mine)] == [True] * 3


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(tmp_path):
    treasure = tmp_path / "treasure"
    treasure.write_text("gold")
    (tmp_path / "a.txt").symlink_to(treasure)
    write_atomically(tmp_path / "a.txt", b"content")
    assert treasure.read_text() == "gold"
    assert not (tmp_path / "a.txt").is_symlink()


def half_written(path):
    path.write_text("half")
    raise OSError("full")


def test_nothing_is_left_of_a_write_that_fails(tmp_path):
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(OSError, match="full"), replaced_atomically(tmp_path / "a.txt") as temporary:
        half_written(temporary)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_obstacles(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "away").symlink_to(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")
    found = {p: obstacle(tmp_path / p, tmp_path) for p in ("file", "none", "none/a", "folder/a")}
    assert set(found.values()) == {None}
    assert obstacle(tmp_path / "link", tmp_path) == "link is a link, not a file"
    assert obstacle(tmp_path / "pipe", tmp_path) == "pipe is a pipe, not a file"
    assert obstacle(tmp_path / "folder", tmp_path) == "folder is a directory, not a file"
    assert obstacle(tmp_path / "away" / "a", tmp_path) == "away is a link, not a directory"
    assert obstacle(tmp_path / "away" / "a", tmp_path / "away") is None, "where one begins is free"


def test_free_names(tmp_path):
    assert free_name(tmp_path / "a").name == "a"
    (tmp_path / "a").symlink_to(tmp_path / "nowhere")
    assert free_name(tmp_path / "a").name == "a.2"


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:30 / /home rw - nfs4 server:/home rw
24 23 0:31 / /home/me/local rw - xfs /dev/sdb rw
25 22 0:32 / /big\\040disk rw - lustre server:/big rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/study", None),
        ("/home/me/study", "nfs4"),
        ("/home/me/local/study", None),
        ("/big disk/study", "lustre"),
        ("/homely/study", None),
    ],
)
def test_network_file_systems_are_told_by_the_mount_table(tmp_path, path, kind):
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    assert network_file_system(Path(path), table) == kind
    assert network_file_system(Path(path), tmp_path / "none") is None


def test_a_prepared_file_is_put_in_its_place_or_dropped(tmp_path):
    place = tmp_path / "file"
    kept = PreparedFile(place, b"new")
    assert not place.exists()
    kept.put()
    kept.drop()
    assert place.read_bytes() == b"new"
    PreparedFile(place, b"other").drop()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
