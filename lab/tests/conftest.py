"""Commands of the lab, run in this process."""

import signal

import pytest
from command_runner import TINY, Command


class LabCommand(Command):
    """Runs commands below `sdmbtl lab`."""

    def __call__(self, *arguments, **options):
        return super().__call__("lab", *arguments, **options)


@pytest.fixture(autouse=True)
def _own_signals():
    """Ctrl-C works as in a shell, even if whoever started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def command():
    return LabCommand()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("spaces") / "tiny.toml"
    path.write_text(TINY)
    return path
