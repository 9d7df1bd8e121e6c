import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_study import REGIONS, open_small, outcome
from stand_ins import STAND_INS, make_study

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The small study, run without interruption."""
    path = tmp_path_factory.mktemp("reference") / "study"
    study = open_small(path)
    study.run(budget=4)
    return study


@pytest.fixture(scope="session")
def reference(finished):
    return outcome(finished)


@pytest.fixture(scope="session")
def run_script():
    """Run a script of this folder."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}

    def run(script, *arguments, timeout=300):
        return subprocess.run(
            [sys.executable, str(HERE / script), *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="session")
def finished_regions(tmp_path_factory):
    """A generalist and three specialists, run without interruption."""
    path = tmp_path_factory.mktemp("regions") / "study"
    study = open_small(path, **REGIONS)
    study.run(budget=4)
    return study


@pytest.fixture(scope="session")
def blank(tmp_path_factory):
    """A study without policies, for the stand-ins."""
    path = tmp_path_factory.mktemp("blank") / "study"
    make_study(path)
    return path


@pytest.fixture
def quick(blank, tmp_path, monkeypatch):
    """The path of a study that is run in no time."""
    for place, name, value in STAND_INS:
        if name != "training":  # which the doctor looks at
            monkeypatch.setattr(place, name, value)
    path = tmp_path / "study"
    shutil.copytree(blank, path)
    return path
