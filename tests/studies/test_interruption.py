"""Killed at any stage, a study continues to the same contexts, bytes and summary."""

import os
import signal

import pytest
from small_study import open_small, outcome

from sdmbtl import SdmbtlError
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine, repair

KILLED = -signal.SIGKILL


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("training", 4),  # at the end of the second
        *(
            pytest.param(*when, marks=pytest.mark.slow)
            for when in (("asked", 1), ("trained", 1), ("evaluating", 3), ("finished", 2))
        ),
    ],
)
def test_killed_and_resumed(stage, number, tmp_path, run_script, reference):
    path = tmp_path / "study"
    assert run_script("killed_run.py", path, stage, number).returncode == KILLED
    study = Study.open(path)
    assert study.run(budget=4) == "the budget of 4 policies is used"
    assert outcome(study) == reference


def test_killed_while_writing(tmp_path, run_script, reference):
    path = tmp_path / "study"
    assert run_script("killed_run.py", path, "saving", 1).returncode == KILLED
    (leftover,) = (path / "policies").glob(".*.tmp")
    assert repair(path).repaired == [], "another process may be writing it"
    yesterday = leftover.stat().st_mtime - 25 * 3600
    os.utime(leftover, (yesterday, yesterday))
    assert "left over" in " ".join(f.text for f in examine(path).findings)
    assert repair(path).repaired == [f"Deleted {leftover.name}."]
    study = Study.open(path)
    study.run(budget=4)
    assert outcome(study) == reference


def test_keyboard_interrupt_in_training_is_not_a_failure(tmp_path, reference):
    def interrupt(event):
        if event.stage == "training" and event.trial.id == 1:
            raise KeyboardInterrupt

    study = open_small(tmp_path / "study")
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=4, callbacks=[interrupt])
    assert [t.status for t in study.trials] == ["finished", "pending"]
    assert study.trials[1].run == TrainingRun()
    study.run(budget=4)
    assert outcome(study) == reference


def test_a_faulty_callback_loses_nothing(tmp_path, reference, caplog):
    def faulty(event):
        raise ZeroDivisionError(event.stage)

    study, stages = open_small(tmp_path / "study"), []
    study.run(budget=4, callbacks=[faulty, lambda event: stages.append(event.stage)])
    assert outcome(study) == reference
    assert stages[0] == "asked"
    assert stages.count("finished") == 4
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "faulty failed at the stage 'asked'. The run continues" in record.message
    assert "ZeroDivisionError: asked" in caplog.text


@pytest.mark.parametrize(
    "room", [8, 24, 48, *(pytest.param(n, marks=pytest.mark.slow) for n in (16, 32))]
)
def test_full_disk(room, small_disk, reference):
    """Whatever it is that no longer fits: nothing is lost, and with room the study continues."""
    study = open_small(small_disk / "study")
    study.run(budget=1)
    ballast = small_disk / "ballast"
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    ballast.write_bytes(bytes(max(free - room * 1024, 0)))
    with pytest.raises(SdmbtlError, match="Cannot write .*kept.*sdmbtl resume"):
        study.run(budget=4)
    assert Study.open(small_disk / "study").n_finished >= 1
    assert examine(small_disk / "study").healthy
    ballast.unlink()
    again = Study.open(small_disk / "study")
    again.run(budget=4)
    assert outcome(again) == reference
