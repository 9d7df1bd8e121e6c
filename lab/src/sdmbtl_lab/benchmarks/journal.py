"""Records kept one by one, so that an interrupted benchmark continues."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdmbtl.errors import BenchmarkError, LimitError
from sdmbtl.foreign import MAX_TEXT, parse_json, read_bytes
from sdmbtl_lab.computing import compute_all

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks.records import Unit

Key = tuple[str, ...]
Record = dict[str, Any]

#: Called with the number of finished and of all pieces of work, and what was finished.
Progress = Callable[[int, int, str], None]


class Journal:
    """An append-only file of keyed records, one JSON object a line.

    Damaged lines are dropped: the process may have been killed while writing. Records of other
    settings or of another version of the code are set aside.

    Args:
        path: The file; made if missing. None keeps the records in memory only.
        heading: Settings and code that the records depend on, as JSON data.

    Raises:
        BenchmarkError: If the file cannot be written.
    """

    def __init__(self, path: Path | None, heading: Record) -> None:
        self.path = path
        self.heading = heading
        #: Message to the user about the file that was found, if any.
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
        self, units: Iterable[Unit], *, jobs: int = 1, progress: Progress | None = None
    ) -> None:
        """Do all work whose records are missing."""
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
        heading, *lines = read_bytes(path, MAX_TEXT).decode(errors="replace").split("\n")
        if _parsed(heading) != json.loads(json.dumps(self.heading)):
            aside = path.with_suffix(".old")
            path.replace(aside)
            self.note = f"Results of other data, settings or code are set aside in {aside}."
            return False
        kept = [heading]
        for line in lines:
            record = _parsed(line) or {}
            key = record.pop("key", None)
            if isinstance(key, list) and all(isinstance(part, str) for part in key):
                self._records[tuple(key)] = record
                kept.append(line)
        damaged = len([line for line in lines if line]) - len(kept) + 1
        if damaged:
            self.note = f"{damaged} damaged lines were skipped."
            path.write_text("\n".join(kept) + "\n")
        return True


def _parsed(line: str) -> Record | None:
    """Return a line of the journal, None if it is damaged."""
    try:
        record = parse_json(line)
    except (ValueError, LimitError):
        return None
    return record if isinstance(record, dict) else None
