"""The state of a study in one SQLite file.

Every change is one transaction: after a crash at any moment the file holds the state before the
change or after it. Every record carries a checksum, and a copy of the file is kept as of the last
finished policy, so that a damaged file is noticed and can be replaced.

Trials and their rows are read when a study is opened. The returns of single episodes, ten times as
many numbers, are in a table of their own and are read when they are asked for.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import DamagedStudyError, StudyError
from sdmbtl.files import replaced_atomically
from sdmbtl.lock import exclusive
from sdmbtl.selectors import Trial

VERSION = 2

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

# In each table first the key, then the checksum of all the rest: both are found without reading
# through a long row.
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, digest TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, record TEXT NOT NULL, row BLOB
);
CREATE TABLE episodes (
    trial INTEGER PRIMARY KEY, digest TEXT NOT NULL, count INTEGER NOT NULL, returns BLOB NOT NULL
);
CREATE TABLE seconds (trial INTEGER, stage TEXT, value REAL, PRIMARY KEY (trial, stage));
"""
#: Tables with a checksum in each record, and their keys.
_KEYS = {"facts": "name", "trials": "id", "episodes": "trial"}

_Record = tuple[Any, ...]
_Changes = dict[str, tuple[list[_Record], list[_Record]]]


class StudyDatabase:
    """Reads and writes the database of a study.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        #: Each trial that was read or written here, with its checksum.
        self._trials: dict[int, tuple[str, Trial]] = {}

    @property
    def backup_path(self) -> Path:
        """The copy as of the last finished policy."""
        return self.path.with_suffix(".backup.db")

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock of the study: one process at a time works on it.

        Raises:
            StudyError: If another process holds it.
        """
        return exclusive(
            self.path.with_suffix(".lock"),
            doing="working on the study",
            meanwhile=f"; 'sdmbtl status {self.path.parent}' may be used meanwhile",
            error=StudyError,
        )

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Use one connection for all that is done meanwhile; otherwise each call opens its own.

        Raises:
            DamagedStudyError: If there is no file.
        """
        if self._connection is not None:
            yield self._connection
            return
        if not self.path.exists():
            raise DamagedStudyError(
                f"There is no database {str(self.path)!r}. Run: sdmbtl doctor {self.path.parent}"
            )
        with self._trouble_explained():
            connection = _connect(self.path)
        with closing(connection):
            self._connection = connection
            try:
                yield connection
            finally:
                self._connection = None

    def create(self, facts: Mapping[str, Any]) -> None:
        """Make the file; it is there with its facts, or not at all."""
        with (
            _explained(self.path),
            replaced_atomically(self.path) as temporary,
            closing(_connect(temporary)) as database,
        ):
            database.executescript(_SCHEMA)
            for name, value in {"version": VERSION, **facts}.items():
                _put(database, "facts", name, json.dumps(value))
            database.commit()

    # -- facts ---------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What was set with `create` and `set_fact`."""
        with self._reading() as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
            facts: dict[str, Any] = {"version": 1}
            if "facts" not in tables or "episodes" in tables:
                facts = {name: json.loads(text) for name, _, text in _records(database, "facts")}
            version = facts["version"]
        if version != VERSION:
            raise StudyError(
                f"{self.path} has format version {version!r}; this release reads {VERSION}. "
                "Use the release of sdmbtl that wrote it."
            )
        return facts

    def set_fact(self, name: str, value: Any) -> None:
        """Keep a fact about the study, as JSON data."""
        with self._writing() as database:
            _put(database, "facts", name, json.dumps(value))

    # -- trials --------------------------------------------------------------------------------

    def trials(self, space: ContextSpace) -> list[Trial]:
        """Every trial, in order; those that were read or written here before are the same objects.

        Only what has changed since, in another process, is read again.
        """
        with self._reading() as database:
            now = _digests(database, "trials")
            for number, digest in now.items():
                if number not in self._trials or self._trials[number][0] != digest:
                    trial = _decoded(_record(database, "trials", number), space)
                    self._trials[number] = digest, trial
        return [self._trials[number][1] for number in now]

    def episodes(self) -> dict[int, NDArray[np.float64]]:
        """(N, E) returns of the episodes of each trial that has more than one on a target."""
        with self._reading() as database:
            records = _records(database, "episodes")
            return {number: _array(blob).reshape(-1, count) for number, _, count, blob in records}

    def write(
        self,
        *trials: Trial,
        episodes: Mapping[int, NDArray[np.float64]] | None = None,
        seconds: Mapping[tuple[int, str], float] | None = None,
    ) -> None:
        """Add or replace trials, all of them or none.

        Args:
            *trials: The trials.
            episodes: For trials with a new row, by id: the (N, E) returns it is the mean of.
            seconds: By id and stage: how much longer that took, to be added.
        """
        episodes = episodes or {}
        written = {}
        with self._writing() as database:
            for trial in trials:
                text = json.dumps(trial.updated(row=None).to_dict())
                row = None if trial.row is None else _bytes(trial.row)
                written[trial.id] = _put(database, "trials", trial.id, text, row), trial
                if trial.row is None or trial.id in episodes:
                    database.execute("DELETE FROM episodes WHERE trial = ?", (trial.id,))
            for number, returns in episodes.items():
                if returns.shape[1] > 1:  # a single one is the row
                    count = returns.shape[1]
                    _put(database, "episodes", number, count, _bytes(returns))
            database.executemany(
                "INSERT INTO seconds VALUES (?, ?, ?) "
                "ON CONFLICT (trial, stage) DO UPDATE SET value = value + excluded.value",
                [(*key, value) for key, value in (seconds or {}).items()],
            )
        self._trials |= written

    def seconds(self) -> dict[int, dict[str, float]]:
        """For each trial the seconds of its stages."""
        with self._reading() as database:
            rows = database.execute("SELECT trial, stage, value FROM seconds").fetchall()
        found: dict[int, dict[str, float]] = {}
        for trial, stage, value in rows:
            found.setdefault(trial, {})[stage] = value
        return found

    # -- checks and the copy -------------------------------------------------------------------

    def check(self) -> None:
        """Read everything once.

        Raises:
            DamagedStudyError: If the file is not intact.
        """
        with self.opened():
            with self._reading() as database:
                (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
                if answer != "ok":
                    raise DamagedStudyError(self._damage(" ".join(answer.split())))
            self.facts()
            with self._reading() as database:
                for table in _KEYS:
                    for _ in _records(database, table):
                        pass

    def back_up(self) -> None:
        """Bring the copy to the present state: what has changed since is written, if intact.

        A copy that is missing or damaged is made anew.

        Raises:
            DamagedStudyError: If what is to be copied is damaged; the copy stays as it was.
        """
        with self.opened():
            if not self._brought_up_to_date(StudyDatabase(self.backup_path)):
                self.make_backup()

    def _brought_up_to_date(self, copy: StudyDatabase) -> bool:
        """Write what has changed into the copy; False if the copy is missing or damaged."""
        with ExitStack() as stack:
            try:
                stack.enter_context(copy.opened())
                before = copy._all_digests()
            except StudyError:
                return False
            changes = self._changes(before)
            times = [(t, s, v) for t, each in self.seconds().items() for s, v in each.items()]
            try:
                copy._apply(changes, times)
            except DamagedStudyError:
                return False
        return True

    def make_backup(self) -> None:
        """Make the copy anew, in full."""
        with _explained(self.path), replaced_atomically(self.backup_path) as temporary:
            with self.opened() as source, closing(_connect(temporary)) as copy:
                source.backup(copy)
            try:
                StudyDatabase(temporary).check()
            except DamagedStudyError:
                raise self._changed_on_disk() from None

    def _all_digests(self) -> dict[str, dict[Any, str]]:
        self.facts()  # of this release, and intact
        with self._reading() as database:
            return {table: _digests(database, table) for table in _KEYS}

    def _changes(self, before: dict[str, dict[Any, str]]) -> _Changes:
        """For each table the records that are new or changed, and the keys that are gone."""
        changes: _Changes = {}
        try:
            with self._reading() as database:
                for table, old in before.items():
                    now = _digests(database, table)
                    differing = [key for key, digest in now.items() if old.get(key) != digest]
                    records = [_record(database, table, key) for key in differing]
                    changes[table] = records, [(key,) for key in old if key not in now]
        except DamagedStudyError:
            raise self._changed_on_disk() from None
        return changes

    def _apply(self, changes: _Changes, seconds: list[_Record]) -> None:
        with self._writing() as database:
            for table, (records, gone) in changes.items():
                database.executemany(_sql("DELETE FROM {table} WHERE {key} = ?", table), gone)
                for record in records:
                    _insert(database, table, record)
            database.execute("DELETE FROM seconds")
            database.executemany("INSERT INTO seconds VALUES (?, ?, ?)", seconds)

    # -- inside --------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self.opened() as database, self._trouble_explained():
            yield database

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with (
            self.opened() as database,
            self._trouble_explained(),
            _explained(self.path),
            database,
        ):
            yield database

    @contextmanager
    def _trouble_explained(self) -> Iterator[None]:
        """Tell a damaged file from one that cannot be read at present."""
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OUTER_CAUSES:
                raise DamagedStudyError(self._damage(error)) from None
            raise StudyError(
                f"Cannot read {str(self.path)!r}: {error}. If another process is writing, try "
                "again; otherwise check that the file may be read."
            ) from None

    def _damage(self, error: object) -> str:
        return (
            f"The database {str(self.path)!r} is damaged ({error}). What is left, and how to go "
            f"on, says: sdmbtl doctor {self.path.parent}"
        )

    def _changed_on_disk(self) -> DamagedStudyError:
        return DamagedStudyError(self._damage("a record has changed on disk"))


def mean_over_episodes(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) means of (N, E) returns over the episodes that were played; NaN where none was."""
    played = ~np.isnan(returns)
    number = np.where(played.any(axis=1), played.sum(axis=1), np.nan)
    return np.asarray(np.where(played, returns, 0.0).sum(axis=1) / number)


def cannot_write(path: Path, error: object, study: Path | None = None) -> StudyError:
    """The error for a file that could not be written."""
    return StudyError(
        f"Cannot write to {str(path)!r}: {error}. Everything recorded so far is kept. Make room, "
        f"or give access, then go on with: sdmbtl resume {study or path.parent}"
    )


def _connect(path: Path) -> sqlite3.Connection:
    # One connection may serve a loop in one thread and who looks at it from another.
    database = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _sql(statement: str, table: str) -> str:
    """A statement about one of our tables."""
    return statement.format(table=table, key=_KEYS[table])


def _records(database: sqlite3.Connection, table: str) -> Iterator[_Record]:
    """Every record of a table, intact."""
    return _intact(database.execute(_sql("SELECT * FROM {table} ORDER BY {key}", table)))


def _record(database: sqlite3.Connection, table: str, key: object) -> _Record:
    """One record of a table, intact."""
    one = _sql("SELECT * FROM {table} WHERE {key} = ?", table)
    return next(_intact(database.execute(one, (key,))))


def _digests(database: sqlite3.Connection, table: str) -> dict[Any, str]:
    keys = _sql("SELECT {key}, digest FROM {table} ORDER BY {key}", table)
    return dict(database.execute(keys).fetchall())


def _put(database: sqlite3.Connection, table: str, key: object, *content: object) -> str:
    """Add or replace a record; returns its checksum."""
    digest = _digest(key, *content)
    _insert(database, table, (key, digest, *content))
    return digest


def _insert(database: sqlite3.Connection, table: str, record: _Record) -> None:
    marks = ", ".join("?" * len(record))
    database.execute(_sql("INSERT OR REPLACE INTO {table} ", table) + f"VALUES ({marks})", record)


def _intact(records: sqlite3.Cursor) -> Iterator[_Record]:
    for record in records:
        key, digest, *content = record
        if _digest(key, *content) != digest:
            raise ValueError(f"the checksum of {key!r} is wrong")
        yield record


def _digest(*parts: object) -> str:
    checksum = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode()
        checksum.update(len(content).to_bytes(8, "little"))
        checksum.update(content)
    return checksum.hexdigest()


def _decoded(record: _Record, space: ContextSpace) -> Trial:
    number, _, text, blob = record
    row = None if blob is None else _array(blob)
    return Trial.from_dict({**json.loads(text), "row": row}, number, space)


def _bytes(array: NDArray[np.float64]) -> bytes:
    return np.ascontiguousarray(array, dtype="<f8").tobytes()


def _array(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say what a failed write means."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OUTER_CAUSES:
            raise
        raise cannot_write(path, error) from None
    except OSError as error:
        raise cannot_write(path, error.strerror or error) from None
