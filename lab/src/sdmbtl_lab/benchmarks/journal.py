"""Results written down one by one, so that an interrupted benchmark continues where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from operator import methodcaller
from pathlib import Path
from typing import Any, Protocol

from sdmbtl.errors import BenchmarkError, LimitError
from sdmbtl.foreign import MAX_TEXT, parse_json, read_bytes
from sdmbtl_lab.computing import compute_all

Key = tuple[str, ...]
Record = dict[str, Any]

#: Called with the number of finished and of all pieces of work, and what was finished.
Progress = Callable[[int, int, str], None]


class Work(Protocol):
    """A piece of work: it makes records for the journal."""

    @property
    def label(self) -> str:
        """What to show for it."""

    def keys(self) -> Iterable[Key]:
        """Keys of the records it makes."""

    def compute(self) -> list[tuple[Key, Record]]:
        """Make the records."""


class Journal:
    """An append-only file of keyed records, one JSON object a line.

    A torn last line (the process was killed while writing) is dropped. Records that were made
    with other settings or another version of the code are not used.

    Args:
        path: The file; made if missing. None keeps the records in memory only.
        heading: Settings and code that the records depend on, as JSON data.

    Raises:
        BenchmarkError: If the file cannot be written.
    """

    def __init__(self, path: Path | None, heading: Record) -> None:
        self.path = path
        self.heading = heading
        #: What to tell the user about the file that was found, if anything.
        self.note = ""
        self._records: dict[Key, Record] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._read(path):
                path.write_text(json.dumps(self.heading) + "\n")
        except OSError as error:
            raise BenchmarkError(
                f"Cannot write to {str(path.parent)!r}: {error.strerror}. Choose another folder."
            ) from None

    def __contains__(self, key: Key) -> bool:
        return key in self._records

    def __getitem__(self, key: Key) -> Record:
        return self._records[key]

    def __len__(self) -> int:
        return len(self._records)

    def complete(
        self, units: Iterable[Work], *, jobs: int = 1, progress: Progress | None = None
    ) -> None:
        """Do all work whose records are missing.

        Args:
            units: All the work.
            jobs: Number of processes.
            progress: Called after each piece of work.
        """
        every = list(units)
        todo = [unit for unit in every if not all(key in self for key in unit.keys())]  # noqa: SIM118
        done = len(every) - len(todo)
        if progress:
            progress(done, len(every), "")
        for unit, records in compute_all(methodcaller("compute"), todo, jobs):
            for key, record in records:
                self.write(key, record)
            done += 1
            if progress:
                progress(done, len(every), unit.label)

    def write(self, key: Key, record: Record) -> None:
        """Keep a record; it is on disk when the call returns."""
        self._records[key] = record
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"key": list(key), **record}) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def remove(self) -> None:
        """Delete the file, once its records stand in the results."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _read(self, path: Path) -> bool:
        """Read the records back; False if there are none that fit."""
        if not path.exists():
            return False
        lines = read_bytes(path, MAX_TEXT).decode(errors="replace").split("\n")
        complete, torn = (
            lines[:-1],
            lines[-1],
        )  # behind the last line break there is nothing, or half
        parsed = [_parsed(line) for line in complete]
        if not parsed or parsed[0] != json.loads(json.dumps(self.heading)):
            aside = path.with_suffix(".old")
            path.replace(aside)
            self.note = f"Results of other data, settings or code are set aside in {aside}."
            return False
        parsed[1:] = [record if _has_key(record) else None for record in parsed[1:]]
        damaged = sum(record is None for record in parsed)
        for record in parsed[1:]:
            if record is not None:
                self._records[tuple(record.pop("key"))] = record
        if torn or damaged:
            path.write_text("\n".join(w for w, p in zip(complete, parsed, strict=True) if p) + "\n")
        if damaged:
            self.note = f"{damaged} damaged lines were skipped."
        return True


def _has_key(record: Record | None) -> bool:
    key = None if record is None else record.get("key")
    return isinstance(key, list) and not any(isinstance(part, dict | list) for part in key)


def _parsed(line: str) -> Record | None:
    """A line of the journal, None if it is damaged."""
    try:
        record = parse_json(line)
    except (ValueError, LimitError):
        return None
    return record if isinstance(record, dict) else None
