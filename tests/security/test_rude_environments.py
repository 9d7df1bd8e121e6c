"""Environments that misbehave around their episodes: what is computed counts, and a run ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import typer

from sdmbtl import ContextSpace
from sdmbtl.cli.signals import StopSignals
from sdmbtl.environments import FactoryFamily
from sdmbtl.environments.checks import check_spaces_are_constant
from sdmbtl.errors import FamilyError, StudyError
from sdmbtl.studies import Study
from sdmbtl.studies.policy_files import PolicyFiles

SPACE = ContextSpace(x=[0.1, 0.4, 0.7, 1.0])

TOML = "[dimensions.x]\nvalues = [0.1, 0.4, 0.7, 1.0]\n[returns]\nmin = 0\nmax = 10\n"

#: Whatever it does around its episodes, the episodes are right.
RUDE = """
import os, signal, tempfile, threading, time
import gymnasium
import numpy as np


class Rude(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, context):
        self.x = context.pop("x")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ.pop("HOME", None)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        gone = tempfile.mkdtemp()
        os.chdir(gone)
        os.rmdir(gone)
        self.t = 0
        return [0.0, 0.0], {}

    def step(self, action):
        self.t += 1
        reward = float(action == (self.x > 0.5))
        return [self.x, self.x], reward, False, self.t >= 10, {}

    def close(self):
        raise RuntimeError("close fails")


def make(context):
    if threading.active_count() < 40:
        threading.Thread(target=time.sleep, args=(3600,)).start()
    return Rude(context)
"""


def test_a_run_with_a_rude_environment_ends_well(tmp_path):
    (tmp_path / "rude.py").write_text(RUDE)
    (tmp_path / "space.toml").write_text(TOML)
    command = [sys.executable, "-m", "sdmbtl", "run", "rude:make", "--space", "space.toml"]
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [*command, "--budget", "2", "--steps", "512"],
        cwd=tmp_path,
        env={**os.environ, **state},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "2 policies" in done.stdout
    assert "failed" not in done.stderr
    study = Study.open(tmp_path / "runs" / "rude-make")
    assert [trial.status for trial in study.trials] == ["finished"] * 2


class Tiny(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def close(self):
        raise RuntimeError("close fails")


def test_a_close_that_fails_changes_nothing():
    family = FactoryFamily(lambda context: Tiny(), SPACE)
    check_spaces_are_constant(family, SPACE)
    env = family.make({"x": 0.1})
    assert env.reset(options={"context": {"x": 0.4}})[1]["context"] == {"x": 0.4}


@pytest.mark.parametrize("wrapper", [lambda env: env, gymnasium.wrappers.OrderEnforcing])
def test_one_environment_for_all_contexts_is_refused(wrapper):
    only = Tiny()
    family = FactoryFamily(lambda context: wrapper(only), SPACE)
    with pytest.raises(FamilyError, match="the same environment for several contexts"):
        check_spaces_are_constant(family, SPACE)


def test_an_environment_cannot_keep_ctrl_c_for_itself(capsys):
    signals = StopSignals()

    def take_it_over():
        with signals.ending_with("It is kept."):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signals.check()  # at the next event
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(typer.Exit) as end:
            take_it_over()
    finally:
        signal.signal(signal.SIGINT, before)
    assert end.value.exit_code == 130
    assert "It is kept." in capsys.readouterr().err


def test_a_study_is_trusted_where_it_is_also_after_chdir(tmp_path, monkeypatch):
    (tmp_path / "wandering.py").write_text(
        "import os, gymnasium\n"
        "def make(context):\n    os.chdir('/')\n    return gymnasium.make('Pendulum-v1')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SDMBTL_TRUST", raising=False)
    made = Study.open("study", "wandering:make", space=SPACE, trainer="sb3", episodes=1)
    assert Path.cwd() == Path("/")
    made.close()
    Study.open(tmp_path / "study").trust.check()


def test_a_policy_that_is_gone_is_named_with_the_way_back(tmp_path):
    with pytest.raises(StudyError, match="0003.safetensors.*--forget"):
        PolicyFiles(tmp_path).load(3)
