"""Checkpoints: state of a training run, to continue after its process was killed."""

from __future__ import annotations

import hashlib
import io
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float
from sdmbtl.errors import LimitError, StudyError, TrainerError
from sdmbtl.files import unsafe_path_reason, write_atomically
from sdmbtl.foreign import DAMAGED, parse_json, read_npz
from sdmbtl.machine import CORE, TRAINING, versions
from sdmbtl.policies import policy_bytes

if TYPE_CHECKING:
    from sdmbtl.training.job import TrainingJob

#: The entry of a file that has the JSON data.
_DATA = "data"


class Snapshot(NamedTuple):
    """State of a training run: JSON data, and arrays of numbers by name."""

    data: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Checkpoints:
    """Directory of checkpoints, made when it is needed, and the seconds between two of a run.

    Raises:
        StudyError: If something else than files is in the place of checkpoints.
    """

    folder: Path
    seconds: float = 60.0

    def __post_init__(self) -> None:
        check_float("checkpoint_seconds", self.seconds, low=0.0, error=TrainerError)
        for path in [self.folder / "any", *self.folder.glob("*.npz")]:
            found = unsafe_path_reason(path, self.folder.parent)
            if found is not None:  # such as a pipe, which would be waited for
                raise StudyError(
                    f"Cannot use {str(self.folder)!r}: {found}. Move it away, then: sdmbtl resume "
                    f"{self.folder.parent}"
                )

    def of(self, specification: Mapping[str, Any], jobs: Sequence[TrainingJob]) -> Checkpoint:
        """The checkpoint of jobs that are trained together, named by what decides the outcome."""
        identity = hashlib.sha256()
        decisive = {"specification": specification, "versions": versions((*CORE, *TRAINING))}
        identity.update(json.dumps(decisive, sort_keys=True).encode())
        for job in jobs:
            identity.update(
                json.dumps([job.seed, job.attempt, job.steps, job.sees_context]).encode()
            )
            identity.update(job.contexts.tobytes())
            identity.update(b"" if job.parent is None else policy_bytes(job.parent))
        return Checkpoint(self.folder / f"{identity.hexdigest()[:32]}.npz", self.seconds)

    def clear(self) -> None:
        """Delete all checkpoints, when what they were for is recorded."""
        for path in self.folder.glob("*.npz"):
            path.unlink(missing_ok=True)
        for leftover in self.folder.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)


class Checkpoint:
    """The file from which a training run continues, written when `seconds` have passed."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self._seconds = seconds
        self._due = time.monotonic() + seconds

    def load(self) -> Snapshot | None:
        """Return the state of the run; None if there is no file, or one that cannot be read."""
        try:
            arrays = read_npz(self.path)
            return Snapshot(parse_json(arrays.pop(_DATA).tobytes().decode()), arrays)
        except DAMAGED:
            return None  # the run starts over, as it would without checkpoints
        except LimitError as error:
            warnings.warn(f"The run starts over, without its checkpoint: {error}", stacklevel=2)
            return None

    def delete(self) -> None:
        """Delete it, when what it was for is recorded."""
        self.path.unlink(missing_ok=True)

    @contextmanager
    def kept(self, take: Callable[[], Snapshot]) -> Iterator[None]:
        """Write where the run is when that is due, and at once if it is interrupted meanwhile.

        A disk that is full does not end the run: it continues without checkpoints.
        """
        try:
            yield
        except BaseException:
            self._save(take())
            raise
        if time.monotonic() >= self._due:
            self._save(take())

    def _save(self, snapshot: Snapshot) -> None:
        packed = io.BytesIO()
        data = np.frombuffer(json.dumps(snapshot.data).encode(), dtype=np.uint8)
        np.savez(packed, allow_pickle=False, **{_DATA: data, **snapshot.arrays})
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, packed.getvalue())
        except OSError as error:
            self._due = float("inf")
            warnings.warn(
                f"Cannot write the checkpoint {str(self.path)!r} ({error.strerror}). Training "
                "continues; if it is interrupted, this policy starts over.",
                stacklevel=2,
            )
            return
        self._due = time.monotonic() + self._seconds
