"""Files that are written completely or not at all, and what killed writers leave."""

import os
from pathlib import Path

import pytest

from sdmbtl.files import (
    find_leftovers,
    free_name,
    network_file_system,
    replaced_atomically,
    temporary_name,
    unsafe_path_reason,
    write_atomically,
)

DAY = 24 * 3600


def left(folder, name, age=0.0):
    path = folder / name
    path.write_text("half")
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    return path


def test_temporary_files_of_others_are_left_alone_for_a_day(tmp_path):
    """Their process may live in another container, or on another machine."""
    unused = temporary_name(tmp_path / "a.txt").name
    fresh = left(tmp_path, unused)
    old = left(tmp_path, temporary_name(tmp_path / "a.txt").name, age=DAY + 60)
    mine = left(tmp_path, ".mine.tmp", age=DAY + 60)
    write_atomically(tmp_path / "a.txt", b"content")
    assert find_leftovers(tmp_path) == [old]
    assert fresh.exists()
    assert mine.exists()


def test_two_writers_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "a.txt"
    with replaced_atomically(path) as one, replaced_atomically(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


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


def test_unsafe_paths(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "away").symlink_to(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")
    expected = {
        **dict.fromkeys(("file", "none", "none/a", "folder/a")),
        **{name: f"{name} is not a regular file" for name in ("link", "pipe", "folder")},
        "away/a": "away is not a directory of its own",
    }
    assert {p: unsafe_path_reason(tmp_path / p, tmp_path) for p in expected} == expected
    assert unsafe_path_reason(tmp_path / "away" / "a", tmp_path / "away") is None, (
        "the root is free"
    )


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
