"""What is in the directory of a study."""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import Literal

from sdmbtl.errors import StudyError
from sdmbtl.files import network_file_system, obstacle
from sdmbtl.foreign import MAX_BYTES

FileState = Literal["intact", "missing", "damaged"]


def check_there(path: Path) -> Path:
    """The path; refuses one where there is not a study.

    Raises:
        StudyError: If there is none.
    """
    if not has_database(path):
        raise StudyError(
            f"There is not a study in {str(path)!r}. Make one with an environment: "
            f"sdmbtl run CartPole --out {path}, or Study.open(path, 'CartPole'); or for "
            f"training of your own: sdmbtl ask {path} --space FILE.toml."
        )
    return path


def is_study(path: Path) -> bool:
    """Whether there is one; refuses a path where there is anything else.

    A study whose creation was killed may have left files without a database: that is nothing.

    Raises:
        StudyError: If there is something else.
    """
    if has_database(path):
        return True
    if not path.exists():
        return False
    if path.is_dir():
        names = {p.name for p in path.iterdir() if not p.name.startswith(".study.")}
        ours = {"policies", "study.lock", "study.run.lock"}
        if names <= ours and not any(path.glob("policies/*")):
            return False
    raise StudyError(
        f"{str(path)!r} exists and is not a study. Choose a new directory, or an empty one."
    )


def file_state(path: Path, root: Path, sha256: str | None) -> FileState:
    """What became of a file of a study; nothing but a file in its own place is opened.

    Args:
        path: The file.
        root: The directory of the study.
        sha256: The checksum on record.
    """
    if obstacle(path, root) is not None:
        return "damaged"
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found > MAX_BYTES:
                return "damaged"
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return "missing"
    except OSError:  # the disk fails, or it is not ours to read
        return "damaged"
    return "intact" if digest == sha256 else "damaged"


def has_database(path: Path) -> bool:
    """Whether there is the database of a study, or its backup."""
    return any(os.path.lexists(path / name) for name in ("study.db", "study.backup.db"))


def warn_of_network(path: Path) -> None:
    """Warn of a study on a network file system, where locks may not keep processes apart."""
    kind = network_file_system(path)
    if kind is not None:
        warnings.warn(
            f"The study in {str(path)!r} is on a network file system ({kind}), where the locks "
            "of its database may not keep processes apart. One process at a time is safe. For "
            "several, put the study on a local disk, or check that the file system has locks.",
            stacklevel=3,
        )
