"""The records in a study's database: one table, a checksum for each record and a seal for all."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.errors import LimitError
from sdmbtl.files import obstacle
from sdmbtl.foreign import MAX_TEXT, parse_json

# One table for all: facts by name, and by the id of a trial its record and row, the returns of its
# episodes, the errors on targets, its times, its lease; superseded results; and the seal. The
# checksum stands before what may be long, to be found without reading it.
SCHEMA = """
CREATE TABLE records (kind TEXT, key, digest TEXT, text TEXT, data BLOB, PRIMARY KEY (kind, key))
"""

#: Trials that are missing are named, but no more than so many.
_MOST_NAMED = 20

#: Records of one kind that are read.
MAX_RECORDS = 1_000_000

Kind = Literal["fact", "trial", "episodes", "errors", "seconds", "lease", "superseded", "seal"]
Record = tuple[Kind, Any, str, str, bytes | None]


def connect(path: Path) -> sqlite3.Connection:
    """Open a database file, and nothing else that is in its place."""
    for name in (path.name, *(f"{path.name}-{end}" for end in ("journal", "wal", "shm"))):
        found = obstacle(path.with_name(name), path.parent)
        if found is not None:
            raise ValueError(found)
    # One connection may serve a loop in one thread and who looks at it from another.
    database = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    # A database may be somebody else's: its schema calls no functions, and a record is no longer
    # than a text may be.
    database.execute("PRAGMA trusted_schema = OFF")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT)
    return database


def check_schema(database: sqlite3.Connection) -> None:
    """Refuse anything but the plain table: a view could be endless, a trigger could do anything."""
    found = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid")
    own = [("table", "records", SCHEMA.strip()), ("index", "sqlite_autoindex_records_1", "")]
    entries = [(kind, name, " ".join((sql or "").split())) for kind, name, sql in _limited(found)]
    others = [entry for entry in entries if entry not in own]
    # A file of an older release has plain tables under other names: whoever reads notices.
    is_older = len(others) == len(entries) and all(
        kind in ("table", "index") and name.lower() != "records" for kind, name, _ in others
    )
    if others and not is_older:
        kind, name, _ = others[0]
        raise ValueError(f"{kind} {name!r} is not of a study")


def sealed_digests(database: sqlite3.Connection) -> dict[tuple[Kind, Any], str]:
    """The checksum of every record, all of which are there.

    Raises:
        ValueError: If one is missing, or is not the one that was written last.
    """
    # In one statement, so that no other process writes in between.
    which = "SELECT kind, key, digest, CASE kind WHEN 'seal' THEN text END FROM records"
    rows = list(_limited(database.execute(which)))
    found: dict[tuple[Kind, Any], str] = {(kind, key): digest for kind, key, digest, _ in rows}
    if not {kind for kind, _ in found} <= set(get_args(Kind)):
        raise ValueError("a record is not readable")
    seals = [_seal_of(text) for *_, text in rows if text is not None]
    if len(seals) != 1:
        raise ValueError("the seal of its records is missing")
    here, trials = {key for kind, key in found if kind == "trial"}, seals[0]["trials"]
    # In somebody else's study the number may be anything.
    missing = [str(n) for n in range(min(trials, len(here) + _MOST_NAMED)) if n not in here]
    if missing:
        raise ValueError(f"trial {', '.join(missing[:_MOST_NAMED])} of {trials} is missing")
    if _digest_of_all(found) != seals[0]["digest"]:
        raise ValueError("a record is missing, or not the one that was written last")
    return found


def read_seal(database: sqlite3.Connection) -> dict[str, Any]:
    """How often the file was written, how many trials there are, and the checksum of all."""
    _, _, _, text, _ = one_record(database, "seal", 0)
    return _seal_of(text)


def _seal_of(text: str) -> dict[str, Any]:
    seal = parse_json(text)
    numbers = [check_int(name, seal[name], low=0) for name in ("writes", "trials")]
    return {**seal, "writes": numbers[0], "trials": numbers[1]}


def put_seal(database: sqlite3.Connection, *, writes: int) -> None:
    """Seal the records as they are now."""
    found = {(k, key): d for k, key, d in database.execute("SELECT kind, key, digest FROM records")}
    trials = sum(kind == "trial" for kind, _ in found)
    seal = {"writes": writes, "trials": trials, "digest": _digest_of_all(found)}
    put_record(database, "seal", 0, seal)


def _digest_of_all(digests: Mapping[tuple[Kind, Any], str]) -> str:
    lines = sorted(f"{kind} {key} {d}\n" for (kind, key), d in digests.items() if kind != "seal")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def all_records(database: sqlite3.Connection, kind: Kind) -> Iterator[Record]:
    """Every record of a kind, intact, in the order of the keys."""
    return _intact(database.execute("SELECT * FROM records WHERE kind = ? ORDER BY key", (kind,)))


def one_record(database: sqlite3.Connection, kind: Kind, key: object) -> Record:
    """One record, intact."""
    found = find_record(database, kind, key)
    if found is None:
        raise ValueError(f"{kind} {key!r} is missing")
    return found


def find_record(database: sqlite3.Connection, kind: Kind, key: object) -> Record | None:
    """One record, intact; None if there is none."""
    which = "SELECT * FROM records WHERE kind = ? AND key = ?"
    return next(_intact(database.execute(which, (kind, key))), None)


def _intact(records: sqlite3.Cursor) -> Iterator[Record]:
    for kind, key, digest, text, data in _limited(records):
        if record_digest(kind, key, text, data) != digest:
            raise ValueError(f"the checksum of {kind} {key!r} is wrong")
        yield kind, key, digest, text, data


def _limited(records: sqlite3.Cursor) -> Iterator[Any]:
    for number, record in enumerate(records):
        if number >= MAX_RECORDS:
            raise LimitError(f"There are too many records: more than {MAX_RECORDS:,}.")
        yield record


def put_record(
    database: sqlite3.Connection, kind: Kind, key: object, value: Any, data: bytes | None = None
) -> str:
    """Add or replace a record; returns its checksum."""
    text = json.dumps(value)
    digest = record_digest(kind, key, text, data)
    insert_record(database, (kind, key, digest, text, data))
    return digest


def insert_record(database: sqlite3.Connection, record: Record) -> None:
    """Add or replace a record."""
    database.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", record)


def delete_record(database: sqlite3.Connection, kind: Kind, key: object) -> None:
    """Remove a record, if it is there."""
    database.execute("DELETE FROM records WHERE kind = ? AND key = ?", (kind, key))


def record_digest(kind: str, key: object, text: str, data: bytes | None) -> str:
    """The checksum of a record."""
    digest = hashlib.sha256(f"{kind} {key} {len(text)} ".encode())
    digest.update(text.encode())  # a text may have hundreds of megabytes: not copied once more
    digest.update(data or b"")
    return digest.hexdigest()


def to_bytes(array: NDArray[np.float64]) -> bytes:
    """Numbers as they are kept."""
    return np.ascontiguousarray(array, dtype="<f8").tobytes()


def to_array(blob: bytes) -> NDArray[np.float64]:
    """What `to_bytes` gave, as numbers."""
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)
