"""The state of a study in one SQLite file.

Every change is one transaction: after a crash at any moment the file holds the state before the
change or after it. Records carry a checksum, and a copy of the file is kept from the last finished
policy, so that a damaged file is noticed and can be replaced.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import DamagedStudyError, StudyError
from sdmbtl.files import replaced_atomically
from sdmbtl.selectors import Candidate
from sdmbtl.selectors.history import Status

VERSION = 1

#: What SQLite reports when not the file but its surroundings are the trouble.
_OUTER_CAUSES = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    record TEXT NOT NULL,
    returns BLOB,
    digest TEXT NOT NULL
);
CREATE TABLE seconds (trial INTEGER, stage TEXT, value REAL, PRIMARY KEY (trial, stage));
"""


@dataclass(frozen=True)
class TrialRecord:
    """All that is known of one policy, or of the attempts at it.

    Attributes:
        id: Number of the candidate.
        source: Its context, in the order of the space's dimensions.
        strategy: What chose it.
        structure: The structure that was detected then.
        reason: Why it was chosen.
        numbers: The figures behind the reason.
        status: "pending", "finished", "failed" or "cancelled".
        attempt: Number of the present, or last, attempt at training it.
        errors: What went wrong in earlier attempts.
        training: Steps, return on the source and learning curve, once trained.
        policy_sha256: Checksum of the policy file, once trained.
        source_return: J(pi_x, x), if the source is no target.
        returns: (N, E) return of each episode on each target, once evaluated.
    """

    id: int
    source: list[float]
    strategy: str
    structure: str | None
    reason: str
    numbers: dict[str, float]
    status: Status = "pending"
    attempt: int = 0
    errors: list[str] = field(default_factory=list)
    training: dict[str, Any] | None = None
    policy_sha256: str | None = None
    source_return: float | None = None
    returns: NDArray[np.float64] | None = None

    @classmethod
    def asked(cls, candidate: Candidate, space: ContextSpace) -> TrialRecord:
        """The record of a new candidate."""
        return cls(
            id=candidate.id,
            source=space.vector(candidate.context).tolist(),
            strategy=candidate.strategy,
            structure=candidate.structure,
            reason=candidate.reason,
            numbers=dict(candidate.numbers),
        )

    def updated(self, **changes: Any) -> TrialRecord:
        """The record with some changes."""
        return replace(self, **changes)

    @property
    def row(self) -> NDArray[np.float64] | None:
        """(N,) mean return on each target, over the episodes that were played."""
        return None if self.returns is None else mean_over_episodes(self.returns)


class StudyDatabase:
    """Reads and writes the database of a study.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def backup_path(self) -> Path:
        """The copy from the last finished policy."""
        return self.path.with_suffix(".backup.db")

    def create(self, facts: Mapping[str, Any]) -> None:
        """Make the file; it is there with its facts, or not at all."""
        texts = {n: json.dumps(v) for n, v in {"version": VERSION, **facts}.items()}
        with (
            _explained(self.path),
            replaced_atomically(self.path) as temporary,
            closing(_connect(temporary)) as database,
        ):
            database.executescript(_SCHEMA)
            for name, text in texts.items():
                _set(database, name, text)
            database.commit()

    def facts(self) -> dict[str, Any]:
        """What was set with `create` and `set_fact`."""
        with self._reading() as database:
            rows = database.execute("SELECT name, value, digest FROM facts").fetchall()
            for name, value, digest in rows:
                if _digest(name + value, None) != digest:
                    raise ValueError(f"the checksum of {name!r} is wrong")
            facts = {name: json.loads(value) for name, value, _ in rows}
        if facts.get("version") != VERSION:
            raise StudyError(
                f"{self.path} has format version {facts.get('version')!r}; this release reads "
                f"{VERSION}. Use the release of sdmbtl that wrote it."
            )
        return facts

    def set_fact(self, name: str, value: Any) -> None:
        """Keep a fact about the study, as JSON data."""
        text = json.dumps(value)
        with self._writing() as database:
            _set(database, name, text)

    def check(self) -> list[TrialRecord]:
        """Read everything once; returns the trials.

        Raises:
            DamagedStudyError: If the file is not whole.
        """
        with self._reading() as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if answer != "ok":
                raise DamagedStudyError(self._damage(" ".join(answer.split())))
        self.facts()
        return self.trials()

    def trials(self) -> list[TrialRecord]:
        """Every trial, in order."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT id, record, returns, digest FROM trials ORDER BY id"
            ).fetchall()
            return [self._trial(*row) for row in rows]

    def write(self, *records: TrialRecord) -> None:
        """Add or replace trials, all of them or none."""
        rows = [
            (record.id, text, blob, _digest(text, blob))
            for record in records
            for text, blob in [_encoded(record)]
        ]
        with self._writing() as database:
            database.executemany("INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?)", rows)

    def add_seconds(self, trial: int, stage: str, value: float) -> None:
        """Add to the time that a stage of a trial took."""
        with self._writing() as database:
            database.execute(
                "INSERT INTO seconds VALUES (?, ?, ?) "
                "ON CONFLICT (trial, stage) DO UPDATE SET value = value + excluded.value",
                (trial, stage, value),
            )

    def seconds(self) -> dict[int, dict[str, float]]:
        """For each trial the seconds of its stages."""
        with self._reading() as database:
            rows = database.execute("SELECT trial, stage, value FROM seconds").fetchall()
        found: dict[int, dict[str, float]] = {}
        for trial, stage, value in rows:
            found.setdefault(trial, {})[stage] = value
        return found

    def back_up(self) -> None:
        """Replace the copy with the present state, if that is whole."""
        with _explained(self.path), replaced_atomically(self.backup_path) as temporary:
            with closing(_connect(self.path)) as source, closing(_connect(temporary)) as copy:
                source.backup(copy)
            try:
                StudyDatabase(temporary).check()
            except DamagedStudyError:
                raise DamagedStudyError(self._damage("a record has changed on disk")) from None

    # -- inside --------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._connected() as database:
                yield database
        except sqlite3.OperationalError as error:
            raise StudyError(
                f"Cannot read {str(self.path)!r}: {error}. If another process is writing, try "
                "again; otherwise check that the file may be read."
            ) from None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            raise DamagedStudyError(
                f"There is no database {str(self.path)!r}. Run: sdmbtl doctor {self.path.parent}"
            )
        with self._damage_noticed(), closing(_connect(self.path)) as database:
            yield database

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _explained(self.path), self._connected() as database, database:
            yield database

    @contextmanager
    def _damage_noticed(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _OUTER_CAUSES:
                raise
            raise DamagedStudyError(self._damage(error)) from None

    def _damage(self, error: object) -> str:
        return (
            f"The database {str(self.path)!r} is damaged ({error}). What is left, and how to go "
            f"on, says: sdmbtl doctor {self.path.parent}"
        )

    def _trial(self, number: int, text: str, blob: bytes | None, digest: str) -> TrialRecord:
        if _digest(text, blob) != digest:
            raise ValueError(f"the checksum of trial {number} is wrong")
        data = json.loads(text)
        episodes = data.pop("episodes")
        returns = None
        if blob is not None:
            returns = np.frombuffer(blob, dtype="<f8").astype(np.float64).reshape(-1, episodes)
        return TrialRecord(id=number, returns=returns, **data)


def mean_over_episodes(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) means of (N, E) returns over the episodes that were played; NaN where none was."""
    played = ~np.isnan(returns)
    number = np.where(played.any(axis=1), played.sum(axis=1), np.nan)
    return np.asarray(np.where(played, returns, 0.0).sum(axis=1) / number)


def _encoded(record: TrialRecord) -> tuple[str, bytes | None]:
    data = {k: v for k, v in vars(record).items() if k not in ("id", "returns")}
    returns = record.returns
    data["episodes"] = 0 if returns is None else returns.shape[1]
    blob = None if returns is None else np.ascontiguousarray(returns, dtype="<f8").tobytes()
    return json.dumps(data), blob


def _digest(text: str, blob: bytes | None) -> str:
    return hashlib.sha256(text.encode() + b"\0" + (blob or b"")).hexdigest()


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30.0)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _set(database: sqlite3.Connection, name: str, text: str) -> None:
    database.execute(
        "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (name, text, _digest(name + text, None))
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say what a failed write means."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise cannot_write(path, error) from None
    except OSError as error:
        raise cannot_write(path, error.strerror or error) from None


def cannot_write(path: Path, error: object) -> StudyError:
    """The error for a file that could not be written."""
    return StudyError(
        f"Cannot write to {str(path)!r}: {error}. Everything recorded so far is kept. Make room, "
        f"or give access, then go on with: sdmbtl resume {path.parent}"
    )
