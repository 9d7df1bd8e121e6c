"""One process at a time works in a directory."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from sdmbtl.errors import SdmbtlError
from sdmbtl.files import is_alive, obstacle

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none: nothing keeps two processes apart there
    fcntl = None  # type: ignore[assignment]

#: Seconds between two looks at a lock that is taken: at first, and after a long wait.
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.005


@contextmanager
def exclusive(
    path: Path,
    *,
    doing: str,
    meanwhile: str = "",
    error: type[SdmbtlError] = SdmbtlError,
    busy: type[SdmbtlError] | None = None,
    wait: float = 0.0,
) -> Iterator[None]:
    """Hold the lock of a directory; the system lets it go when the process ends, however it ends.

    Args:
        path: The lock file, in the directory that it is for.
        doing: What the process does that holds it, for the message of the others.
        meanwhile: What the others can do until it ends, at the end of that message.
        error: Type of the errors.
        busy: Type of the error if another process holds it; `error` if left out.
        wait: Seconds to wait for it.

    Raises:
        SdmbtlError: Of the type `busy`, if another process holds it; of the type `error`, if it
            cannot be written, or something else is in its place.
    """
    try:
        descriptor = _open(path)
    except OSError as failure:
        raise error(
            f"Cannot write to {str(path.parent)!r}: {failure.strerror}. Nothing was changed. Make "
            "room, or give access, then do the same again."
        ) from None
    except ValueError as failure:
        raise error(
            f"Cannot lock {str(path.parent)!r}: {failure}. It was neither read nor written. Move "
            "it away, then try again."
        ) from None
    try:
        if fcntl is not None:
            try:
                is_ours = _acquire(descriptor, wait)
            except OSError as failure:
                raise error(f"Cannot lock {str(path.parent)!r}: {failure.strerror}.") from None
            if not is_ours:
                waited = f" It did not end within {wait:g} s." if wait else ""
                raise (busy or error)(
                    f"Another process ({_holder(descriptor)}) is {doing} in "
                    f"{str(path.parent)!r}.{waited} Wait until it ends, or stop it{meanwhile}."
                )
            with suppress(OSError):  # who holds it is a courtesy: a full disk may do without
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a lock file, and nothing else: it is written to.

    Raises:
        ValueError: If something else is in its place.
    """
    found = obstacle(path, path.parent)
    if found is not None:
        raise ValueError(found)
    # What comes into its place at this very moment is not followed or waited for, either.
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | careful, 0o644)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_nlink <= 1:
        return descriptor
    os.close(descriptor)
    raise ValueError(f"{path.name} is another name of a file, not one of its own")


def _acquire(descriptor: int, wait: float) -> bool:
    """Try to lock until the time is over; returns whether it is ours.

    Who has waited longest looks most often, so that nobody is passed over for long.
    """
    end, pause, rng = time.monotonic() + wait, _FIRST_PAUSE, np.random.default_rng()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, pause * rng.uniform(0.5, 1.0)))
            pause = max(0.95 * pause, _LAST_PAUSE)
        else:
            return True


def _read_holder(descriptor: int) -> tuple[int | None, str]:
    """Number and host of the process that locked last, as far as it said so."""
    number, _, host = os.pread(descriptor, 300, 0).decode(errors="replace").partition(" ")
    return int(number) if number.isascii() and number.isdigit() else None, host


def _holder(descriptor: int) -> str:
    """Who holds a lock, in words."""
    number, host = _read_holder(descriptor)
    where = f" on {host}" if host not in ("", socket.gethostname()) else ""
    return f"number {'unknown' if number is None else number}{where}"


def find_holder(path: Path) -> int | None:
    """Number of the process that holds the lock of a directory; None if none does, or none can.

    A look that keeps nobody waiting: the lock is tried only while the process that held it last may
    be alive.

    Args:
        path: The lock file.
    """
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, os.O_RDONLY | careful)
    except OSError:
        return None
    number = None
    try:
        number, host = _read_holder(descriptor)
        may_live = number is not None and (host != socket.gethostname() or is_alive(number))
        if fcntl is None or not may_live:
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return number
    except OSError:  # a file system without locks, or no file at all
        return None
    finally:
        os.close(descriptor)
    return None
