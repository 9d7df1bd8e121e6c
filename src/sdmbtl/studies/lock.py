"""One process at a time works on a study."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from sdmbtl import lock
from sdmbtl.errors import StudyError


def exclusive(path: Path) -> AbstractContextManager[None]:
    """Hold the lock of a study; see `sdmbtl.lock.exclusive`.

    Raises:
        StudyError: If another process holds it.
    """
    return lock.exclusive(
        path,
        doing="working on the study",
        meanwhile=f"; 'sdmbtl status {path.parent}' may be used meanwhile",
        error=StudyError,
    )
