"""One process at a time works on a study."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sdmbtl.errors import StudyError

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none: there nobody watches over two processes
    fcntl = None  # type: ignore[assignment]


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of a study; the system lets it go when the process ends, however it ends.

    Raises:
        StudyError: If another process holds it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StudyError(f"Cannot write to {str(path.parent)!r}: {error.strerror}.") from None
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
                raise StudyError(
                    f"Another process (number {holder}) is working on the study in "
                    f"{str(path.parent)!r}. Wait until it ends, or stop it; "
                    f"'sdmbtl status {path.parent}' may be used meanwhile."
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)
