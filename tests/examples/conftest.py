import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


class Workshop:
    """A copy of the examples, where programs of a cluster are small scripts that come first.

    Each stand-in notes how it was called.
    """

    def __init__(self, folder):
        self.folder, self.programs = folder, folder / "bin"
        self.study = folder / "study"
        self.programs.mkdir(parents=True)
        for name in ("carts.toml", "train_cart.py"):
            (folder / name).write_bytes((ROOT / "examples" / name).read_bytes())
        self.put("sdmbtl", f'exec "{sys.executable}" -m sdmbtl "$@"')
        self.put("python", f'exec "{sys.executable}" "$@"')

    def put(self, name, text):
        """Put a stand-in for a program."""
        path = self.programs / name
        note = f'echo "{name} $*" >> "{self.folder}/called"\n'
        path.write_text(f"#!/bin/bash\n{note}{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)

    def start(self, script, *arguments, **variables):
        return subprocess.Popen(
            ["/bin/bash", ROOT / "examples" / script, *map(str, arguments)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(sys.path),
                **variables,
            },
        )

    def run(self, script, *arguments, **variables):
        started = self.start(script, *arguments, **variables)
        out, error = started.communicate(timeout=300)
        assert started.returncode == 0, (out, error)
        return out, error

    def called(self, name):
        lines = (self.folder / "called").read_text().splitlines()
        return [line for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)
