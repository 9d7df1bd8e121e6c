"""Which recorded names of code may be imported: those of what this user made in this place.

A study says which function makes its environments. Whoever gets a study from elsewhere has not
chosen that function, so it is not imported before they say that they trust it. What was made here
is known by a mark in the user's own directory, which nobody else can put there: a file whose name
is a hash of the place and of the names. What is moved, copied or edited has another hash.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdmbtl.errors import SdmbtlError


def mark_as_own(place: Path, content: Any) -> None:
    """Remember that this user made something in a place.

    Where nothing can be written, nothing is remembered: trust must be said then.

    Args:
        place: The directory.
        content: What was made there, as JSON data.
    """
    marks = marks_directory()
    if marks is None:
        return
    try:
        marks.mkdir(mode=0o700, parents=True, exist_ok=True)
        (marks / _mark(place, content)).touch(mode=0o600)
    except OSError:
        pass


def is_own(place: Path, content: Any) -> bool:
    """Whether this user made exactly this in this place."""
    marks = marks_directory()
    if marks is None:
        return False
    try:
        owner = (marks / _mark(place, content)).stat(follow_symlinks=False).st_uid
    except OSError:
        return False
    # The directory may be one where others can write too.
    return not hasattr(os, "geteuid") or owner == os.geteuid()


def marks_directory() -> Path | None:
    """Where the marks are: in $XDG_STATE_HOME, or ~/.local/state; None without a home."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        state = given if given.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return state / "sdmbtl" / "made-here"


def refuse_untrusted(
    owner: str, code: Sequence[str], way_out: str, *, error: type[SdmbtlError]
) -> None:
    """Refuse to use what was not trusted; nothing happens if no code is named.

    Args:
        owner: What names the code, at the beginning of the message.
        code: What would be imported, called or written to, in words.
        way_out: How trust is said, at the end of the message.
        error: Type of the error.

    Raises:
        SdmbtlError: Of the type `error`, listing the code.
    """
    if code:
        raise error(
            f"{owner} names what would be imported, called or written to: {', '.join(code)}. "
            f"If you trust it: {way_out}"
        )


def _mark(place: Path, content: Any) -> str:
    text = json.dumps([str(place.resolve()), content], sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
