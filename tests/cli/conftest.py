"""Commands, and a small finished study."""

import signal

import pytest
from command_runner import QUICK, TINY, Command


@pytest.fixture(autouse=True)
def _own_signals():
    """Ctrl-C works as in a shell, even if whoever started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def command():
    return Command()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("spaces") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, command, tiny):
    """A study of points with three policies, and what its run printed; not to be changed."""
    path = tmp_path_factory.mktemp("studies") / "cartpole"
    choice = ("--width", 0, "--init", "scratch", "--seed", 1)
    result = command(
        *("run", "CartPole", "--space", tiny, *QUICK, "--budget", 3, "--out", path, *choice),
        *("--log-every", "1h"),  # lines that depend on how busy the machine is
    )
    return path, result
