"""Trust in the code that recorded data name: it is imported only if this user made or trusts it.

A study names the function that makes its environments. Whoever gets a study from elsewhere has not
chosen that function. A study that was made here is known by a mark in the user's own directory: an
empty file whose name is a hash of the place and of the content. A study that was moved, copied or
edited has another hash.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sdmbtl.errors import SdmbtlError, StudyError

#: Under this name a study keeps a random text: no other study, equal in all else, has the same.
ORIGIN = "origin"


class StudyTrust:
    """Decides if the code that a study names may be imported.

    Args:
        path: Directory of the study.
        family: The recorded family of environments; None without one.
        identity: Data that tell the study from others: its origin and its configuration.
        given: True if the user named the code just now, or trusts it.
        selector: Recorded name of the selector; opening the study imports one of somebody's own.

    Attributes:
        code: Descriptions of what would be imported or called.
    """

    def __init__(
        self,
        path: Path,
        family: Mapping[str, Any] | None,
        identity: Any,
        *,
        given: bool,
        selector: str = "",
    ) -> None:
        self.path, self._identity, self._given = path, identity, given
        self.names_selector = ":" in selector
        self.code = [f"the selector {selector!r}"] if self.names_selector else []
        if family is not None:
            from sdmbtl.environments.registry import code_of_family

            self.code += code_of_family(family)

    @property
    def holds(self) -> bool:
        """True if nothing is named, or it is trusted."""
        if self._given or not self.code:
            return True
        try:
            owner = None if self._mark is None else self._mark.lstat().st_uid
        except OSError:
            return False
        # Others may be able to write to the directory, too.
        return owner is not None and owner == getattr(os, "geteuid", lambda: owner)()

    @property
    def _mark(self) -> Path | None:
        """The file that marks the study; None without a home directory."""
        given = Path(os.environ.get("XDG_STATE_HOME", ""))
        try:
            state = given if given.is_absolute() else Path.home() / ".local" / "state"
        except RuntimeError:
            return None
        text = json.dumps([str(self.path.resolve()), self._identity], sort_keys=True)
        name = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
        return state / "sdmbtl" / "made-here" / name

    def remember(self) -> None:
        """Mark the study as one that this user made, if it names code and marks can be written."""
        mark = self._mark if self.code else None
        if mark is not None:
            with suppress(OSError):  # without a mark, trust must be given each time
                mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                mark.touch(mode=0o600)

    def check(self) -> None:
        """Refuse code that is not trusted."""
        if not self.holds:
            refuse_untrusted(
                f"The study in {str(self.path)!r} was not made here by you, or was moved or copied "
                "since. It",
                self.code,
                "--trust, or Study.open(path, trust=True).",
                error=StudyError,
            )


def refuse_untrusted(
    owner: str, code: Sequence[str], way_out: str, *, error: type[SdmbtlError]
) -> None:
    """Refuse data that name code; nothing happens if none is named."""
    if code:
        raise error(
            f"{owner} names code that would be imported or called: {', '.join(code)}. "
            f"If you trust it: {way_out}"
        )
