"""A target on which a policy cannot be evaluated costs that one number, and no policy."""

from pathlib import Path

import numpy as np
import pytest
from command_runner import Command
from rough_walk import MANY_SLOPES, SLOPES, TROUBLES, open_rough, set_troubles
from small_study import outcome

from sdmbtl.errors import StudyError
from sdmbtl.studies import Study
from sdmbtl.training.evaluation import EvaluationHelpers


def plain(result):
    """What was printed, without the ends of lines."""
    return " ".join(result.stdout.split())


KINDS = ["raises", "nan", "endless", "unmade"]


@pytest.fixture(autouse=True)
def _no_troubles(tmp_path, monkeypatch):
    monkeypatch.setenv(TROUBLES, str(tmp_path / "troubles.json"))
    set_troubles({})


@pytest.fixture
def whole(tmp_path):
    """The study without any trouble."""
    study = open_rough(tmp_path / "whole")
    study.run(budget=2)
    return study


def test_failed_targets_are_nan_and_filled_in_later(tmp_path, whole):
    others = [slope for slope in SLOPES if slope != whole.trials[0].context["slope"]]
    troubles = dict(zip(others, KINDS, strict=True))
    study = open_rough(tmp_path / "study")

    def spoil(event):
        if event.stage == "trained":
            set_troubles(troubles)

    study.run(budget=1, callbacks=[spoil])
    (trial,) = study.trials
    assert trial.status == "finished"
    assert int(np.isnan(trial.row).sum()) == 4
    assert study.files.state(trial) == "intact"
    errors = study.store.errors()[0]
    texts = {troubles[SLOPES[target]]: error for target, error in errors.items()}
    assert "RuntimeError: the motor is stuck" in texts["raises"]
    assert "the context {'slope': " in texts["nan"]
    assert "a reward is nan" in texts["nan"]
    assert "has not ended after 50 steps" in texts["endless"]
    assert "OSError: no ground here" in texts["unmade"]
    status = Study.open(study.path).status()
    assert status["failed_evaluations"] == 4
    assert status["rounds"][0]["failed_targets"] == 4
    assert status["rounds"][0]["first_target_error"] == errors[min(errors)]

    # Tried again too early, one is filled in and nothing is lost.
    set_troubles({slope: kind for slope, kind in troubles.items() if kind != "nan"})
    assert study.evaluate_missing() == {"missing": 4, "left": 3}
    assert len(study.store.errors()[0]) == 3
    set_troubles({})
    assert study.evaluate_missing() == {"missing": 3, "left": 0}
    assert study.store.errors() == {}
    study.run(budget=2)
    assert outcome(study)["returns"] == outcome(whole)["returns"]
    assert outcome(study)["policies"] == outcome(whole)["policies"]


def test_missing_ones_are_filled_in_without_lost_policies(tmp_path):
    study = open_rough(tmp_path / "study")
    study.run(budget=1)

    def spoil(event):
        if event.stage == "trained":
            set_troubles(dict.fromkeys(SLOPES[1:], "raises"))

    study.run(budget=2, callbacks=[spoil])
    set_troubles({})
    missing = int(np.isnan(study.trials[1].row).sum())
    study.files.path(0).unlink()
    again = Study.open(study.path)
    assert again.evaluate_missing() == {"missing": missing, "left": 0}
    again.files.path(1).unlink()
    with again.write_lock():
        again.store.write(again.trials[1].updated(row=np.full(len(SLOPES), np.nan)))
    assert again.evaluate_missing()["left"] == len(SLOPES), "a policy that is lost is passed over"


def test_the_command_line_shows_and_fills_failed_targets(tmp_path):
    study, command = open_rough(tmp_path / "study"), Command()

    def spoil(event):
        if event.stage == "trained":
            set_troubles({0.2: "raises"} if event.trial.index != 0 else {1.0: "raises"})

    study.run(budget=1, callbacks=[spoil])
    assert f"sdmbtl evaluate {study.path} --missing" in plain(command("status", study.path))
    left = plain(command("evaluate", study.path, "--missing"))
    assert "1 now" in left
    assert "the motor is stuck" in left
    set_troubles({})
    assert command.json("evaluate", study.path, "--missing")["left"] == 0
    assert "--missing" not in plain(command("status", study.path))


def test_nothing_evaluated_is_a_failure_that_keeps_the_policy(tmp_path):
    study = open_rough(tmp_path / "study")

    def spoil(event):
        if event.stage in ("asked", "trained"):
            set_troubles(dict.fromkeys(SLOPES, "raises") if event.stage == "trained" else {})

    with pytest.raises(StudyError, match="on 3 contexts in a row.*stuck.*kept.*--missing"):
        study.run(budget=4, callbacks=[spoil])
    assert [t.status for t in study.trials] == ["failed"] * 3
    assert [study.files.state(t) for t in study.trials] == ["intact"] * 3
    assert [t.run.attempt for t in study.trials] == [0] * 3
    assert "failed on all 5 targets" in study.trials[0].run.errors[0]
    set_troubles({})
    assert study.evaluate_missing() == {"missing": 15, "left": 0}
    assert [t.status for t in Study.open(study.path).trials] == ["finished"] * 3


def test_fresh_evaluation_with_a_failing_target(tmp_path, whole):
    set_troubles({0.2: "raises"})
    with pytest.warns(UserWarning, match="on 1 of 5 contexts.*stuck.*Those contexts are NaN"):
        returns = whole.evaluate(episodes=3)
    assert np.isnan(returns).all(axis=1).tolist() == [True, False, False, False, False]


@pytest.fixture
def alone(tmp_path):
    """A study with enough targets to share, evaluated in this process."""
    study = open_rough(tmp_path / "alone", MANY_SLOPES, episodes=10)
    study.run(budget=1)
    return study


def test_interrupted_while_processes_share_an_evaluation(tmp_path, monkeypatch, alone):
    monkeypatch.setattr(EvaluationHelpers, "start_seconds", -1.0)
    made, make, seen = [], EvaluationHelpers.__init__, []
    monkeypatch.setattr(
        EvaluationHelpers, "__init__", lambda self, n: made.append(self) or make(self, n)
    )

    def watch(event):
        if event.stage == "evaluating" and made[0].pids and not seen:
            seen.extend(made[0].pids)
            raise KeyboardInterrupt

    study = open_rough(tmp_path / "study", MANY_SLOPES, episodes=10)
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=1, callbacks=[watch], eval_processes=2)
    assert not any(Path(f"/proc/{process}").exists() for process in seen)
    assert [t.status for t in study.trials] == ["pending"]
    study.run(budget=1, eval_processes=2)
    assert outcome(study) == outcome(alone)
