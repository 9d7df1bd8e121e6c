"""The product's wheel alone is enough to train."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent


def run(*command, cwd):
    made = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


@pytest.mark.slow
def test_the_wheel_trains_in_an_empty_environment(tmp_path):
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    run(sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("sdmbtl-*.whl")
    assert wheel.stat().st_size < 1.5e6
    names = ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"sdmbtl"}

    run(sys.executable, "-m", "venv", tmp_path / "empty", cwd=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    run(python, *pip, "install", "-c", ROOT / "constraints.txt", f"{wheel}[cli,jax]", cwd=tmp_path)
    run(python, "-m", "pip", "check", cwd=tmp_path)
    command = ("-m", "sdmbtl", "run", "CartPole", "--budget", 2, "--steps", 4096, "--episodes", 2)
    run(python, *command, "--out", "study", cwd=tmp_path)
    printed = run(python, "-m", "sdmbtl", "status", "study", "--json", cwd=tmp_path)
    assert '"coverage"' in printed
