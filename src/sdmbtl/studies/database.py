"""The state of a study in one SQLite file.

Every change is one transaction: after a crash at any moment the file holds the state before the
change or after it. Every record carries a checksum, and a copy of the file is kept as of the last
finished policy, so that a damaged file is noticed and can be replaced.

Trials and their rows are read when a study is opened. The returns of single episodes, ten times as
many numbers, are records of their own and are read when they are asked for.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import DamagedStudyError, StudyError
from sdmbtl.files import replaced_atomically
from sdmbtl.lock import exclusive, find_holder
from sdmbtl.selectors import Trial
from sdmbtl.transfer import scale_of

VERSION = 5

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

# One table for all: facts by name, and by the id of a trial its record and row, the returns of its
# episodes, the errors on targets, its times. The checksum stands before what may be long, to be
# found without reading it.
_SCHEMA = """
CREATE TABLE records (kind TEXT, key, digest TEXT, text TEXT, data BLOB, PRIMARY KEY (kind, key))
"""

Kind = Literal["fact", "trial", "episodes", "errors", "seconds"]
_Record = tuple[str, Any, str, str, bytes | None]


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

    def find_worker(self) -> int | None:
        """Number of the process that is working on the study now; None if there is none."""
        return find_holder(self.path.with_suffix(".lock"))

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
        with self._explained():
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
            self._explained(writing=True),
            replaced_atomically(self.path) as temporary,
            closing(_connect(temporary)) as database,
        ):
            database.execute(_SCHEMA)
            for name, value in {"version": VERSION, **facts}.items():
                _put(database, "fact", name, value)
            database.commit()

    # -- facts ---------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What was set with `create` and `set_fact`."""
        with self._reading() as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
            facts: dict[str, Any] = {"version": 1}
            if "facts" not in tables:  # the table of version 1
                facts = {name: json.loads(text) for _, name, _, text, _ in _all(database, "fact")}
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
            _put(database, "fact", name, value)

    # -- trials --------------------------------------------------------------------------------

    def trials(self, space: ContextSpace) -> list[Trial]:
        """Every trial, in order; those that were read or written here before are the same objects.

        Only what has changed since, in another process, is read again.
        """
        with self._reading() as database:
            every = _digests(database).items()
            now = {key: digest for (kind, key), digest in every if kind == "trial"}
            if set(now) != set(range(len(now))):
                raise ValueError("a trial is missing")
            for number, digest in now.items():
                if number not in self._trials or self._trials[number][0] != digest:
                    _, _, _, text, data = _one(database, "trial", number)
                    row = None if data is None else _array(data)
                    trial = Trial.from_dict({**json.loads(text), "row": row}, number, space)
                    self._trials[number] = digest, trial
        return [self._trials[number][1] for number in sorted(now)]

    def episodes(self) -> dict[int, NDArray[np.float64]]:
        """(N, E) returns of the episodes of each trial that has more than one on a target."""
        with self._reading() as database:
            return {
                number: _array(data or b"").reshape(-1, json.loads(count))
                for _, number, _, count, data in _all(database, "episodes")
            }

    def errors(self) -> dict[int, dict[int, str]]:
        """By trial and target: why a policy could not be evaluated there."""
        with self._reading() as database:
            return {
                number: {int(target): error for target, error in json.loads(text).items()}
                for _, number, _, text, _ in _all(database, "errors")
            }

    def seconds(self) -> dict[int, dict[str, float]]:
        """For each trial the seconds of its stages."""
        with self._reading() as database:
            return {key: json.loads(text) for _, key, _, text, _ in _all(database, "seconds")}

    def write(
        self,
        *trials: Trial,
        episodes: Mapping[int, NDArray[np.float64]] | None = None,
        errors: Mapping[int, Mapping[int, str]] | None = None,
        seconds: Mapping[tuple[int, str], float] | None = None,
    ) -> None:
        """Add or replace trials, all of them or none.

        Args:
            *trials: The trials.
            episodes: For trials with a new row, by id: the (N, E) returns it is the mean of.
            errors: For trials that were evaluated, by id and target: what went wrong there.
            seconds: By id and stage: how much longer that took, to be added.
        """
        episodes = episodes or {}
        times = self.seconds() if seconds else {}
        written = {}
        with self._writing() as database:
            for trial in trials:
                record = trial.updated(row=None).to_dict()
                row = None if trial.row is None else _bytes(trial.row)
                written[trial.id] = _put(database, "trial", trial.id, record, row), trial
                if trial.row is None or trial.id in episodes:
                    _delete(database, "episodes", trial.id)
                    _delete(database, "errors", trial.id)
            for number, returns in episodes.items():
                if returns.shape[1] > 1:  # a single one is the row
                    _put(database, "episodes", number, returns.shape[1], _bytes(returns))
            for number, failed in (errors or {}).items():
                if failed:
                    _put(database, "errors", number, dict(failed))
            for (number, stage), value in (seconds or {}).items():
                stages = times.setdefault(number, {})
                stages[stage] = stages.get(stage, 0.0) + value
                _put(database, "seconds", number, stages)
        self._trials |= written

    # -- checks and the copy -------------------------------------------------------------------

    def check(self) -> None:
        """Read everything once.

        Raises:
            DamagedStudyError: If the file is not intact.
        """
        with self._reading() as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if answer != "ok":
                raise ValueError(" ".join(answer.split()))
            self.facts()
            for kind in get_args(Kind):
                for _ in _all(database, kind):
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

    def make_backup(self) -> None:
        """Make the copy anew, in full."""
        with (
            self._explained(writing=True),
            replaced_atomically(self.backup_path) as temporary,
        ):
            with self.opened() as source, closing(_connect(temporary)) as copy:
                source.backup(copy)
            try:
                StudyDatabase(temporary).check()
            except DamagedStudyError:
                raise self._damaged() from None

    def _brought_up_to_date(self, copy: StudyDatabase) -> bool:
        """Write what has changed into the copy; False if the copy is missing or damaged."""
        with ExitStack() as stack:
            try:
                stack.enter_context(copy.opened())
                copy.facts()  # of this release, and intact
                with copy._reading() as there:
                    before = _digests(there)
            except StudyError:
                return False
            changed, gone = self._changes(before)
            try:
                with copy._writing() as there:
                    for key in gone:
                        _delete(there, *key)
                    for record in changed:
                        _insert(there, record)
            except DamagedStudyError:
                return False
        return True

    def _changes(
        self, before: Mapping[tuple[Kind, Any], str]
    ) -> tuple[list[_Record], list[tuple[Kind, Any]]]:
        """The records that are new or changed, and the keys of those that are gone."""
        try:
            with self._reading() as database:
                now = _digests(database)
                differing = [key for key, digest in now.items() if before.get(key) != digest]
                records = [_one(database, *key) for key in differing]
        except DamagedStudyError:
            raise self._damaged() from None
        return records, [key for key in before if key not in now]

    # -- inside --------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self.opened() as database, self._explained():
            yield database

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self.opened() as database, self._explained(writing=True), database:
            yield database

    @contextmanager
    def _explained(self, *, writing: bool = False) -> Iterator[None]:
        """Tell a damaged file from one that cannot be read, or written, at present."""
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OUTER_CAUSES:
                raise self._damaged(error) from None
            if writing:
                raise cannot_write(self.path, error) from None
            raise StudyError(
                f"Cannot read {str(self.path)!r}: {error}. If another process is writing, try "
                "again; otherwise check that the file may be read."
            ) from None
        except OSError as error:
            if not writing:
                raise
            raise cannot_write(self.path, error.strerror or error) from None

    def _damaged(self, reason: object = "a record has changed on disk") -> DamagedStudyError:
        return DamagedStudyError(
            f"The database {str(self.path)!r} is damaged ({reason}). What is left, and how to "
            f"continue: sdmbtl doctor {self.path.parent}"
        )


def mean_over_episodes(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) means of (N, E) returns over the episodes that were played; NaN where none was."""
    played = ~np.isnan(returns)
    number = np.where(played.any(axis=1), played.sum(axis=1), np.nan)
    scale = scale_of(returns)  # a sum of the largest numbers would be infinite
    means = np.where(played, returns / scale, 0.0).sum(axis=1) / number
    if scale != 1.0:  # rounding may go beyond the largest
        largest = np.nanmax(np.abs(returns)) / scale
        means = np.clip(means, -largest, largest)
    return np.asarray(means * scale)


def cannot_write(path: Path, error: object, study: Path | None = None) -> StudyError:
    """The error for a file that could not be written."""
    return StudyError(
        f"Cannot write to {str(path)!r}: {error}. Everything recorded so far is kept. Make room, "
        f"or give access, then continue with: sdmbtl resume {study or path.parent}"
    )


def _connect(path: Path) -> sqlite3.Connection:
    # One connection may serve a loop in one thread and who looks at it from another.
    database = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _digests(database: sqlite3.Connection) -> dict[tuple[Kind, Any], str]:
    records = database.execute("SELECT kind, key, digest FROM records")
    found = {(kind, key): digest for kind, key, digest in records}
    if not {kind for kind, _ in found} <= set(get_args(Kind)):
        raise ValueError("a record is not readable")
    return found


def _all(database: sqlite3.Connection, kind: Kind) -> Iterator[_Record]:
    """Every record of a kind, intact, in the order of the keys."""
    return _intact(database.execute("SELECT * FROM records WHERE kind = ? ORDER BY key", (kind,)))


def _one(database: sqlite3.Connection, kind: Kind, key: object) -> _Record:
    """One record, intact."""
    return next(
        _intact(database.execute("SELECT * FROM records WHERE kind = ? AND key = ?", (kind, key)))
    )


def _intact(records: sqlite3.Cursor) -> Iterator[_Record]:
    for kind, key, digest, text, data in records:
        if _digest(kind, key, text, data) != digest:
            raise ValueError(f"the checksum of {kind} {key!r} is wrong")
        yield kind, key, digest, text, data


def _put(
    database: sqlite3.Connection, kind: Kind, key: object, value: Any, data: bytes | None = None
) -> str:
    """Add or replace a record; returns its checksum."""
    text = json.dumps(value)
    digest = _digest(kind, key, text, data)
    _insert(database, (kind, key, digest, text, data))
    return digest


def _insert(database: sqlite3.Connection, record: _Record) -> None:
    database.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", record)


def _delete(database: sqlite3.Connection, kind: Kind, key: object) -> None:
    database.execute("DELETE FROM records WHERE kind = ? AND key = ?", (kind, key))


def _digest(kind: str, key: object, text: str, data: bytes | None) -> str:
    head = f"{kind} {key} {len(text)} {text}"
    return hashlib.sha256(head.encode() + (data or b"")).hexdigest()


def _bytes(array: NDArray[np.float64]) -> bytes:
    return np.ascontiguousarray(array, dtype="<f8").tobytes()


def _array(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)
