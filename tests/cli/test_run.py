"""`sdmbtl run` and `sdmbtl resume`."""

import os
import signal

import pytest
from command_runner import QUICK

from sdmbtl.studies import Study


@pytest.fixture
def runs(monkeypatch):
    """Keywords of the runs, which do nothing."""
    asked = []

    def run(self, **keywords):
        asked.append({k: v for k, v in keywords.items() if v and k != "callbacks"})
        return "nothing was done"

    monkeypatch.setattr(Study, "run", run)
    return asked


@pytest.fixture
def study(tiny, tmp_path):
    """A study that can be run, with no policy yet."""
    return Study.open(tmp_path / "study", "CartPole", space=str(tiny), selector="random")


def test_a_run_shows_every_policy_and_the_result(trained):
    path, result = trained
    lines = result.stderr.splitlines()
    assert lines[0] == f"sdmbtl · CartPole · 8 tasks · ppo · {path}"
    assert sum(" %" in line for line in lines) >= 3, "the coverage after each policy"
    assert "\x1b" not in result.stderr, "not a terminal"
    assert result.stdout.startswith("✓ 3 policies, ")
    assert "Stopped" not in result.stdout, "the budget is used, as asked"
    assert f"sdmbtl report {path} --open" in result.stdout


def test_the_same_command_continues(command, copied, tiny):
    same = ["run", "CartPole", "--space", tiny, *QUICK, "--seed", 1, "--out", copied]
    again = command(*same)
    assert "Continuing after 3 finished policies." in again.stderr
    assert "Using the earlier stopping rule: budget 3" in again.stderr
    more = command.json(*same, "--budget", 4)
    assert (more["policies"], more["stopped"]) == (4, "the budget of 4 policies is used")
    same[same.index("--seed") + 1] = 2
    assert "seed: recorded 1, now 2" in command.error(*same)


def test_options_become_the_configuration(command, tiny, tmp_path, runs):
    command(
        *("run", "CartPole", "--space", tiny, *QUICK, "--out", tmp_path / "s", "--quiet"),
        *("--selector", "generalist-first", "--selector-option", "width=0.25"),
        *("--option", "physics=carl", "--set", "learning_rate=0.002", "--set", "hidden_sizes=[8]"),
        *("--budget", 2, "--total-steps", 9, "--time", "1m", "--min-gain", 0.5, "--join"),
        *("--evaluate", "all", "--jobs", 2, "--executor", "ray"),
        *("--executor-option", "address=auto", "--executor-option", "time_limit=60"),
    )
    configuration = Study.open(tmp_path / "s").configuration
    assert (configuration.episodes, configuration.evaluate) == (2, "all")
    assert configuration.selector["name"] == "generalist-first"
    assert configuration.selector["options"]["width"] == 0.25
    assert configuration.family["options"]["physics"] == "carl"
    settings = configuration.trainer["settings"]
    assert (settings["learning_rate"], settings["hidden_sizes"]) == (0.002, [8])
    assert runs == [
        {
            "budget": 2,
            "total_steps": 9,
            "time_limit": 60.0,
            "min_gain": 0.5,
            "jobs": 2,
            "executor": "ray",
            "join": True,
            "executor_options": {"address": "auto", "time_limit": 60},
        }
    ]


def test_defaults_and_levels(command, tmp_path, monkeypatch, runs):
    monkeypatch.chdir(tmp_path)
    result = command(*("run", "CartPole", "--space", "forces", "--levels", 2, *QUICK, "--quiet"))
    assert not result.output
    assert [run["budget"] for run in runs] == [12]
    study = Study.open(tmp_path / "runs" / "cartpole")
    assert (study.space.shape, study.space.names[1]) == ((2, 2, 2), "force_mag")


@pytest.mark.parametrize("exists", [True, False])
def test_a_first_policy_that_is_refused_leaves_no_study(command, tmp_path, exists):
    path, start = tmp_path / "study", tmp_path / "mine.zip"
    if exists:
        start.write_bytes(b"nothing")
    text = command.error("run", "CartPole", "--out", path, "--from", start)
    assert ("Use the trainer 'sb3'" if exists else "There is no policy file") in text
    assert not path.exists()
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    command.error("run", "CartPole", "--out", path, "--from", start)
    assert (path / "notes.txt").read_text() == "mine"


def test_resume_remembers_the_stopping_rule(command, tiny, tmp_path, monkeypatch):
    study = Study.open(tmp_path / "study", "CartPole", space=str(tiny), selector="random")
    command("resume", study.path, "--total-steps", 1, "--time", "0s", "--quiet")
    assert Study.open(study.path).stop_rules == {"total_steps": 1}
    result = command("resume", study.path, "--time", "0s")
    assert "earlier" not in result.stderr
    monkeypatch.setattr(Study, "run", lambda self, **keywords: str(keywords["total_steps"]))
    result = command("resume", study.path)
    assert "Using the earlier stopping rule: total_steps 1" in result.stderr
    assert "Stopped: 1." in result.stdout
    assert command.json("status", study.path)["stop_rules"] == {"total_steps": 1}


def test_rules_end_a_run(command, copied):
    assert "time" in command.json("resume", copied, "--time", "0s")["stopped"]
    assert "expected" in command.json("resume", copied, "--min-gain", 1)["stopped"]
    stopped = command.json("resume", copied, "--total-steps", 5)["stopped"]
    assert "of 5 environment steps are used" in stopped


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_run_cleanly(number, status, command, copied, monkeypatch):
    def run(self, *, callbacks, **_):
        os.kill(os.getpid(), number)  # nothing is raised in the middle of something
        callbacks[0](None)
        raise AssertionError("the signal was not noticed")

    monkeypatch.setattr(Study, "run", run)
    before = signal.getsignal(number)
    result = command("resume", copied, "--time", "1h", status=status)
    assert "Interrupted; everything so far is kept." in result.stderr
    assert result.stderr.rstrip().endswith(f"sdmbtl resume {copied}")
    assert signal.getsignal(number) is before


def test_a_signal_at_the_very_end_of_a_run(command, copied, monkeypatch):
    """The loop of a shell around the command must know."""

    def run(self, **_):
        os.kill(os.getpid(), signal.SIGINT)
        return "the budget is used"

    monkeypatch.setattr(Study, "run", run)
    command("resume", copied, status=130)


def test_failed_and_pending_contexts(command, study, runs):
    first, second = study.ask(2)
    study.tell(first, status="failed", error="no memory")
    result = command("resume", study.path, "--retry-failed", "--budget", 2)
    assert "1 context whose training failed may be chosen again" in result.stderr
    assert "Continuing after" not in result.stderr, "nothing is finished"
    statuses = [trial.status for trial in Study.open(study.path).trials]
    assert statuses == ["cancelled", "pending"]
    assert second.id == 1


def test_policies_that_are_elsewhere(command, tiny, tmp_path):
    command("ask", tmp_path / "s", "--space", tiny)
    for name in ("resume", "evaluate"):
        assert "has no environment" in command.error(name, tmp_path / "s")
