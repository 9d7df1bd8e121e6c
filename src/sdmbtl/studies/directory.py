"""What is in the directory of a study, before it is opened."""

from __future__ import annotations

from pathlib import Path

from sdmbtl.errors import StudyError


def check_there(path: Path) -> Path:
    """The path; refuses one where there is not a study.

    Raises:
        StudyError: If there is none.
    """
    if not _has_database(path):
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
    if _has_database(path):
        return True
    if not path.exists():
        return False
    if path.is_dir():
        names = {p.name for p in path.iterdir() if not p.name.startswith(".study.")}
        if names <= {"policies", "study.lock"} and not any(path.glob("policies/*")):
            return False
    raise StudyError(
        f"{str(path)!r} exists and is not a study. Choose a new directory, or an empty one."
    )


def _has_database(path: Path) -> bool:
    return (path / "study.db").exists() or (path / "study.backup.db").exists()
