"""Whole runs, interrupted by Ctrl-C."""

import signal

from command_runner import QUICK, started, wait_until

from sdmbtl.errors import SdmbtlError
from sdmbtl.studies import Study

MANY = """
[dimensions.length]
values = [0.1, 0.3, 0.8, 2.0]
[dimensions.masscart]
values = [0.2, 0.5, 1.5, 5.0]
[dimensions.masspole]
values = [0.02, 0.5]
"""


def n_finished(path):
    try:
        return Study.open(path).n_finished
    except SdmbtlError:  # it is being made
        return 0


def comparable(status):
    """Return a status without paths, times and stopping rules."""
    kept = {k: v for k, v in status.items() if k not in ("path", "timing", "budget", "stop_rules")}
    rounds = [{k: v for k, v in entry.items() if k != "seconds"} for entry in status["rounds"]]
    return kept | {"rounds": rounds}


def test_interrupted_and_resumed(command, tmp_path):
    (tmp_path / "many.toml").write_text(MANY)
    same = ["run", "CartPole", "--space", "many.toml", *QUICK]
    process = started(*same, "--budget", 30, "--out", "study", cwd=tmp_path)
    study = tmp_path / "study"
    wait_until(process, lambda: n_finished(study) >= 2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    kept = n_finished(study)
    assert process.returncode == 130, errors
    assert 2 <= kept < 30
    assert "Interrupted; everything so far is kept." in errors
    assert "Traceback" not in errors
    assert not output

    resumed = command.json("resume", study, "--budget", kept + 2)
    same[3] = tmp_path / "many.toml"
    whole = command.json(*same, "--budget", kept + 2, "--out", tmp_path / "whole")
    assert comparable(resumed) == comparable(whole)
