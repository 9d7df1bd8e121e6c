"""The state of a study in one SQLite file.

Every change is one transaction: after a crash at any moment the file holds the state before the
change or after it. Every record carries a checksum and all of them together a seal, so that one
that has changed, is missing, or was put back is noticed. A copy of the file is kept as of the last
finished policy, with which a damaged file can be repaired.

Trials and their rows are read when a study is opened. The returns of single episodes, ten times as
many numbers, are records of their own and are read when they are asked for.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BusyError, DamagedStudyError, StudyError
from sdmbtl.files import free_name, replaced_atomically
from sdmbtl.foreign import MAX_TEXT, check_size, parse_json
from sdmbtl.lock import exclusive, find_holder
from sdmbtl.selectors import Trial
from sdmbtl.studies.leases import Lease
from sdmbtl.studies.records import (
    SCHEMA,
    Kind,
    Record,
    all_records,
    check_schema,
    connect,
    delete_record,
    find_record,
    insert_record,
    one_record,
    put_record,
    put_seal,
    read_seal,
    record_digest,
    sealed_digests,
    to_array,
    to_bytes,
)
from sdmbtl.transfer import scale_of

VERSION = 6

_log = logging.getLogger(__name__)

#: What SQLite reports when not the file but its surroundings are the trouble.
_OUTER_CAUSES = (
    *(_BUSY := (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)),
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)

#: What records raise that are not those of a study.
_DAMAGES = (*(ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError),)


class StudyDatabase:
    """Reads and writes the database of a study.

    Args:
        path: The file.
        wait: Seconds to wait for other processes that write.
    """

    def __init__(self, path: Path, wait: float = 30.0) -> None:
        self.path = path
        self.wait = check_float("wait", wait, low=0.0, error=StudyError)
        self._connection: sqlite3.Connection | None = None
        #: Each trial that was read or written here, with its checksum.
        self._trials: dict[int, tuple[str, Trial]] = {}

    @property
    def backup_path(self) -> Path:
        """The copy as of the last finished policy."""
        return self.path.with_suffix(".backup.db")

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock of the study, to write: one process at a time does, for a moment.

        Raises:
            BusyError: If another process holds it for longer than one waits.
            StudyError: If it cannot be written.
        """
        return exclusive(
            self.path.with_suffix(".lock"),
            doing="writing to the study",
            meanwhile="; then do the same again",
            error=StudyError,
            busy=BusyError,
            wait=self.wait,
        )

    def running(self) -> AbstractContextManager[None]:
        """Hold the lock of who trains and evaluates: one process at a time, without waiting.

        Raises:
            BusyError: If another process holds it.
            StudyError: If it cannot be written.
        """
        return exclusive(
            self.path.with_suffix(".run.lock"),
            doing="running the study",
            meanwhile="; status, ask and tell may be used meanwhile, and --join works beside it",
            error=StudyError,
            busy=BusyError,
        )

    def find_worker(self) -> int | None:
        """Number of the process that runs the study now; None if there is none."""
        return find_holder(self.path.with_suffix(".run.lock"))

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Use one connection for all that is done meanwhile; otherwise each call opens its own.

        Raises:
            DamagedStudyError: If there is no file.
        """
        if self._connection is not None:
            yield self._connection
            return
        if not os.path.lexists(self.path):
            raise DamagedStudyError(
                f"There is no database {str(self.path)!r}. Run: sdmbtl doctor {self.path.parent}"
            )
        with self._explained():
            connection = connect(self.path)
        with closing(connection):
            with self._explained():
                check_schema(connection)
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
            closing(connect(temporary)) as database,
        ):
            database.execute(SCHEMA)
            for name, value in {"version": VERSION, **facts}.items():
                put_record(database, "fact", name, value)
            put_seal(database, writes=1)
            database.commit()

    # -- facts ---------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What was set with `create` and `set_fact`."""
        texts = self._fact_texts()
        with self._explained():
            return {name: parse_json(text) for name, text in texts.items()}

    def _fact_texts(self) -> dict[str, str]:
        """Every fact as it is kept, intact and of this release."""
        with self._reading() as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
            texts = {"version": "1"}
            if "facts" not in tables:  # the table of version 1
                texts = {name: text for _, name, _, text, _ in all_records(database, "fact")}
            version = parse_json(texts["version"])
        if version != VERSION:
            raise StudyError(
                f"{self.path} has format version {version!r}; this release reads {VERSION}. "
                "Use the release of sdmbtl that wrote it."
            )
        return texts

    def set_fact(self, name: str, value: Any) -> None:
        """Keep a fact about the study, as JSON data."""
        with self._writing() as database:
            put_record(database, "fact", name, value)

    # -- trials --------------------------------------------------------------------------------

    def trials(self, space: ContextSpace) -> list[Trial]:
        """Every trial, in order; those that were read or written here before are the same objects.

        Only what has changed since, in another process, is read again.
        """
        with self._reading() as database:
            every = sealed_digests(database).items()
            now = {key: digest for (kind, key), digest in every if kind == "trial"}
            for number, digest in now.items():
                if number not in self._trials or self._trials[number][0] != digest:
                    # Another process may have changed it at this very moment: its own checksum.
                    _, _, digest, text, data = one_record(database, "trial", number)
                    row = None if data is None else to_array(data)
                    trial = Trial.from_dict({**parse_json(text), "row": row}, number, space)
                    self._trials[number] = digest, trial
        self._trials = {number: self._trials[number] for number in sorted(now)}
        return [trial for _, trial in self._trials.values()]

    def episodes(self) -> dict[int, NDArray[np.float64]]:
        """(N, E) returns of the episodes of each trial that has more than one on a target."""
        with self._reading() as database:
            return {
                number: to_array(data or b"").reshape(-1, parse_json(count))
                for _, number, _, count, data in all_records(database, "episodes")
            }

    def errors(self) -> dict[int, dict[int, str]]:
        """By trial and target: why a policy could not be evaluated there."""
        with self._reading() as database:
            return {
                number: {int(target): error for target, error in parse_json(text).items()}
                for _, number, _, text, _ in all_records(database, "errors")
            }

    def seconds(self) -> dict[int, dict[str, float]]:
        """For each trial the seconds of its stages."""
        with self._reading() as database:
            return {
                key: parse_json(text) for _, key, _, text, _ in all_records(database, "seconds")
            }

    def leases(self) -> dict[int, Lease]:
        """The lease of each trial that was ever lent."""
        with self._reading() as database:
            return {
                key: Lease.from_dict(parse_json(text))
                for _, key, _, text, _ in all_records(database, "lease")
            }

    def lease(self, number: int) -> Lease | None:
        """The lease of a trial; None if it was never lent."""
        with self._reading() as database:
            found = find_record(database, "lease", number)
            return None if found is None else Lease.from_dict(parse_json(found[3]))

    def set_leases(self, leases: Mapping[int, Lease]) -> None:
        """Keep leases, by the ids of the trials."""
        if leases:
            with self._writing() as database:
                for number, lease in leases.items():
                    put_record(database, "lease", number, lease.to_dict())

    def superseded(self) -> list[dict[str, Any]]:
        """Results that came too late to count: the trial, the token, what and when."""
        with self._reading() as database:
            return [
                parse_json(text) | {"row": None if data is None else to_array(data)}
                for *_, text, data in all_records(database, "superseded")
            ]

    def add_superseded(
        self, trial: int, token: int, what: str, row: NDArray[np.float64] | None = None
    ) -> None:
        """Keep a result that does not count."""
        with self._writing() as database:
            (count,) = database.execute(
                "SELECT COUNT(*) FROM records WHERE kind = 'superseded'"
            ).fetchone()
            data = None if row is None else to_bytes(row)
            text = {"trial": trial, "token": token, "result": what}
            put_record(database, "superseded", count, text, data)

    def write(
        self,
        *trials: Trial,
        episodes: Mapping[int, NDArray[np.float64]] | None = None,
        errors: Mapping[int, Mapping[int, str]] | None = None,
        seconds: Mapping[tuple[int, str], float] | None = None,
        leases: Mapping[int, Lease] | None = None,
    ) -> None:
        """Add trials, or change those that were read here; all of them or none.

        A trial that is new here is added, never put in the place of another one. One that another
        process has changed since it was read stays as that one wrote it.

        Args:
            *trials: The trials.
            episodes: For trials with a new row, by id: the (N, E) returns it is the mean of.
            errors: For trials that were evaluated, by id and target: what went wrong there.
            seconds: By id and stage: how much longer that took, to be added.
            leases: By id: to whom a trial is lent now.

        Raises:
            BusyError: If another process has written one of the trials since.
        """
        episodes = episodes or {}
        times = self.seconds() if seconds else {}
        written = {}
        with self._writing() as database:
            for trial in trials:
                written[trial.id] = self._put_trial(database, trial), trial
                if trial.row is None or trial.id in episodes:
                    delete_record(database, "episodes", trial.id)
                    delete_record(database, "errors", trial.id)
            for number, returns in episodes.items():
                if returns.shape[1] > 1:  # a single one is the row
                    put_record(database, "episodes", number, returns.shape[1], to_bytes(returns))
            for number, failed in (errors or {}).items():
                if failed:
                    put_record(database, "errors", number, dict(failed))
            for (number, stage), value in (seconds or {}).items():
                stages = times.setdefault(number, {})
                stages[stage] = stages.get(stage, 0.0) + value
                put_record(database, "seconds", number, stages)
            for number, lease in (leases or {}).items():
                put_record(database, "lease", number, lease.to_dict())
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
                for _ in all_records(database, kind):
                    pass
            sealed_digests(database)

    def back_up(self) -> None:
        """Bring the copy to the present state: what has changed since is written, if intact.

        A copy that is missing or damaged is made anew. If it cannot be written, that is logged:
        everything is on record without it, and the next call makes up for it.

        Raises:
            DamagedStudyError: If what is to be copied is damaged; the copy stays as it was.
        """
        with self.opened():
            try:
                if not self._brought_up_to_date(StudyDatabase(self.backup_path)):
                    self.make_backup()
            except DamagedStudyError:
                raise
            except StudyError as error:
                _log.warning(
                    "Everything is recorded in %r, but its copy %r is not up to date (%s). The "
                    "next write to the study makes up for it.",
                    str(self.path),
                    self.backup_path.name,
                    str(error).partition(". ")[0],
                )

    def make_backup(self) -> None:
        """Make the copy anew, in full.

        A copy that has later records than the database is kept under another name: an older file
        has come into the place of the database.
        """
        if self.is_behind(StudyDatabase(self.backup_path)):
            with self._explained(writing=True, file=self.backup_path):
                self.backup_path.rename(free_name(self.backup_path.with_name("later-study.db")))
        with (
            self._explained(writing=True, file=self.backup_path),
            replaced_atomically(self.backup_path) as temporary,
        ):
            with self.opened() as source, closing(connect(temporary)) as copy:
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
                copy._fact_texts()  # of this release, and intact
                with copy._reading() as there:
                    before = sealed_digests(there)
            except StudyError:
                return False
            if self._has_fewer_writes(copy):
                return False
            changed, gone = self._changes(before)
            try:
                with copy._changing() as there:
                    for key in gone:
                        delete_record(there, *key)
                    for record in changed:
                        insert_record(there, record)
            except DamagedStudyError:
                return False
        return True

    def _changes(
        self, before: Mapping[tuple[Kind, Any], str]
    ) -> tuple[list[Record], list[tuple[Kind, Any]]]:
        """The records that are new or changed, and the keys of those that are gone."""
        try:
            with self._reading() as database:
                now = sealed_digests(database)
                differing = [key for key, digest in now.items() if before.get(key) != digest]
                records = [one_record(database, *key) for key in differing]
        except DamagedStudyError:
            raise self._damaged() from None
        return records, [key for key in before if key not in now]

    def is_behind(self, other: StudyDatabase) -> bool:
        """Whether another file has a later state of the study; not if it is damaged."""
        try:
            other._fact_texts()
            with other._reading() as there:
                sealed_digests(there)
        except StudyError:
            return False
        return self._has_fewer_writes(other)

    def _has_fewer_writes(self, other: StudyDatabase) -> bool:
        """Whether an intact file has a later state of the study."""
        with other._reading() as there:
            later = read_seal(there)
        with self._reading() as here:
            own = read_seal(here)
        return any(later[name] > own[name] for name in ("writes", "trials"))

    def intact_records(self) -> dict[tuple[Kind, Any], Record]:
        """Every record that can be read and has its checksum, also of a damaged file."""
        found: dict[tuple[Kind, Any], Record] = {}
        for order in ("ASC", "DESC"):  # up to the damage, from the front and from behind
            try:
                with self._reading() as database:
                    scan = f"SELECT * FROM records ORDER BY rowid {order}"  # noqa: S608 (ours)
                    for kind, key, digest, text, data in database.execute(scan):
                        if record_digest(kind, key, text, data) == digest:
                            found[kind, key] = kind, key, digest, text, data
            except StudyError:
                continue
        return found

    def rebuild(self, records: Iterable[Record]) -> None:
        """Make the file anew from records; it is there with all of them, or not at all."""
        with (
            self._explained(writing=True),
            replaced_atomically(self.path) as temporary,
            closing(connect(temporary)) as database,
        ):
            database.execute(SCHEMA)
            writes = 0
            for record in records:
                if record[0] == "seal":
                    writes = max(writes, int(parse_json(record[3])["writes"]))
                else:
                    insert_record(database, record)
            put_seal(database, writes=writes + 1)
            database.commit()

    # -- inside --------------------------------------------------------------------------------

    def _put_trial(self, database: sqlite3.Connection, trial: Trial) -> str:
        """Add a trial, or change the one that was read here; returns its checksum."""
        text = json.dumps(trial.updated(row=None).to_dict())
        data = None if trial.row is None else to_bytes(trial.row)
        digest = record_digest("trial", trial.id, text, data)
        is_new = trial.id not in self._trials
        try:
            if is_new:
                done = database.execute(
                    "INSERT INTO records VALUES ('trial', ?, ?, ?, ?)",
                    (trial.id, digest, text, data),
                )
            else:
                done = database.execute(
                    "UPDATE records SET digest = ?, text = ?, data = ? "
                    "WHERE kind = 'trial' AND key = ? AND digest = ?",
                    (digest, text, data, trial.id, self._trials[trial.id][0]),
                )
        except sqlite3.IntegrityError:
            done = None
        if done is None or done.rowcount != 1:
            raise BusyError(
                f"Trial {trial.id} of the study in {str(self.path.parent)!r} was "
                f"{'added' if is_new else 'changed'} by another process meanwhile. That stays as "
                "it is, and nothing else was written. Try again."
            )
        return digest

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self.opened() as database, self._explained():
            yield database

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Change records, and seal them; a file that has lost some is not sealed again."""
        with self._changing() as database:
            sealed_digests(database)
            writes = read_seal(database)["writes"]
            yield database
            put_seal(database, writes=writes + 1)

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self.opened() as database, self._explained(writing=True), database:
            database.execute("BEGIN IMMEDIATE")
            yield database

    @contextmanager
    def _explained(self, *, writing: bool = False, file: Path | None = None) -> Iterator[None]:
        """Tell a damaged file from one that cannot be read, or written, at present."""
        file = file or self.path
        try:
            yield
        except (sqlite3.DatabaseError, *_DAMAGES) as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_TOOBIG:
                check_size(f"A record in {str(self.path)!r}", MAX_TEXT + 1, MAX_TEXT)
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in _OUTER_CAUSES:
                raise self._damaged(error) from None
            if code in _BUSY:
                raise BusyError(
                    f"Cannot use {str(self.path)!r} at present: another program has locked it "
                    f"({error}). Nothing was written. Try again when it has ended."
                ) from None
            if writing:
                raise cannot_write(file, error) from None
            raise self._unreadable(error) from None
        except OSError as error:
            if writing:
                raise cannot_write(file, error.strerror or error) from None
            raise self._unreadable(error.strerror or error) from None

    def _unreadable(self, reason: object) -> StudyError:
        return StudyError(
            f"Cannot read {str(self.path)!r}: {reason}. If another process is writing, try again; "
            "otherwise check that the file may be read."
        )

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
        f"Cannot write to {str(path)!r}: {error}. This was not recorded; everything recorded "
        "before is kept. Make room, or give access, then do the same again; a run continues with: "
        f"sdmbtl resume {study or path.parent}"
    )
