"""The directory of a study: found, or made."""

from __future__ import annotations

import os
import secrets
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdmbtl.errors import StudyError
from sdmbtl.files import network_file_system
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.studies.environment import first_identity
from sdmbtl.studies.store import StudyStore, missing_study
from sdmbtl.trust import ORIGIN

if TYPE_CHECKING:
    from sdmbtl.studies.configuration import Configuration
    from sdmbtl.training import TrainerSpec


def has_database(path: Path) -> bool:
    """Tell whether there is the database of a study, or its backup."""
    return any(os.path.lexists(path / name) for name in ("study.db", "study.backup.db"))


def open_store(path: Path, wait: float) -> StudyStore:
    """Open the store of the study in a directory.

    Raises:
        StudyError: If there is none.
    """
    if not has_database(path):
        raise missing_study(path)
    return StudyStore(path / "study.db", wait)


def open_or_create_store(
    path: Path, wait: float, configuration: Configuration, training: TrainerSpec | None
) -> StudyStore:
    """Open the store of the study in a directory, or make it.

    Args:
        path: The directory.
        wait: Seconds to wait for another process that writes.
        configuration: How a new study is set up.
        training: How its policies are trained; None if that is the caller's.

    Raises:
        StudyError: If it cannot be made there.
    """
    if not has_database(path):
        _make_directory(path)

    def facts() -> dict[str, Any]:
        packages = CORE if configuration.family is None else (*CORE, *TRAINING)
        return {
            "configuration": asdict(configuration),
            "versions": versions(packages),
            **first_identity(training),
            ORIGIN: secrets.token_hex(16),
        }

    return StudyStore(path / "study.db", wait, facts)


def _make_directory(path: Path) -> None:
    """Make the directory, unless something else is there.

    A study whose creation was killed may have left files without a database: that is nothing.
    """
    if path.exists() and not (
        path.is_dir()
        and {p.name for p in path.iterdir() if not p.name.startswith(".study.")} <= {"policies"}
        and not list(path.glob("policies/*"))
    ):
        raise StudyError(
            f"{str(path)!r} exists and is not a study. Choose a new directory, or an empty one."
        )
    try:
        (path / "policies").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudyError(
            f"Cannot make a study in {str(path)!r}: {error.strerror}. Choose another directory."
        ) from None


def warn_of_network(path: Path) -> None:
    """Warn of a study on a network file system, where locks may not keep processes apart."""
    kind = network_file_system(path)
    if kind is not None:
        warnings.warn(
            f"The study in {str(path)!r} is on a network file system ({kind}). One process may use "
            "it safely. Several need a file system whose locks work on all machines.",
            stacklevel=3,
        )
