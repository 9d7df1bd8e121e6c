"""Records that are missing, put back or written by others: noticed, named, never replaced."""

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import BusyError, DamagedStudyError
from sdmbtl.studies import Study, database
from sdmbtl.studies.doctor import examine, repair

SPACE = ContextSpace(a=range(10))
ROWS = np.arange(100.0).reshape(10, 10)


@pytest.fixture
def study(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE, selector="random")
    for row in ROWS[:5]:
        study.tell(study.ask(), np.stack([row, row + 1], axis=1))
    return study


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as opened, opened:
        assert opened.execute(statement, values).rowcount == 1


def rows(path):
    return [None if t.row is None else t.row.tolist() for t in Study.open(path).trials]


@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_missing_trial_is_named_and_nothing_takes_its_place(number, study):
    before = rows(study.path)
    change(study.database.path, "DELETE FROM records WHERE kind = 'trial' AND key = ?", number)
    with pytest.raises(DamagedStudyError, match=f"trial {number} of 5 is missing.*doctor"):
        Study.open(study.path)
    for write in (study.ask, lambda: study.tell([9.0], ROWS[9]), lambda: study.annotate(0, a=1)):
        with pytest.raises(DamagedStudyError, match="is missing"):
            write()
    with pytest.raises(DamagedStudyError, match="is missing"):
        study.database.set_fact("budget", 3)
    with pytest.raises(DamagedStudyError):
        study.database.back_up()
    assert not examine(study.path).healthy
    assert repair(study.path).healthy
    assert rows(study.path) == before


@pytest.mark.parametrize("kind", ["episodes", "fact", "seal"])
def test_any_record_that_is_missing_is_noticed(kind, study):
    before = rows(study.path)
    key = {"episodes": 3, "fact": "versions", "seal": 0}[kind]
    change(study.database.path, "DELETE FROM records WHERE kind = ? AND key = ?", kind, key)
    with pytest.raises(DamagedStudyError, match="missing"):
        Study.open(study.path)
    assert repair(study.path).healthy
    assert rows(study.path) == before
    assert len(Study.open(study.path).episodes()) == 5


def test_an_older_record_that_is_put_back_is_noticed(study):
    with closing(sqlite3.connect(study.database.path)) as opened:
        old = opened.execute("SELECT * FROM records WHERE kind = 'trial' AND key = 2").fetchone()
    study.tell(2, ROWS[8], correct=True)
    with closing(sqlite3.connect(study.database.path)) as opened, opened:
        opened.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", old)
    with pytest.raises(DamagedStudyError, match="not the one that was written last"):
        Study.open(study.path)


def test_a_trial_of_another_process_is_never_replaced(study, monkeypatch):
    """Not even if the lock fails, as on some network drives."""
    other = Study.open(study.path)
    new, known = other.selector.next_trials(1)[0], other.trials[1]
    study.tell(study.ask(), ROWS[5])
    study.tell(1, ROWS[6], correct=True)
    for trial, what in ((new, "added"), (known.updated(row=ROWS[9]), "changed")):
        with pytest.raises(BusyError, match=f"Trial {trial.id} .* was {what} by another process"):
            other.database.write(trial)
    assert rows(study.path)[1] == ROWS[6].tolist()
    assert rows(study.path)[5] == ROWS[5].tolist()


def test_later_records_of_a_damaged_file_are_taken_over(study, monkeypatch):
    """The copy is older: a repair joins both."""
    monkeypatch.setattr(study.database, "back_up", lambda: None)
    study.tell(study.ask(), ROWS[5])
    study.tell(0, ROWS[7], correct=True)
    before = rows(study.path)
    content = bytearray(study.database.path.read_bytes())
    at = content.index(study.trials[3].row.tobytes())  # which the copy has
    content[at : at + 8] = bytes(8)
    study.database.path.write_bytes(bytes(content))
    assert not examine(study.path).healthy
    done = repair(study.path)
    assert done.healthy
    assert rows(study.path) == before
    assert "later records" in " ".join(done.repaired)


def test_a_copy_with_later_records_is_kept(study, tmp_path):
    older = tmp_path / "older.db"
    shutil.copy(study.database.path, older)
    study.tell(study.ask(), ROWS[5])
    shutil.copy(older, study.database.path)
    found = [f.text for f in examine(study.path).findings if f.level == "problem"]
    assert "The copy of the database has later records" in found[0]
    again = Study.open(study.path)
    again.annotate(0, job=1)
    again.database.back_up()
    kept = database.StudyDatabase(study.path / "later-study.db")
    assert kept.trials(SPACE)[5].row.tolist() == ROWS[5].tolist()
    assert examine(study.path).healthy


# -- the copy -----------------------------------------------------------------------------------


def test_a_copy_that_cannot_be_written_is_made_up_for(study, monkeypatch, caplog):
    """What is recorded is recorded: the caller is not told to do it again."""
    connect = database.connect

    def full(path):
        if "backup" in path.name:
            raise OSError(28, "No space left on device")
        return connect(path)

    trial = study.ask()
    with monkeypatch.context() as patch:
        patch.setattr(database, "connect", full)
        assert study.tell(trial, ROWS[5]).status == "finished"
    assert "Everything is recorded" in caplog.text
    assert "No space left on device). The next write" in caplog.text
    copy = database.StudyDatabase(study.database.backup_path)
    assert copy.trials(SPACE)[5].status == "pending"
    study.ask()
    assert copy.trials(SPACE)[5].row.tolist() == ROWS[5].tolist()


def test_what_is_not_recorded_is_said(study, monkeypatch):
    trial = study.ask()

    def full(*_, writes):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(database, "put_seal", full)
    with pytest.raises(database.StudyError, match="disk is full. This was not recorded; .* kept"):
        study.tell(trial, ROWS[5])
    monkeypatch.undo()
    assert Study.open(study.path).trials[5].status == "pending"
    assert study.tell(trial, ROWS[5]).status == "finished"


def test_a_study_that_became_shorter_can_be_used_on(study):
    """Somebody has put an older file in its place while it was open here."""
    older = study.database.path.read_bytes()
    trial = study.ask()
    study.database.path.write_bytes(older)
    assert study.ask().id == trial.id
