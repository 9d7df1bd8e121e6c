"""The policy files of a study: written completely or not at all, known by their SHA-256."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sdmbtl.errors import StudyError
from sdmbtl.files import unsafe_path_reason, write_atomically
from sdmbtl.foreign import MAX_BYTES, read_bytes
from sdmbtl.policies import Policy, policy_bytes
from sdmbtl.policies.base import policy_from_bytes
from sdmbtl.selectors import Trial
from sdmbtl.studies.store import cannot_write

if TYPE_CHECKING:
    from sdmbtl.studies.extension import SpaceChange

FileState = Literal["intact", "missing", "damaged"]


class PolicyFiles:
    """The policies of a study on disk, below its directory `root`.

    Attributes:
        changes: By SHA-256 of their files: how policies of an earlier space see the present one.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes: Mapping[str, SpaceChange] = {}

    def path(self, number: int) -> Path:
        """Return the file of the policy with this id."""
        return self.root / "policies" / f"{number:04d}.safetensors"

    def load(self, number: int) -> Policy:
        """Read a policy, adapted to the space of the study."""
        return policy_from_bytes(self.content(number), str(self.path(number)))

    def content(self, number: int) -> bytes:
        """Return a policy as the content of a file, adapted to the space of the study."""
        path = self.path(number)
        try:
            content = read_bytes(path)
        except OSError as error:
            raise StudyError(
                f"Policy {number} cannot be read: {path}: {error.strerror}. Bring it back, or "
                f"withdraw it: sdmbtl tell {self.root} --id {number} --forget"
            ) from None
        change = self.changes.get(hashlib.sha256(content).hexdigest())
        if change is None:
            return content
        return policy_bytes(change.policy(policy_from_bytes(content, str(path))))

    def write(self, number: int, content: bytes) -> str:
        """Write a policy file and return its SHA-256."""
        path = self.path(number)
        found = unsafe_path_reason(path, self.root)
        if found is not None:
            way_out = f"Move it away, or run: sdmbtl doctor {self.root} --repair"
            raise cannot_write(path, f"{found}. {way_out}", self.root)
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise cannot_write(path, error.strerror or error, self.root) from None
        return hashlib.sha256(content).hexdigest()

    def is_intact(self, trial: Trial) -> bool:
        """Tell whether the policy of a trial is here, and unchanged."""
        return self.state(trial) == "intact"

    def state(self, trial: Trial) -> FileState:
        """Compare a policy file with its SHA-256 on record; only a file in its place is opened."""
        path = self.path(trial.id)
        if unsafe_path_reason(path, self.root) is not None:
            return "damaged"
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_BYTES:
                    return "damaged"
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return "missing"
        except OSError:  # the disk fails, or it is not ours to read
            return "damaged"
        expected = None if trial.run is None else trial.run.policy_sha256
        return "intact" if digest == expected else "damaged"
