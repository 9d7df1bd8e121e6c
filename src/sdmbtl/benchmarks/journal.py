"""Results written down one by one, so that an interrupted benchmark goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sdmbtl.errors import BenchmarkError

Key = tuple[str, ...]


class Journal:
    """An append-only file of keyed records, one JSON object a line.

    A torn last line (the process was killed while writing) is dropped. Records that were made
    with other settings or another version of the code are not used.

    Args:
        path: The file; made if missing.
        heading: Settings that the records depend on.
    """

    def __init__(self, path: Path, heading: dict[str, Any]) -> None:
        self.path = path
        self.heading = {**heading, "code": code_fingerprint()}
        #: What to tell the user about the file that was found, if anything.
        self.note = ""
        self._records: dict[Key, dict[str, Any]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._read():
                path.write_text(json.dumps(self.heading) + "\n")
        except OSError as error:
            raise BenchmarkError(
                f"Cannot write to {str(path.parent)!r}: {error.strerror}. Choose another folder."
            ) from None

    def __contains__(self, key: Key) -> bool:
        return key in self._records

    def __getitem__(self, key: Key) -> dict[str, Any]:
        return self._records[key]

    def __len__(self) -> int:
        return len(self._records)

    def write(self, key: Key, record: dict[str, Any]) -> None:
        """Keep a record; it is on disk when the call returns."""
        self._records[key] = record
        with self.path.open("a") as file:
            file.write(json.dumps({"key": list(key), **record}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Delete the file, once its records stand in the results."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> bool:
        """Read the records back; False if there are none that fit."""
        if not self.path.exists():
            return False
        lines = self.path.read_text(errors="replace").split("\n")
        whole, torn = lines[:-1], lines[-1]  # behind the last line break there is nothing, or half
        parsed = [_parsed(line) for line in whole]
        if not parsed or parsed[0] != self.heading:
            aside = self.path.with_suffix(".old")
            self.path.replace(aside)
            self.note = f"Results of other data, settings or code are set aside in {aside}."
            return False
        damaged = sum(record is None for record in parsed)
        for record in parsed[1:]:
            if record is not None:
                self._records[tuple(record.pop("key"))] = record
        if torn or damaged:
            self.path.write_text(
                "\n".join(w for w, p in zip(whole, parsed, strict=True) if p) + "\n"
            )
        if damaged:
            self.note = f"{damaged} damaged lines were skipped."
        return True


def _parsed(line: str) -> dict[str, Any] | None:
    """A line of the journal, None if it is damaged."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


@cache
def code_fingerprint() -> str:
    """A short hash of this package's source, to tell results of different code apart."""
    digest = hashlib.sha256()
    root = Path(str(files("sdmbtl")))
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
