"""Trust in the code that a study names: it is imported if the study was made here, or is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdmbtl.errors import StudyError
from sdmbtl.trust import is_own, mark_as_own, refuse_untrusted

if TYPE_CHECKING:
    from sdmbtl.studies.configuration import Configuration

#: Under this name a study keeps a random text: no other study, equal in all else, has the same.
ORIGIN = "origin"


def named_code(configuration: Configuration) -> list[str]:
    """List what training and evaluating in a study would import, call or write to."""
    if configuration.family is None:
        return []
    from sdmbtl.environments.named_code import code_of_family

    return code_of_family(configuration.family)


class StudyTrust:
    """Decides whether the code that a study names may be imported.

    Args:
        path: Directory of the study.
        configuration: Its configuration.
        facts: What its database has on record.
        given: Whether the user named all of the code just now, or says that it is trusted.
    """

    def __init__(
        self, path: Path, configuration: Configuration, facts: Mapping[str, Any], *, given: bool
    ) -> None:
        self.path = path
        self._configuration = configuration
        self._identity = [facts.get(ORIGIN), asdict(configuration)]
        self._given = given

    def remember(self) -> None:
        """Mark the study as one that this user made, if it names code at all."""
        if named_code(self._configuration):
            mark_as_own(self.path, self._identity)

    @property
    def holds(self) -> bool:
        """True if nothing is named, or it is trusted."""
        return self._given or is_own(self.path, self._identity) or not self.code

    @property
    def code(self) -> list[str]:
        """Descriptions of what would be imported, called or written to."""
        return named_code(self._configuration)

    def check(self) -> None:
        """Refuse what is not trusted.

        Raises:
            StudyError: If the study names code, was not made here and is not trusted.
        """
        if not self.holds:
            refuse_untrusted(
                f"The study in {str(self.path)!r} was not made here by you, or was moved or copied "
                "since. It",
                self.code,
                "--trust, or Study.open(path, trust=True).",
                error=StudyError,
            )
