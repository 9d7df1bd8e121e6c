"""Results written down one by one, so that an interrupted benchmark goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

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
        self._records: dict[Key, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if not self._read():
            path.write_text(json.dumps(self.heading) + "\n")

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
        lines = self.path.read_text().split("\n")
        try:
            heading = json.loads(lines[0])
        except json.JSONDecodeError:
            return False
        if heading != self.heading:
            return False
        whole = lines[:-1]  # behind the last line break there is nothing, or a torn line
        for line in whole[1:]:
            record = json.loads(line)
            self._records[tuple(record.pop("key"))] = record
        if lines[-1]:
            self.path.write_text("\n".join(whole) + "\n")
        return True


@cache
def code_fingerprint() -> str:
    """A short hash of this package's source, to tell results of different code apart."""
    digest = hashlib.sha256()
    root = Path(str(files("sdmbtl")))
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
