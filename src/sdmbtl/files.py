"""Files that are written completely, or not at all, and only where they belong."""

from __future__ import annotations

import os
import re
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: What may be in the place of a file.
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}

#: Name of a file that is being written, with the host and the number of the process that does.
_TEMPORARY = re.compile(r"\..+\.sdmbtl-(?P<host>.+)-(?P<process>\d+)\.tmp(-journal|-wal|-shm)?")

#: File systems that other machines write to as well; locks on them are not to be relied on.
_NETWORK_FILE_SYSTEMS = (
    *("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fuse.glusterfs"),
    *("cifs", "smb3", "fuse.sshfs", "afs", "orangefs", "panfs"),
)

#: Seconds after which a file that another host was writing is taken for left over.
_ABANDONED = 24 * 3600.0


@contextmanager
def replaced_atomically(path: Path) -> Iterator[Path]:
    """Write a file under another name, then put it in its place.

    A reader sees the old file or the new one, never half; so does whoever comes after a crash.
    What processes that were killed have left half written in the same directory is deleted.

    Yields:
        The path to write to.
    """
    delete_leftovers(path.parent)
    temporary = _temporary_name(path)
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


class PreparedFile:
    """A file that is on disk under another name, to be put in its place at once, or dropped.

    Args:
        path: Its place.
        content: What is in it.
    """

    def __init__(self, path: Path, content: bytes) -> None:
        delete_leftovers(path.parent)
        self._path, self._temporary = path, _temporary_name(path)
        self._temporary.unlink(missing_ok=True)
        with self._temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def put(self) -> None:
        """Put it in its place."""
        self._temporary.replace(self._path)
        sync_directory(self._path.parent)

    def drop(self) -> None:
        """Delete it, unless it is in its place."""
        self._temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is on disk completely, or not there at all."""
    with replaced_atomically(path) as temporary, temporary.open("xb") as file:
        file.write(content)


def delete_leftovers(folder: Path) -> None:
    """Delete what was being written in a directory by processes that have ended.

    Of another host it is not known which processes have: what is a day old is deleted.
    """
    with suppress(OSError), os.scandir(folder) as entries:  # to write comes first
        for entry in entries:
            if is_leftover(Path(entry.path)):
                Path(entry.path).unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Whether a file is one that was being written by a process that has ended."""
    name = _TEMPORARY.fullmatch(path.name)
    if name is None:
        return False
    try:
        status = path.lstat()
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    if time.time() - status.st_mtime > _ABANDONED:
        return True
    return name["host"] == _host() and not is_alive(int(name["process"]))


def obstacle(path: Path, root: Path) -> str | None:
    """What stands in the way of a file: links are not followed, and nothing but a file is opened.

    Args:
        path: The file.
        root: A directory above it. What this is, and what is above it, does not matter.

    Returns:
        Such as "study.db is a link, not a file"; None for a file, or nothing.
    """
    parts = path.relative_to(root).parts
    for depth in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:depth])
        wanted = stat.S_IFREG if depth == len(parts) else stat.S_IFDIR
        try:
            kind = stat.S_IFMT(place.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if kind != wanted:
            return f"{place.name} is {_KINDS.get(kind, 'a device')}, not {_KINDS[wanted]}"
    return None


def free_name(path: Path) -> Path:
    """The path, with a number at its end if something has that name already."""
    candidate, number = path, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def sync_directory(path: Path) -> None:
    """Have the names in a directory on disk, where the system can do that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def network_file_system(path: Path, table: Path = Path("/proc/self/mountinfo")) -> str | None:
    """The kind of network file system that a path is on; None for a disk, or if it is not known.

    Args:
        path: The path; it need not exist.
        table: The table of what is mounted.
    """
    try:
        lines = table.read_text().splitlines()
    except OSError:
        return None
    place, best = path.resolve(), (-1, "")
    for line in lines:
        before, _, after = line.partition(" - ")
        mounted = Path(before.split()[4].replace("\\040", " "))
        if place.is_relative_to(mounted):
            best = max(best, (len(mounted.parts), after.split()[0]))
    return best[1] if best[1] in _NETWORK_FILE_SYSTEMS else None


def _temporary_name(path: Path) -> Path:
    """What a file is called while it is written."""
    return path.with_name(f".{path.name}.sdmbtl-{_host()}-{os.getpid()}.tmp")


def _host() -> str:
    return re.sub(r"[^\w.-]", "_", socket.gethostname())


def is_alive(process: int) -> bool:
    """Whether a process of this host runs; where that cannot be asked, it is taken to."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's
        return True
    return True
