"""Files that are written completely, or not at all, and only where they belong."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Name of a file that is being written: unique, because processes of other machines and containers
#: may write to the same directory.
_TEMPORARY = re.compile(r"\..+\.sdmbtl-[0-9a-f]{16}\.tmp(-journal|-wal|-shm)?")

#: File systems that other machines write to as well.
_NETWORK_FILE_SYSTEMS = (
    *("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fuse.glusterfs"),
    *("cifs", "smb3", "fuse.sshfs", "afs", "orangefs", "panfs"),
)

#: Seconds after which a temporary file is taken for left over: whoever wrote it may run elsewhere.
_ABANDONED = 24 * 3600.0


@contextmanager
def replaced_atomically(path: Path) -> Iterator[Path]:
    """Write a file under a temporary name, then move it to its place.

    A reader sees the old file or the new one, never half; so does whoever comes after a crash.

    Yields:
        The path to write to.
    """
    temporary = temporary_name(path)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is on disk completely, or not there at all."""
    with replaced_atomically(path) as temporary, temporary.open("xb") as file:
        file.write(content)


def temporary_name(path: Path) -> Path:
    """Return an unused name in the same directory for a file that is being written."""
    return path.with_name(f".{path.name}.sdmbtl-{secrets.token_hex(8)}.tmp")


def find_leftovers(folder: Path) -> list[Path]:
    """Return the temporary files in a directory that nobody has written to for a day."""
    found = []
    for path in sorted(folder.glob(".*.tmp*")):
        with suppress(OSError):
            status = path.lstat()
            is_old = time.time() - status.st_mtime > _ABANDONED
            if stat.S_ISREG(status.st_mode) and is_old and _TEMPORARY.fullmatch(path.name):
                found.append(path)
    return found


def unsafe_path_reason(path: Path, root: Path) -> str | None:
    """Return the reason for which a path is not opened: it is a link, or not a file.

    Returns:
        Such as "study.db is not a regular file"; None for a file, or nothing.
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
            what = "regular file" if wanted == stat.S_IFREG else "directory of its own"
            return f"{place.name} is not a {what}"
    return None


def free_name(path: Path) -> Path:
    """Return the path, with a number at its end if something has that name already."""
    candidate, number = path, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def sync_directory(path: Path) -> None:
    """Flush the names in a directory to disk, where the system can do that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(descriptor)


def network_file_system(path: Path, table: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Return the kind of network file system that a path is on; None for a disk, or if unknown."""
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
