"""What a run is asked to stop at: checked before a study is made, kept, and used by `resume`."""

import os
import subprocess
import sys

import pytest
from command_runner import QUICK

from sdmbtl.lock import exclusive, find_holder
from sdmbtl.studies import Study


@pytest.fixture
def study(tiny, tmp_path):
    """A study that can be run, with no policy yet."""
    return Study.open(tmp_path / "study", "CartPole", space=str(tiny), width=0, init="scratch")


@pytest.fixture
def runs(monkeypatch):
    """The limits that runs are given, which are recorded, and nothing else is done."""
    asked = []

    def run(self, rules, budget, *, retrain_missing):
        asked.append([type(rule).__name__ for rule in rules])
        return "nothing was done"

    monkeypatch.setattr("sdmbtl.studies.runner.Runner.run", run)
    return asked


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("--time", value) for value in ("soon", "-5", "nan", "inf", "1e9", "9" * 400, "٣s")],
        *[("--log-every", value) for value in ("0", "never", "-1s", "9" * 400)],
        *[("--min-gain", value) for value in ("-1", "nan", "2", "some")],
        *[("--budget", value) for value in ("0", "-1", "1.5", "many")],
        *[("--total-steps", value) for value in ("0", "-1", "x")],
        *[("--patience", value) for value in ("0", "-1", "x")],
        *[("--batch", value) for value in ("0", "-1", "x")],
        *[("--episodes", value) for value in ("0", "-1", "x")],
        *[("--retries", value) for value in ("-1", "x")],
        *[("--steps", value) for value in ("0", "-1", "x")],
        *[("--specialist-steps", value) for value in ("0", "-1", "x")],
        *[("--seed", value) for value in ("-1", "x")],
        *[("--levels", value) for value in ("0", "x")],
        *[("--width", value) for value in ("-1", "1", "nan", "wide")],
        ("--init", "random"),
        ("--tensorboard", __file__),
    ],
)
def test_a_wrong_option_leaves_no_study_behind(command, tmp_path, option, value):
    path = tmp_path / "study"
    text = command.error("run", "CartPole", "--out", path, option, value)
    shown = " ".join(text.replace("│", " ").split())
    assert option in shown or "TensorBoard" in shown
    assert value[:30] in shown
    assert not path.exists()


def test_resume_remembers(command, study, runs):
    result = command(
        "resume", study.path, "--min-gain", "0.01", "--patience", 2, "--total-steps", 9
    )
    assert "Stops as" not in result.stderr
    result = command("resume", study.path)
    rules = "--total-steps 9 --min-gain 0.01 --patience 2"
    assert f"Using the earlier stopping rule: {rules}" in result.stderr
    assert runs[0] == runs[1] == ["TotalSteps", "NoGain"]
    again = Study.open(study.path)
    assert again.stop_rules == {"total_steps": 9, "min_gain": 0.01, "patience": 2}
    assert command.json("status", study.path)["stop_rules"] == again.stop_rules
    command("resume", study.path, "--time", "1h")
    assert runs[2] == ["TimeLimit"], "of one run alone, and not recorded"
    assert Study.open(study.path).stop_rules == again.stop_rules
    command("resume", study.path, "--budget", 7)
    assert runs[3] == ["Budget"], "what is given replaces what is recorded"
    assert Study.open(study.path).stop_rules == {"budget": 7}
    command("resume", study.path, "--budget", 5, "--min-gain", 0)
    assert Study.open(study.path).stop_rules == {"budget": 7, "min_gain": 0.0, "patience": 3}


def test_a_run_of_some_time_has_no_budget(command, tiny, tmp_path, runs):
    same = ("run", "CartPole", "--space", tiny, "--out", tmp_path / "s", *QUICK, "--time", "1h")
    command(*same)
    command(*same)
    assert runs == [["TimeLimit"]] * 2
    assert "Say when to stop" in command.error("resume", tmp_path / "s")
    assert "--budget 12" in command("status", tmp_path / "s").stdout, "resume alone would not do"


def test_status_advises_what_works(command, study, runs):
    assert f"sdmbtl resume {study.path} --budget 12" in command("status", study.path).stdout
    command("resume", study.path, "--min-gain", "0.01")
    assert f"sdmbtl resume {study.path}  continue" in command("status", study.path).stdout


def test_status_says_that_a_process_is_running(command, study):
    assert command.json("status", study.path)["running_process"] is None
    with exclusive(study.path / "study.run.lock", doing="testing"):
        assert command.json("status", study.path)["running_process"] == os.getpid()
        text = command("status", study.path).stdout
        assert f"Process {os.getpid()} is working on the study now." in text
        assert "sdmbtl resume" not in text
    assert command.json("status", study.path)["running_process"] is None


def test_looking_for_who_holds_a_lock(tmp_path):
    lock = tmp_path / "study.lock"
    assert find_holder(lock) is None
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for text in ("", "no number", "9" * 19, str(ended.pid), str(os.getpid())):
        lock.write_text(text)
        assert find_holder(lock) is None
