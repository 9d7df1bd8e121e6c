"""Damaged and missing files: noticed, explained, and what was complete stays usable."""

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from small_study import open_small, outcome

from sdmbtl import ContextSpace
from sdmbtl.errors import DamagedStudyError, StudyError
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine, repair


@pytest.fixture
def copied(finished, tmp_path):
    path = tmp_path / "study"
    shutil.copytree(finished.path, path)
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
@pytest.mark.parametrize("number", range(12))
def test_damaged_database(how, number, copied, reference):
    size = (copied / "study.db").stat().st_size
    offset = 0 if number == 0 else int(np.random.default_rng(number).integers(size))
    how(copied / "study.db", offset)
    diagnosis = examine(copied)
    if not diagnosis.healthy:
        # Opening reads the trials, the doctor everything; nobody is given wrong numbers.
        with pytest.raises(DamagedStudyError, match=r"damaged.*doctor"):
            outcome(Study.open(copied))
        assert any("0003.safetensors is intact" in f.text for f in diagnosis.findings)
        fixed = repair(copied)
        assert fixed.healthy, fixed.findings
        assert any("damaged-study.db" in text for text in fixed.repaired)
    study = Study.open(copied)
    # Where nothing was noticed, unused room of the file was hit: all is as it was.
    assert outcome(study) == reference
    assert len(study.portfolio()) == 4


def test_missing_database(copied, reference):
    (copied / "study.db").unlink()
    with pytest.raises(DamagedStudyError, match="There is no database.*doctor"):
        Study.open(copied)
    assert repair(copied).healthy
    assert outcome(Study.open(copied)) == reference


def test_both_databases_damaged(copied):
    cut(copied / "study.db", 100)
    cut(copied / "study.backup.db", 5000)
    diagnosis = repair(copied)
    assert not diagnosis.healthy
    assert "no intact copy" in " ".join(f.remedy or "" for f in diagnosis.findings)
    assert "trained on {'length'" in " ".join(f.text for f in diagnosis.findings)


def test_older_copy_loses_only_what_came_later(copied, reference, tmp_path):
    """The copy is from before the last policy: that one is trained again, and is the same."""
    early = open_small(tmp_path / "early")
    early.run(budget=3)
    shutil.copy(early.path / "study.backup.db", copied / "study.backup.db")
    cut(copied / "study.db", 3000)
    text = " ".join(f.remedy or "" for f in examine(copied).findings)
    assert "3 finished; lost are the records of 1 later policies" in text
    assert repair(copied).healthy
    study = Study.open(copied)
    assert study.n_finished == 3
    study.run(budget=4)
    assert outcome(study) == reference


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_lost_policy(how, copied, reference):
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
    fixed = repair(copied)
    assert not fixed.repaired
    assert "--retrain-missing" in fixed.findings[1].remedy
    study = Study.open(copied)
    assert study.n_finished == 4, "a repair gives no returns up"
    study.run(budget=4)
    assert examine(copied).findings == diagnosis.findings, "it is trained again on request only"
    study.run(budget=4, retrain_missing=True)
    assert outcome(study) == reference
    assert examine(copied).healthy


def test_policy_lost_before_evaluation(tmp_path, reference):
    path = tmp_path / "study"

    def stop(event):
        if event.stage == "trained" and event.trial.id == 1:
            raise KeyboardInterrupt

    study = open_small(path)
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=4, callbacks=[stop])
    study.policy_path(1).unlink()
    study.run(budget=4)
    assert outcome(study) == reference


def test_damage_never_reaches_the_copy(copied, reference):
    """Neither of what the copy has already, nor of what is new since."""
    study = Study.open(copied)
    content = (copied / "study.db").read_bytes()
    scribble(copied / "study.db", content.index(study.trials[2].row.tobytes()))
    study.database.back_up()
    new = study.trials[3].updated(row=study.trials[3].row + 0.125)
    study.record(new)
    content = (copied / "study.db").read_bytes()
    scribble(copied / "study.db", content.index(new.row.tobytes()))
    with pytest.raises(DamagedStudyError, match="has changed on disk"):
        study.database.back_up()
    assert repair(copied).healthy
    assert outcome(Study.open(copied)) == reference


def test_damaged_episodes_are_noticed_when_they_are_read(copied, reference):
    study = Study.open(copied)
    content = (copied / "study.db").read_bytes()
    scribble(copied / "study.db", content.index(study.returns[1].tobytes()[:64]))
    again = Study.open(copied)
    assert again.performance == study.performance
    with pytest.raises(DamagedStudyError, match="checksum of episodes 1 is wrong.*doctor"):
        _ = again.returns
    assert not examine(copied).healthy
    assert repair(copied).healthy
    assert outcome(Study.open(copied)) == reference


@pytest.mark.parametrize("how", [Path.unlink, lambda file: cut(file, 5000)])
def test_a_lost_copy_is_made_anew(how, copied, reference):
    how(copied / "study.backup.db")
    Study.open(copied).database.back_up()
    (copied / "study.db").unlink()
    assert repair(copied).healthy
    assert outcome(Study.open(copied)) == reference


def test_a_backup_writes_what_has_changed(copied):
    """Not the other trials: their records in the copy are not touched."""
    study = Study.open(copied)
    backup = copied / "study.backup.db"
    before = backup.read_bytes()
    study.database.back_up()
    assert study.annotate(0, job=17).attributes == {"job": 17}
    study.database.back_up()
    both = []
    for file in (backup, copied / "study.db"):
        with closing(sqlite3.connect(file)) as opened:
            both.append(opened.execute("SELECT kind, key, digest FROM records").fetchall())
    assert sorted(both[0], key=str) == sorted(both[1], key=str)
    at = before.index(study.returns[2].tobytes()[:64])
    assert backup.read_bytes()[at : at + 64] == before[at : at + 64]


def test_the_doctor_runs_no_foreign_code(tmp_path, monkeypatch):
    (tmp_path / "foreign.py").write_text(
        "import gymnasium\ndef make(context):\n    return gymnasium.make('CartPole-v1')\n"
    )
    monkeypatch.chdir(tmp_path)
    Study.open(tmp_path / "study", "foreign:make", space=ContextSpace(length=[0.1, 0.2]))
    (tmp_path / "foreign.py").write_text("raise SystemExit('I was imported')")
    sys.modules.pop("foreign", None)
    diagnosis = examine(tmp_path / "study")
    assert [finding.text for finding in diagnosis.findings[-2:]] == [
        "To train or evaluate, this is imported, called or written to: the function "
        "'foreign:make'. You made this study here, so it is trusted.",
        "The environment 'foreign:make' is your own; it was not tried.",
    ]
    copied = shutil.copytree(tmp_path / "study", tmp_path / "copy")
    assert "copied, so it is not trusted" in examine(copied).findings[-2].text


def test_healthy_study(finished):
    diagnosis = examine(finished.path)
    assert diagnosis.healthy
    assert [f.level for f in diagnosis.findings] == ["ok", "ok", "ok"]
    assert diagnosis.findings[0].text == "The database is intact: 4 finished."
    assert diagnosis.to_dict()["healthy"] is True


def test_no_study(tmp_path):
    with pytest.raises(StudyError, match="There is not a study in"):
        examine(tmp_path)
