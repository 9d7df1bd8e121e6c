"""Damaged and missing files: noticed, explained, and what was complete stays usable."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from small_study import open_small, outcome

from sdmbtl import ContextSpace
from sdmbtl.errors import BusyError, DamagedStudyError, StudyError
from sdmbtl.studies import Study, store
from sdmbtl.studies.doctor import examine, repair
from sdmbtl.studies.store import StudyStore


@pytest.fixture
def copied(finished, tmp_path):
    path = tmp_path / "study"
    shutil.copytree(finished.path, path)
    Study.open(path).close()  # all of it is in one file then
    return path


def cut(file, offset):
    content = file.read_bytes()
    file.write_bytes(content[:offset])


def scribble(file, offset):
    content = bytearray(file.read_bytes())
    for i in range(offset, min(offset + 16, len(content))):
        content[i] ^= 0xFF
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("how", [cut, scribble])
@pytest.mark.parametrize("number", range(6))
def test_damaged_database(how, number, copied, reference):
    """Pages that SQLite finds damaged are restored from the copy; nothing is made up."""
    size = (copied / "study.db").stat().st_size
    page = int(np.random.default_rng(number).integers(size // 4096)) if number else 0
    how(copied / "study.db", page * 4096)
    diagnosis = examine(copied)
    if how is cut or number == 0:
        assert not diagnosis.healthy
    if not diagnosis.healthy:
        assert "--repair puts the copy" in diagnosis.findings[0].remedy
        fixed = repair(copied)
        assert fixed.healthy, fixed.findings
        assert any("damaged-study.db" in text for text in fixed.repaired)
        study = Study.open(copied)
        assert outcome(study) == reference
        assert len(study.portfolio()) == 4


def test_both_databases_damaged(copied):
    cut(copied / "study.db", 100)
    cut(copied / "study.backup.db", 5000)
    diagnosis = repair(copied)
    assert not diagnosis.healthy
    assert "no intact copy" in " ".join(f.remedy or "" for f in diagnosis.findings)


def test_older_copy_loses_only_what_came_later(copied, reference, tmp_path):
    """The copy is from before the last policy: that one is trained again, and is the same."""
    early = open_small(tmp_path / "early")
    early.run(budget=3)
    shutil.copy(early.path / "study.backup.db", copied / "study.backup.db")
    cut(copied / "study.db", 3000)
    assert repair(copied).healthy
    study = Study.open(copied)
    assert study.n_finished == 3
    study.run(budget=4)
    assert outcome(study) == reference


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_lost_policy(how, copied, finished):
    file = copied / "policies" / "0001.safetensors"
    if how == "missing":
        file.unlink()
    else:
        scribble(file, 3000)
    study = Study.open(copied)
    assert study.n_finished == 4  # its returns are known
    with pytest.warns(UserWarning, match=f"0001.safetensors is {how}"):
        portfolio = study.portfolio()
    assert [m.id for m in portfolio] == [0, 2, 3]
    diagnosis = examine(copied)
    assert f"0001.safetensors is {how}" in diagnosis.findings[1].text
    assert "--forget" in diagnosis.findings[1].remedy
    assert not repair(copied).repaired
    study = Study.open(copied)
    assert study.n_finished == 4, "a repair gives no returns up"
    study.forget(1)
    assert examine(copied).healthy


def test_policy_lost_before_evaluation(tmp_path, finished):
    path = tmp_path / "study"

    def stop(event):
        if event.stage == "trained" and event.trial.id == 1:
            raise KeyboardInterrupt

    study = open_small(path)
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=4, callbacks=[stop])
    study.files.path(1).unlink()
    study.run(budget=4)
    assert outcome(study) == outcome(finished)


def test_damage_never_reaches_the_copy(copied, reference):
    size = (copied / "study.db").stat().st_size
    for page in range(2, size // 4096):
        scribble(copied / "study.db", page * 4096)
    with pytest.raises(DamagedStudyError):
        Study.open(copied).store.back_up(always=True)
    assert repair(copied).healthy
    assert outcome(Study.open(copied)) == reference


@pytest.mark.parametrize("how", [Path.unlink, lambda file: cut(file, 5000)])
def test_a_lost_copy_is_made_again(how, copied, reference):
    how(copied / "study.backup.db")
    assert "Copy of the database" in examine(copied).findings[1].text
    Study.open(copied).store.back_up()
    (copied / "study.db").unlink()
    assert repair(copied).healthy
    assert outcome(Study.open(copied)) == reference


def test_a_large_copy_is_made_once_a_minute(copied, monkeypatch):
    study, backup = Study.open(copied), copied / "study.backup.db"
    before = backup.stat().st_mtime_ns
    monkeypatch.setattr(store, "BACKUP_SIZE", 0)
    study.ask()
    study.store.back_up()
    assert backup.stat().st_mtime_ns == before
    os.utime(backup, (0, 0))
    study.store.back_up()
    assert len(StudyStore(backup).trials(study.space)) == len(study.trials)


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_lost_database_is_not_replaced_by_a_new_study(harm, tmp_path):
    space = ContextSpace(x=[0.0, 1.0])
    study = Study.open(tmp_path / "study", space=space)
    study.tell(study.ask(), [1.0, 2.0])
    study.close()
    harm(study.store.path)
    with pytest.raises(DamagedStudyError, match="doctor"):
        Study.open(study.path, space=space)
    assert repair(study.path).healthy
    assert Study.open(study.path, space=space).n_finished == 1


def test_a_view_or_a_trigger_is_not_of_a_study(copied):
    with closing(sqlite3.connect(copied / "study.db")) as file:
        file.execute("CREATE TRIGGER t AFTER INSERT ON facts BEGIN SELECT 1; END")
    with pytest.raises(DamagedStudyError, match="trigger 't' is not of a study"):
        Study.open(copied)


def test_a_study_of_another_release_is_not_damaged(copied):
    with closing(sqlite3.connect(copied / "study.db")) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(StudyError, match="format version 99") as caught:
        Study.open(copied)
    assert not isinstance(caught.value, DamagedStudyError)


def test_a_study_that_is_moved_or_linked_is_not_written(copied, tmp_path):
    study = Study.open(copied)
    (tmp_path / "link.db").hardlink_to(copied / "study.db")
    with pytest.raises(StudyError, match="another name"):
        study.ask()
    (tmp_path / "link.db").unlink()
    copied.rename(tmp_path / "moved")
    with pytest.raises(StudyError, match="No such file"):
        study.ask()
    assert len(Study.open(tmp_path / "moved").trials) == 4


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("SQLITE_PROTOCOL", BusyError),
        ("SQLITE_BUSY", BusyError),
        ("SQLITE_NOMEM", StudyError),
        ("SQLITE_IOERR", StudyError),
        ("SQLITE_FULL", StudyError),
        ("SQLITE_CORRUPT", DamagedStudyError),
        ("SQLITE_NOTADB", DamagedStudyError),
        ("", StudyError),
    ],
)
def test_trouble_around_a_file_is_not_damage(code, kind, tmp_path):
    study = Study.open(tmp_path / "study", space=ContextSpace(x=[0.0, 1.0]))

    class Failing:
        in_transaction = False

        def execute(self, *_):
            error = sqlite3.OperationalError("no luck")
            error.sqlite_errorcode = getattr(sqlite3, code)
            raise error

    study.close()
    if code:
        study.store._database = Failing()
    for use in (study.store.facts, study.ask):
        with pytest.raises(StudyError) as caught:
            use()
        assert type(caught.value) is kind


def test_healthy_study(finished):
    diagnosis = examine(finished.path)
    assert diagnosis.healthy
    assert [f.level for f in diagnosis.findings] == ["ok", "ok"]
    assert diagnosis.findings[0].text == "The database is intact: 4 finished."
    assert diagnosis.to_dict()["healthy"] is True
