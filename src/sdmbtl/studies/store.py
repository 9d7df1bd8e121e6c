"""Records of a study in one SQLite file: plain tables, one connection, atomic changes.

After a crash at any moment the file holds the state before a change or after it. A transaction is
also the write lock: other processes wait for it. A copy of the file, `study.backup.db`, is made
after finished policies, to repair a damaged one.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BusyError, DamagedStudyError, StudyError
from sdmbtl.files import (
    network_file_system,
    replaced_atomically,
    sync_directory,
    unsafe_path_reason,
)
from sdmbtl.foreign import MAX_BYTES, MAX_TEXT, check_size, parse_json
from sdmbtl.selectors import Trial
from sdmbtl.studies.leases import RUNS, Lease
from sdmbtl.studies.row_evaluation import episodes_behind

VERSION = 8

#: `changed` is the number of the write that changed a trial last: other processes read what is new.
SCHEMA = (
    """CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT""",
    """CREATE TABLE trials (
        id INTEGER PRIMARY KEY, status TEXT NOT NULL, body TEXT NOT NULL, returns BLOB,
        changed INTEGER NOT NULL, token INTEGER NOT NULL DEFAULT 0, holder TEXT,
        lease_seconds REAL NOT NULL DEFAULT 0, heartbeat REAL NOT NULL DEFAULT 0) STRICT""",
    """CREATE TABLE episodes (
        trial INTEGER PRIMARY KEY REFERENCES trials (id), count INTEGER NOT NULL,
        returns BLOB NOT NULL) STRICT""",
    """CREATE TABLE errors (
        trial INTEGER NOT NULL REFERENCES trials (id), target INTEGER NOT NULL, error TEXT NOT NULL,
        PRIMARY KEY (trial, target)) STRICT""",
    """CREATE TABLE seconds (
        trial INTEGER NOT NULL REFERENCES trials (id), stage TEXT NOT NULL, seconds REAL NOT NULL,
        PRIMARY KEY (trial, stage)) STRICT""",
)

#: A larger file is copied at most this often, in seconds.
BACKUP_SIZE, BACKUP_SECONDS = 4 * 2**20, 60.0

_TABLES = "SELECT type, name, sql FROM sqlite_master"

_log = logging.getLogger(__name__)

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
#: Errors of SQLite when not the file but its surroundings are the trouble.
_OUTER_CAUSES = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, *_BUSY),
)
#: Errors from records that are not those of a study.
_DAMAGES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
#: The last bytes of a journal that has SQLite delete another file.
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")


def has_database(path: Path) -> bool:
    """Tell whether there is the database of a study, or its backup."""
    return any(os.path.lexists(path / name) for name in ("study.db", "study.backup.db"))


def open_store(
    path: Path, wait: float, facts: Callable[[], dict[str, Any]] | None = None
) -> StudyStore:
    """Open the store of the study in a directory; make both, if there are facts to make it with."""
    if not has_database(path):
        if facts is None:
            raise StudyError(
                f"There is not a study in {str(path)!r}. Make one with an environment: "
                f"sdmbtl run CartPole --out {path}, or Study.open(path, 'CartPole'); or for "
                f"training of your own: sdmbtl ask {path} --space FILE.toml."
            )
        # A study whose creation was killed may have left files without a database.
        if path.exists() and not (
            path.is_dir()
            and {p.name for p in path.iterdir() if not p.name.startswith(".study.")} <= {"policies"}
            and not list(path.glob("policies/*"))
        ):
            raise StudyError(
                f"{str(path)!r} exists and is not a study. Choose a new directory, or an empty one."
            )
        try:
            (path / "policies").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(
                f"Cannot make a study in {str(path)!r}: {error.strerror}. Choose another directory."
            ) from None
    store = StudyStore(path / "study.db", wait, facts)
    kind = network_file_system(path)
    if kind is not None:
        warnings.warn(
            f"The study in {str(path)!r} is on a network file system ({kind}). One process may use "
            "it safely. Several need a file system whose locks work on all machines.",
            stacklevel=3,
        )
    return store


class StudyStore:
    """Reads and writes the database of a study, over one connection.

    Args:
        path: The file.
        wait: Seconds to wait for other processes that write.
        facts: Makes the facts of a new study, if there is none yet; None to open one only.
    """

    def __init__(
        self, path: Path, wait: float = 30.0, facts: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        self.path, self.backup_path = path, path.with_suffix(".backup.db")
        self.wait = check_float("wait", wait, low=0.0, error=StudyError)
        self._lock = threading.RLock()
        #: Every trial that was read or written, and the number of the last write among them.
        self._trials: dict[int, Trial] = {}
        self._seen = 0
        self._written: dict[int, Trial] = {}
        self._last_write = 0
        # A new study in the place of a lost one would replace its copy as well.
        if not os.path.lexists(path) and (facts is None or self.backup_path.exists()):
            raise DamagedStudyError(
                f"There is no database {str(path)!r}. Run: sdmbtl doctor {path.parent}"
            )
        with self._explained(writing=facts is not None):
            self._database = connect(path, self.wait, create=facts is not None)
            # A connection refers to itself, so without this it stays open until cycles are freed.
            weakref.finalize(self, self._database.close)
            self._file = path.stat()
        try:
            if not self._read(_TABLES) and not self.backup_path.exists():
                if facts is None:  # another process is making it
                    raise StudyError(
                        f"There is not a study in {str(path.parent)!r} yet: another process is "
                        "making it, or was interrupted. Try again, or repeat the command that "
                        "makes it."
                    )
                self._create(facts())
            with self._explained():
                check_schema(self._database, path)
        except BaseException:
            self._database.close()
            raise

    def _create(self, facts: dict[str, Any]) -> None:
        """Make all tables, unless another process was faster."""
        if network_file_system(self.path) is None:
            with suppress(sqlite3.OperationalError):  # a file system that cannot
                self._database.execute("PRAGMA journal_mode = WAL")
        with self.transaction():
            if not self._read(_TABLES):
                for table in SCHEMA:
                    self._write(table)
                self._write(f"PRAGMA user_version = {VERSION}")
                for name, value in facts.items():
                    self.set_fact(name, value)
        with self._explained(writing=True):
            sync_directory(self.path.parent)

    def close(self) -> None:
        """Close the connection; further use is an error."""
        self._database.close()

    def facts(self) -> dict[str, Any]:
        """Return the JSON data by name that the study was made with, or `set_fact` was given."""
        rows = self._read("SELECT name, value FROM facts")
        with self._explained():
            return {name: parse_json(value) for name, value in rows}

    def trials(self, space: ContextSpace) -> list[Trial]:
        """Return every trial, in order; those that have not changed are the same objects."""
        new = self._read(
            "SELECT id, changed, body, trials.returns, count, episodes.returns FROM trials "
            "LEFT JOIN episodes ON trial = id WHERE changed > ? ORDER BY id",
            self._seen,
        )
        with self._explained():
            for number, changed, body, returns, count, played in new:
                row = None if returns is None else to_array(returns)
                trial = Trial.from_dict({**parse_json(body), "row": row}, number, space)
                if played is not None:
                    counts = episodes_behind(to_array(played).reshape(-1, count))
                    trial = trial.updated(episodes=counts)
                elif row is not None and trial.has_policy:  # one episode on each target
                    trial = trial.updated(episodes=episodes_behind(row[:, None]))
                self._trials[number] = trial
                self._seen = max(self._seen, changed)
            return [self._trials[number] for number in range(len(self._trials))]

    def episodes(self) -> dict[int, NDArray[np.float64]]:
        """Return (N, E) returns of each trial with more than one episode on a target."""
        rows = self._read("SELECT trial, count, returns FROM episodes")
        with self._explained():
            return {trial: to_array(data).reshape(-1, count) for trial, count, data in rows}

    def errors(self) -> dict[int, dict[int, str]]:
        """Return why evaluations failed, by trial and target."""
        found: dict[int, dict[int, str]] = {}
        for trial, target, error in self._read("SELECT * FROM errors ORDER BY trial, target"):
            found.setdefault(trial, {})[target] = error
        return found

    def seconds(self) -> dict[int, dict[str, float]]:
        """Return the seconds of each stage, by trial."""
        found: dict[int, dict[str, float]] = {}
        for trial, stage, seconds in self._read("SELECT * FROM seconds ORDER BY trial, rowid"):
            found.setdefault(trial, {})[stage] = seconds
        return found

    def leases(self) -> dict[int, Lease]:
        """Return the lease of each trial that was ever given to somebody."""
        rows = self._read(
            "SELECT id, token, holder, lease_seconds, heartbeat FROM trials WHERE token > 0"
        )
        return {number: Lease(*lease) for number, *lease in rows}

    def runs(self) -> list[Lease]:
        """Return the leases of the processes that run the study, or did."""
        with self._explained():
            return [Lease(**lease) for lease in self.facts().get(RUNS, [])]

    @contextmanager
    def transaction(self) -> Iterator[dict[int, Trial]]:
        """Hold the write lock; all that is written meanwhile is there afterwards, or nothing.

        Yields the trials that are written meanwhile, by id.

        Raises:
            BusyError: If another process writes for longer than one waits.
        """
        with self._lock:
            with self._explained(writing=True):
                is_inner = self._database.in_transaction
            if is_inner:
                yield self._written
                return
            with self._explained(writing=True):
                file = self.path.stat()
                if not os.path.samestat(file, self._file) or file.st_nlink > 1:
                    raise StudyError(
                        f"{str(self.path)!r} was moved or replaced since it was opened, or is "
                        "another name of a file. Nothing was written. Open the study where it is."
                    )
                self._database.execute("BEGIN IMMEDIATE")
            self._written = {}
            try:
                yield self._written
                with self._explained(writing=True):
                    self._database.execute("COMMIT")
            except BaseException:
                self._database.rollback()  # unless SQLite has done so
                raise
            if self._written:
                self._trials |= self._written
                self._seen = self._last_write

    def set_fact(self, name: str, value: Any) -> None:
        """Record a fact about the study, as JSON data, within a transaction."""
        self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, json.dumps(value))

    def set_lease(self, number: int, lease: Lease) -> None:
        """Record to whom a trial is given, within a transaction."""
        self._write(
            "UPDATE trials SET token = ?, holder = ?, lease_seconds = ?, heartbeat = ? "
            "WHERE id = ?",
            *(lease.token, lease.holder, lease.seconds, lease.heartbeat, number),
        )

    def write(
        self,
        *trials: Trial,
        episodes: Mapping[int, NDArray[np.float64]] | None = None,
        errors: Mapping[int, Mapping[int, str]] | None = None,
        seconds: Mapping[tuple[int, str], float] | None = None,
    ) -> None:
        """Add or change trials, within a transaction that knows all that others have written.

        Args:
            *trials: The trials.
            episodes: For trials with a new row, by id: the (N, E) returns it is the mean of.
            errors: For trials that were evaluated, by id and target: what went wrong there.
            seconds: By id and stage: seconds to be added.
        """
        episodes = episodes or {}
        for trial in trials:
            body = json.dumps(trial.updated(row=None).to_dict())
            returns = None if trial.row is None else trial.row.astype("<f8").tobytes()
            self._last_write = 1 + (self._read("SELECT MAX(changed) FROM trials")[0][0] or 0)
            self._write(
                "INSERT INTO trials (id, status, body, returns, changed) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body, "
                "returns = excluded.returns, changed = excluded.changed",
                *(trial.id, trial.status, body, returns, self._last_write),
            )
            self._written[trial.id] = trial
            if trial.row is None or trial.id in episodes:
                self._write("DELETE FROM episodes WHERE trial = ?", trial.id)
                self._write("DELETE FROM errors WHERE trial = ?", trial.id)
        for number, played in episodes.items():
            if played.shape[1] > 1:  # a single one is the row
                values = number, played.shape[1], played.astype("<f8").tobytes()
                self._write("INSERT INTO episodes VALUES (?, ?, ?)", *values)
        for number, failed in (errors or {}).items():
            for target, error in failed.items():
                self._write("INSERT OR REPLACE INTO errors VALUES (?, ?, ?)", number, target, error)
        for (number, stage), value in (seconds or {}).items():
            self._write(
                "INSERT INTO seconds VALUES (?1, ?2, ?3) "
                "ON CONFLICT (trial, stage) DO UPDATE SET seconds = seconds + ?3",
                *(number, stage, value),
            )

    def back_up(self, *, always: bool = False) -> None:
        """Copy the database, large ones not more than once a minute unless `always`.

        If the copy cannot be written, that is logged, or with `always` an error: everything is on
        record without it.
        """
        with suppress(OSError):
            about = self.backup_path.stat()
            is_young = abs(time.time() - about.st_mtime) < BACKUP_SECONDS  # or the clock was set
            if is_young and about.st_size > BACKUP_SIZE and not always:
                return
        try:
            with (
                self._lock,
                self._explained(writing=True),
                replaced_atomically(self.backup_path) as temporary,
            ):
                # The same as `Connection.backup`, without a second connection.
                self._database.execute("VACUUM INTO ?", (str(temporary),))
        except StudyError as error:
            if always or isinstance(error, DamagedStudyError):
                raise
            cause = error.__context__ or error
            _log.warning("Everything is recorded; its copy is not up to date: %s", cause)

    def check(self) -> None:
        """Have SQLite check the whole file."""
        problems = [text for (text,) in self._read("PRAGMA integrity_check(3)") if text != "ok"]
        links = self._read("PRAGMA foreign_key_check")
        problems += [f"a record in {table!r} belongs to no trial" for table, *_ in links[:3]]
        if problems:
            raise self._damaged("; ".join(" ".join(text.split()) for text in problems))
        for read in (self.facts, self.episodes, self.runs):
            read()

    def data_version(self) -> int:
        """Return a number that changes when another process has written."""
        return int(self._read("PRAGMA data_version")[0][0])

    def _read(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._database.execute(statement, values).fetchall()

    def _write(self, statement: str, *values: Any) -> None:
        if not self._database.in_transaction:
            raise RuntimeError("Records are written within a transaction.")
        with self._explained(writing=True):
            self._database.execute(statement, values)

    @contextmanager
    def _explained(self, *, writing: bool = False) -> Iterator[None]:
        """Tell a damaged file from one that cannot be read, or written, at present."""
        try:
            yield
        except StudyError:
            raise
        except sqlite3.ProgrammingError as error:
            raise StudyError(
                f"{str(self.path)!r} was closed, or is used in a way it cannot be: {error} "
                "Open the study again."
            ) from None
        except (sqlite3.Error, OSError, *_DAMAGES) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_TOOBIG:
                check_size(f"A record in {str(self.path)!r}", MAX_TEXT + 1, MAX_TEXT)
            if code in _BUSY:
                raise BusyError(
                    f"Another process is writing to {str(self.path)!r}, for more than "
                    f"{self.wait:g} s. Nothing was written. Try again when it has ended."
                ) from None
            reason = getattr(error, "strerror", None) or error
            if code not in _OUTER_CAUSES and not isinstance(error, OSError):
                raise self._damaged(reason) from None
            if writing:
                raise cannot_write(self.path, reason) from None
            raise StudyError(
                f"Cannot read {str(self.path)!r}: {reason}. If another process is writing, try "
                "again; otherwise check that the file may be read."
            ) from None

    def _damaged(self, reason: object) -> DamagedStudyError:
        return DamagedStudyError(
            f"The database {str(self.path)!r} is damaged ({reason}). What is left, and how to "
            f"continue: sdmbtl doctor {self.path.parent}"
        )


def connect(path: Path, wait: float, *, create: bool = False) -> sqlite3.Connection:
    """Open a database file that somebody else may have made, and nothing else in its place."""
    for end in ("", "-journal", "-wal", "-shm"):
        place = path.with_name(path.name + end)
        found = unsafe_path_reason(place, path.parent)
        if found is not None:
            raise ValueError(found)
        if end == "-journal" and place.exists():
            with place.open("rb") as file:
                file.seek(max(place.stat().st_size - len(_SUPER_JOURNAL), 0))
                if file.read() == _SUPER_JOURNAL:
                    raise ValueError(
                        f"{place.name} would have SQLite delete another file, so it is not opened; "
                        "move it away"
                    )
    if path.exists():
        check_size(path, path.stat().st_size, MAX_BYTES)
    mode = "mode=rwc" if create else "mode=rw"
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        mode = "immutable=1"  # SQLite cannot make a write-ahead log there
    database = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{mode}",
        uri=True,
        timeout=wait,
        isolation_level=None,  # transactions begin and end explicitly
        check_same_thread=False,  # heartbeats come from another thread, one at a time
    )
    try:
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("PRAGMA trusted_schema = OFF")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT)
    except BaseException:
        database.close()
        raise
    return database


def check_schema(database: sqlite3.Connection, path: Path) -> None:
    """Refuse other releases, and anything but plain tables: a view or a trigger can do anything."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    found = database.execute(_TABLES).fetchmany(100)
    if version != VERSION and {name for _, name, _ in found} & {"records", "facts"}:
        raise StudyError(
            f"{path} has format version {version or 'unknown'}; this release reads {VERSION}. "
            "Use the release of sdmbtl that wrote it."
        )
    if not found:
        raise ValueError("it has no tables: whoever made it was interrupted")
    for kind, name, sql in found:
        if sql is not None and sql not in SCHEMA:
            raise ValueError(f"{kind} {name!r} is not of a study")
    if not set(SCHEMA) <= {sql for *_, sql in found}:
        raise ValueError("a table is missing")


def to_array(blob: bytes) -> NDArray[np.float64]:
    """Return numbers that are stored as bytes."""
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)


def cannot_write(path: Path, reason: object, study: Path | None = None) -> StudyError:
    """Return the error for a file that could not be written."""
    return StudyError(
        f"Cannot write to {str(path)!r}: {reason}. This was not recorded; everything recorded "
        "before is kept. Make room, or give access, then try again; a run continues with: "
        f"sdmbtl resume {study or path.parent}"
    )
