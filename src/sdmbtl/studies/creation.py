"""A new study: its directory and its database."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sdmbtl.errors import StudyError
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.database import StudyDatabase
from sdmbtl.studies.directory import is_study
from sdmbtl.studies.environment import first_identity
from sdmbtl.studies.trust import new_origin

if TYPE_CHECKING:
    from sdmbtl.training import TrainerSpec


def create_study(
    path: Path, configuration: Configuration, training: TrainerSpec | None, wait: float
) -> None:
    """Make the directory of a study, unless another process was faster.

    Args:
        path: The directory.
        configuration: How the study is set up.
        training: How its policies are trained; None if that is the caller's.
        wait: Seconds to wait for another process that makes it too.

    Raises:
        StudyError: If it cannot be made there.
    """
    packages = CORE if configuration.family is None else (*CORE, *TRAINING)
    facts = {
        "configuration": asdict(configuration),
        "versions": versions(packages),
        **first_identity(training),
        **new_origin(),
    }
    try:
        (path / "policies").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudyError(
            f"Cannot make a study in {str(path)!r}: {error.strerror}. Choose another directory."
        ) from None
    database = StudyDatabase(path / "study.db", wait)
    with database.locked():
        if is_study(path):
            return
        database.create(facts)
        database.make_backup()
