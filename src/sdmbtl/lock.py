"""One process at a time works in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sdmbtl.errors import SdmbtlError

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none: nothing keeps two processes apart there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def exclusive(
    path: Path, *, doing: str, meanwhile: str = "", error: type[SdmbtlError] = SdmbtlError
) -> Iterator[None]:
    """Hold the lock of a directory; the system lets it go when the process ends, however it ends.

    Args:
        path: The lock file, in the directory that it is for.
        doing: What the process does that holds it, for the message of the others.
        meanwhile: What the others can do until it ends, at the end of that message.
        error: Type of the errors.

    Raises:
        SdmbtlError: Of the type `error`, if another process holds it, or it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as failure:
        raise error(f"Cannot write to {str(path.parent)!r}: {failure.strerror}.") from None
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
                raise error(
                    f"Another process (number {holder}) is {doing} in {str(path.parent)!r}. "
                    f"Wait until it ends, or stop it{meanwhile}."
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def find_holder(path: Path) -> int | None:
    """Number of the process that holds the lock of a directory; None if none does, or none can.

    A look that keeps nobody waiting: the lock is tried only while the process that held it last is
    alive.

    Args:
        path: The lock file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
        is_number = text.isascii() and text.isdigit()
        if not (fcntl is not None and is_number and _is_alive(int(text))):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(text)
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)
    return None


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except PermissionError:  # of another user
        return True
    except (OSError, OverflowError):
        return False
    return True
