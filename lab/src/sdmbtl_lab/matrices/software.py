"""With what a matrix was made: other versions may give other numbers."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdmbtl.errors import MatrixError
from sdmbtl.files import write_atomically
from sdmbtl.fingerprint import code_fingerprint
from sdmbtl.foreign import read_json
from sdmbtl.software import TRAINING, versions

_PACKAGES = ("sdmbtl", "numpy", *TRAINING)
#: What `software` tells, in a card among other things.
_FIELDS = ("versions", "python", "machine", "code")


def software() -> dict[str, Any]:
    """Versions of this process, as JSON data."""
    found = versions(_PACKAGES)
    return {
        "versions": {name: found.get(name) for name in _PACKAGES},
        "python": found["python"],
        "machine": platform.machine(),
        "code": code_fingerprint(
            *("sdmbtl_lab.matrices.matrix_factory", "sdmbtl_lab.matrices.region_factory"),
            *("sdmbtl.training", "sdmbtl.environments"),
        ),
    }


def keep_software(path: Path) -> None:
    """Add what this process has to the file of all that worked on a matrix."""
    known = _recorded(path)
    if not known or known[-1] != software():
        write_atomically(path, (json.dumps([*known, software()], indent=1) + "\n").encode())


def take_over_software(path: Path, card: Mapping[str, Any]) -> None:
    """Begin the file of all that worked on a matrix with what the card of a data set says."""
    if path.exists():
        return
    latest = {name: card[name] for name in _FIELDS if name in card}
    known = [*card.get("earlier_software", []), latest]
    write_atomically(path, (json.dumps(known, indent=1) + "\n").encode())


def software_of(path: Path) -> dict[str, Any]:
    """What the latest process had that worked on a matrix, and the earlier ones if they differ.

    Raises:
        MatrixError: If the file is damaged.
    """
    *earlier, latest = _recorded(path) or [{"versions": {}, "python": None, "machine": None}]
    return {**latest, "earlier_software": earlier} if earlier else latest


def _recorded(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        found = read_json(path)
        return [dict(entry) for entry in found]
    except (TypeError, ValueError) as error:
        raise MatrixError(
            f"{path} is damaged ({error}). It records the versions that were used; delete it to "
            "continue without the earlier ones."
        ) from None
