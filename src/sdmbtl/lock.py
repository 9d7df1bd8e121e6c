"""A lock file: one process at a time works in a directory."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sdmbtl.errors import SdmbtlError
from sdmbtl.files import unsafe_path_reason

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none: nothing keeps two processes apart there
    fcntl = None  # type: ignore[assignment]

#: Seconds between two attempts at a lock that is taken.
_PAUSE = 0.02

#: Descriptors of locks that this process holds. A forked child closes them: otherwise it would
#: hold the lock after its parent has ended.
_held: set[int] = set()


def _close_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


@contextmanager
def exclusive(
    path: Path, *, doing: str, error: type[SdmbtlError] = SdmbtlError, wait: float = 0.0
) -> Iterator[None]:
    """Hold the lock of a directory; the system releases it when the process ends.

    Args:
        path: The lock file, in the directory that it is for.
        doing: Activity of the holder, for the message to others.
        error: Type of the errors.
        wait: Seconds to wait for the lock.

    Raises:
        SdmbtlError: Of the type `error`, if another process holds the lock, or it cannot be made.
    """
    found = unsafe_path_reason(path, path.parent)
    if found is not None:
        raise error(f"Cannot lock {str(path.parent)!r}: {found}. Move it away, then try again.")
    try:
        # Whatever comes into its place at this very moment is not followed or waited for.
        careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | careful, 0o644)
    except OSError as failure:
        raise error(
            f"Cannot write to {str(path.parent)!r}: {failure.strerror}. Nothing was changed. Make "
            "room, or give access, then try again."
        ) from None
    _held.add(descriptor)
    owner = os.getpid()
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise error(
                f"Cannot lock {str(path.parent)!r}: {path.name} is another name of a file. Move it "
                "away, then try again."
            )
        if fcntl is not None and not _acquire(descriptor, wait):
            text = os.pread(descriptor, 300, 0).decode(errors="replace") or "unknown"
            waited = f" It did not end within {wait:g} s." if wait else ""
            raise error(
                f"Another process (number {text}) is {doing} in {str(path.parent)!r}.{waited} Wait "
                "until it ends, or stop it."
            )
        with suppress(OSError):  # the note about the holder is optional, as on a full disk
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{owner} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        if os.getpid() == owner:
            _held.discard(descriptor)
            os.close(descriptor)


def _acquire(descriptor: int, wait: float) -> bool:
    """Try to lock until the time is over; return whether it succeeded."""
    end = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True
