"""Run commands: in this process, so that JAX compiles once, or in one of their own."""

import io
import json
import signal
import subprocess
import sys
import time
from functools import cache

import pytest
import typer.main
import typer.testing
from rich.console import Console
from typer.testing import CliRunner

from sdmbtl.cli import app

# The commands are the same every time, and making them takes longer than most of them.
typer.testing._get_command = cache(typer.main.get_command)

TINY = """
[dimensions.length]
low = 0.1
high = 2.0
levels = 2
scale = "log"
[dimensions.masscart]
low = 0.2
high = 5.0
levels = 2
scale = "log"
[dimensions.masspole]
values = [0.02, 0.5]
"""

OWN_ENVIRONMENT = """
import gymnasium


def pendulum(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], max_episode_steps=20)
"""

QUICK = ["--steps", "4096", "--episodes", "2"]


#: Begins as a shell would have it: a signal that our parent ignores is not ignored.
OWN_SIGNALS = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
runpy.run_module("sdmbtl", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(autouse=True)
def own_signals():
    """Let Ctrl-C work as in a shell, even if whoever started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def command():
    return Command()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A file with a context space of 8 targets."""
    path = tmp_path_factory.mktemp("spaces") / "tiny.toml"
    path.write_text(TINY)
    return path


def started(*arguments, **options):
    """Start a command in a process, with signals of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", OWN_SIGNALS, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_until(process, condition):
    """Wait for something that a process does; stop if it ends without."""
    while process.poll() is None and not condition():
        time.sleep(0.02)


def terminal(width=80):
    """Return a console that is a terminal, whose text can be read."""
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, highlight=False, color_system=None
    )


class Command:
    """Run commands; keep standard output and errors apart."""

    def __call__(self, *arguments, status=0, given=None):
        result = CliRunner(env={"COLUMNS": "80"}).invoke(
            app, [str(a) for a in arguments], input=given
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result

    def json(self, *arguments, **options):
        return json.loads(self(*arguments, "--json", **options).stdout, parse_constant=_refused)

    def error(self, *arguments, **options):
        """Return the error of a command that is refused, in one line; it prints nothing else."""
        result = self(*arguments, status=2, **options)
        assert not result.stdout
        assert "Traceback" not in result.stderr
        return " ".join(result.stderr.split())


def _refused(name):
    raise AssertionError(f"{name} is not JSON")
